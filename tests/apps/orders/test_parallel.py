"""Real threads with real transactions: submitting, delivering and ending at one moment."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from apps.billing.models import Charge
from apps.catalog.selectors.commodities import commodity_get
from apps.catalog.services.components import components_ensure
from apps.catalog.types import ComponentRange, PriceInput
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, QuotaExceeded
from apps.kernel.planes import in_tenant
from apps.orders.models import ApplicationForm, Attachment, Order
from apps.orders.services.attachments import attachment_add
from apps.orders.services.changes import order_change
from apps.orders.services.deliveries import order_deliver, order_started
from apps.orders.services.submissions import form_submit, form_withdraw
from apps.orders.services.terminations import order_terminate
from apps.orders.services.volume_orders import volume_order_follow
from apps.orders.types import LineInput
from apps.scheduling.models import Workload
from apps.scheduling.services.quota.quotas import quota_set
from tests.apps.catalog.market import commodity_make
from tests.apps.catalog.racing import race
from tests.apps.orders.scene import AMOUNTS, ends_now, runs_now, scene_make

pytestmark = pytest.mark.usefixtures("committed")


@pytest.fixture
def scene(committed, acme, member, operator):
    made = scene_make(acme, member, operator)
    with in_tenant("acme"):
        yield made


def inside(call):
    def run():
        with in_tenant("acme"):
            return call()

    return run


def test_submitting_twice_at_one_moment_is_once(scene):
    form = scene.draft(2)
    press = inside(lambda: form_submit(actor=scene.ann.actor, form_uid=form.uid))
    results = race(press, press, press)
    assert sum(isinstance(one, ApplicationForm) for one in results) == 1, results
    assert sum(isinstance(one, Conflict) for one in results) == 2, results
    assert scene.held() == (2, 0)


@pytest.mark.req("PLAT-TEN-12")
def test_two_forms_for_the_last_of_the_quota(scene):
    forms = [scene.draft(3), scene.draft(3)]
    results = race(
        *(inside(lambda form=form: form_submit(actor=scene.ann.actor, form_uid=form.uid)) for form in forms)
    )
    assert sum(isinstance(one, QuotaExceeded) for one in results) == 1, results
    assert scene.held() == (3, 0)
    assert sorted(ApplicationForm.objects.values_list("state", flat=True)) == ["draft", "submitted"]


def test_a_message_that_comes_three_times_makes_one_workload_and_one_charge(scene):
    order = scene.ordered()
    deliver = inside(lambda: order_deliver(actor=SYSTEM, order_uid=order.uid))
    results = race(deliver, deliver, deliver)
    assert all(isinstance(one, Order) for one in results), results
    assert Workload.objects.of(scene.tenant).count() == 1
    assert Charge.objects.of(scene.tenant).count() == 1
    assert scene.held() == (0, 1)


def test_terminating_against_delivering(scene):
    order = scene.ordered()
    results = race(
        inside(lambda: order_deliver(actor=SYSTEM, order_uid=order.uid)),
        inside(lambda: order_terminate(actor=scene.ann.actor, order_uid=order.uid, reason="no")),
    )
    assert not any(isinstance(one, Exception) for one in results), results
    order.refresh_from_db()
    form = scene.decide(results[1], "approve")
    order.refresh_from_db()
    assert (order.state, form.state, scene.held()) == ("terminated", "completed", (0, 0))


def test_granting_a_termination_against_the_end_by_itself(scene):
    for _ in range(3):
        order = order_deliver(actor=SYSTEM, order_uid=scene.ordered().uid)
        order_started(actor=SYSTEM, order_uid=order.uid, at=timezone.now())
        runs_now(order)
        form = order_terminate(actor=scene.ann.actor, order_uid=order.uid, reason="done")
        results = race(
            inside(lambda form=form: scene.decide(form, "approve")),
            inside(lambda order=order: ends_now(order, timezone.now())),
        )
        assert not any(isinstance(one, Exception) for one in results), results
        order.refresh_from_db()
        form.refresh_from_db()
        assert (order.state, form.state, scene.held()) == ("terminated", "completed", (0, 0))


def test_two_orders_of_a_form_that_start_at_one_moment_complete_it(scene):
    lines = [LineInput(scene.commodity.uid, dict(AMOUNTS)), LineInput(scene.commodity.uid, dict(AMOUNTS))]
    form = scene.decide(scene.submitted(lines=lines), "approve", "approve")
    uids = [order_deliver(actor=SYSTEM, order_uid=order.uid).uid for order in form.orders.all()]
    results = race(
        *(
            inside(lambda uid=uid: order_started(actor=SYSTEM, order_uid=uid, at=timezone.now()))
            for uid in uids
        )
    )
    assert results == [None, None]
    form.refresh_from_db()
    assert form.state == "completed"


@pytest.mark.req("PLAT-APPLY-15")
def test_withdrawing_against_the_first_decision(scene):
    for _ in range(3):
        form = scene.submitted()
        results = race(
            inside(lambda form=form: form_withdraw(actor=scene.ann.actor, form_uid=form.uid)),
            inside(lambda form=form: scene.decide(ApplicationForm.objects.get(pk=form.pk), "refuse")),
        )
        form.refresh_from_db()
        withdrawn = isinstance(results[0], ApplicationForm)
        assert form.state == ("draft" if withdrawn else "rejected")
        assert isinstance(results[1 if withdrawn else 0], Exception), results
        assert scene.held() == (0, 0)


def test_two_files_for_the_last_room_of_a_tenant(scene, settings, tmp_path):
    """S23: of files that come at once each sees what those before it hold."""
    settings.MEDIA_ROOT, settings.WEIR_ATTACHMENTS_TOTAL_BYTES = tmp_path, 3 * 2**20
    forms = [scene.draft() for _ in range(4)]

    def add(form):
        sent = SimpleUploadedFile("sent", b"x" * 2**20)
        return attachment_add(actor=scene.ann.actor, form_uid=form.uid, file=sent, name="a.txt")

    results = race(*(inside(lambda form=form: add(form)) for form in forms))
    assert sum(isinstance(one, QuotaExceeded) for one in results) == 1, results
    assert Attachment.objects.count() == 3


@pytest.fixture
def volume_order(scene, settings, tmp_path):
    settings.WEIR_STORAGE_DIR = tmp_path / "storage"
    components_ensure(actor=SYSTEM)
    row = commodity_make(
        "V-1",
        kind="volume",
        work={},
        components=[ComponentRange("storage", minimum=10, maximum=1000, default=50, step=10)],
        prices=[PriceInput("storage", [[None, "0.02"]])],
        max_count=1,
    )
    quota_set(actor=SYSTEM, tenant=scene.tenant, item="storage_mib", total=200 * 1024)
    scene.commodity = commodity_get(tenant=scene.tenant, uid=row.uid)
    asked = scene.submitted(lines=[LineInput(scene.commodity.uid, {"storage": 50})], duration_s=86400)
    asked = scene.decide(asked, "approve", "approve")
    return order_deliver(actor=SYSTEM, order_uid=asked.orders.get().uid)


@pytest.mark.req("PLAT-APPLY-20", "PLAT-APPLY-22")
def test_metering_a_volume_against_its_change_and_its_end(scene, volume_order):
    """Whoever comes first, nobody waits for ever and nobody fails but of what the other has done."""
    uid, ann = volume_order.uid, scene.ann.actor
    follow = inside(lambda: volume_order_follow(actor=SYSTEM, order_uid=uid))
    change = inside(lambda: order_change(actor=ann, order_uid=uid, amounts={"storage": 100}, reason="more"))
    end = inside(lambda: order_terminate(actor=ann, order_uid=uid, reason="done"))
    results = race(follow, change, follow, end)
    assert results[0] is results[2] is None
    assert isinstance(results[3], ApplicationForm), results
    # Once its end is asked for nothing of it is changed.
    assert isinstance(results[1], ApplicationForm | Conflict), results
    granted = [inside(lambda form=results[3]: scene.decide(form, "approve"))]
    if isinstance(results[1], ApplicationForm):
        granted.append(inside(lambda form=results[1]: scene.decide(form, "approve", "approve")))
    results = race(follow, *granted, follow)
    assert not any(isinstance(one, Exception) for one in results), results
    volume_order.refresh_from_db()
    assert (volume_order.state, scene.held("storage_mib")) == ("terminated", (0, 0))
    assert scene.charge(volume_order).state == "closed"
