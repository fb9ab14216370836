"""Orders without an end: priced by the month, billed as they run, ended by form, by want of money, or by the retirement
of what was ordered."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from apps.billing.models import FundsHold
from apps.billing.services.ledger import credit_limit_set
from apps.catalog.models import Commodity
from apps.catalog.services.commodities import commodity_change, commodity_list_, commodity_retire
from apps.fleet.models import Slice
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, InvalidInput
from apps.notices.models import Message
from apps.orders.models import Order
from apps.orders.services.again import order_again
from apps.orders.services.changes import order_change
from apps.orders.services.deliveries import order_deliver
from apps.orders.services.submissions import form_submit
from apps.orders.services.terminations import order_terminate
from apps.orders.tasks import orders_sweep_tenant
from apps.scheduling.errors import RunTooLong
from apps.scheduling.models import Queue, Workload
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.workloads.ending import workload_put_aside
from tests.apps.catalog.market import PER_HOUR, commodity_make
from tests.apps.orders.scene import Scene, workload_of
from tests.apps.orders.test_kinds import sold
from tests.apps.orders.test_services import WORK
from tests.apps.scheduling.working_node import WorkingNode

# Sold without an end.
SO = {"is_open_ended": True}
pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-SVC-8", "PLAT-APPLY-20")]


@pytest.fixture
def shop(scene: Scene) -> Scene:
    """The scene with a service that is sold without an end."""
    return sold(scene, "V-1", kind="service", work=WORK, max_count=1, where=SO)


def ordered(shop: Scene) -> Order:
    return order_deliver(actor=SYSTEM, order_uid=shop.ordered(duration_s=None).uid)


@pytest.fixture
def running(shop: Scene) -> Order:
    node = WorkingNode(memory_mib=16384)
    order = ordered(shop)
    cycle_run(actor=SYSTEM)
    node.turn()
    order.refresh_from_db()
    assert order.started_at is not None
    return order


def swept(order: Order) -> Workload:
    orders_sweep_tenant("acme")
    order.refresh_from_db()
    return workload_of(order)


def test_it_is_quoted_for_a_month_set_aside_for_hours_and_runs_without_a_limit(shop: Scene, running: Order):
    assert running.duration_s is None
    assert running.form.total == PER_HOUR * 720
    work = workload_of(running)
    assert work.run_timeout_s is None
    assert Slice.plain.get(workload_uid=work.uid).run_timeout_s is None
    hold = FundsHold.plain.get(charge=shop.charge(running))
    assert PER_HOUR <= hold.amount < PER_HOUR * 24, "renewed while it runs, not for ever at once"
    swept(running)
    assert not Message.objects.filter(msgid__contains="ends at").exists()


def test_its_pages_and_the_api_say_so(shop: Scene, running: Order):
    page = shop.ann.page()
    assert "without an end" in page.get(f"/orders/{running.uid}/").content.decode()
    assert 'data-test="change-more"' not in page.get(f"/orders/{running.uid}/").content.decode()
    offer = page.get(f"/commodities/{shop.commodity.uid}/").content.decode()
    assert '<option value="open">' in offer
    told = shop.ann.api().get(f"/api/v1/orders/{running.uid}").json()
    assert (told["duration_s"], told["quote"]["duration_s"]) == (None, None)
    query = {f"amount_{code}": amount for code, amount in running.line.amounts.items()}
    quote = page.get(
        f"/commodities/{shop.commodity.uid}/quote/", query | {"count": 1, "duration_unit": "open"}
    )
    assert "Estimate for 30 days" in quote.content.decode()
    plain = page.get(
        f"/commodities/{shop.commodity.uid}/quote/", query | {"count": 1, "duration_unit": "3600"}
    )
    assert 'data-test="quote-problem"' in plain.content.decode(), "of a duration the figure is wanted"


def test_through_the_cart_and_the_form_of_the_pages(scene: Scene, shop: Scene):
    page = shop.ann.page()
    amounts = {f"amount_{part.component.code}": part.default for part in shop.commodity.components.all()}
    page.post(
        f"/commodities/{shop.commodity.uid}/put-in-cart/", amounts | {"count": 1, "duration_unit": "open"}
    )
    cart = page.get("/cart/").content.decode()
    assert '<option value="open" selected>' in cart
    by_hours = scene.commodity
    amounts = {f"amount_{part.component.code}": part.default for part in by_hours.components.all()}
    page.post(
        f"/commodities/{by_hours.uid}/put-in-cart/",
        amounts | {"count": 1, "duration": "1", "duration_unit": "3600"},
    )
    page.post(f"/commodities/{shop.commodity.uid}/put-in-cart/", {"count": 1, "duration_unit": "open"})
    both = page.get("/cart/").content.decode()
    assert 'value="open"' not in both
    assert '<option value="3600" selected>' in both, "the time that is shown is the one that is priced"
    for row in shop.ann.api().get("/api/v1/cart").json()["results"][1:]:
        shop.ann.api().delete(f"/api/v1/cart/{row['uid']}")
    (line,) = shop.ann.api().get("/api/v1/cart").json()["results"]
    page.post("/cart/make-form/", {"lines": [line["uid"]], "duration_unit": "open"})
    (form,) = shop.ann.api().get("/api/v1/application-forms").json()["results"]
    assert form["duration_s"] is None
    edit = page.get(f"/forms/{form['uid']}/edit/").content.decode()
    assert '<option value="open" selected>' in edit


def test_what_is_not_sold_so_or_where_work_is_ended_is_refused(scene: Scene, shop: Scene):
    with pytest.raises(InvalidInput) as caught:
        scene.draft(duration_s=None)
    assert "duration_s" in caught.value.fields
    with pytest.raises(InvalidInput):
        commodity_make("V-2", kind="manual", work={}, components=(), prices=None, where=SO)
    draft = shop.draft(duration_s=None)
    Queue.objects.filter(is_default=True).update(max_run_s=3600)
    with pytest.raises(RunTooLong, match="without an end"):
        form_submit(actor=shop.ann.actor, form_uid=draft.uid)


def test_it_is_ended_by_form_and_has_no_time_to_make_longer(shop: Scene, running: Order):
    with pytest.raises(InvalidInput):
        order_change(
            actor=shop.ann.actor, order_uid=running.uid, amounts={}, duration_s=7200, reason="longer"
        )
    form = order_terminate(actor=shop.ann.actor, order_uid=running.uid, reason="done")
    shop.decide(form, "approve")
    assert workload_of(running).state == "stopping"


def test_another_share_by_form_leaves_it_without_an_end(shop: Scene, running: Order):
    form = order_change(
        actor=shop.ann.actor, order_uid=running.uid, amounts={"compute_share": 40}, reason="more of it"
    )
    shop.decide(form, "approve", "approve")
    running.refresh_from_db()
    assert (running.duration_s, running.quote["amounts"]["compute_share"]) == (None, 40)


@pytest.mark.req("PLAT-OPS-13")
def test_what_is_taken_off_the_market_ends_at_the_time_that_was_told(shop: Scene, running: Order):
    at = timezone.now() + timedelta(days=30)
    row = commodity_retire(actor=SYSTEM, commodity_uid=shop.commodity.uid, at=at)
    assert not row.is_listed
    for _sweep in range(2):
        assert swept(running).state == "running"
    (told,) = Message.objects.filter(msgid__contains="taken off the market")
    assert timezone.localtime(at).strftime("%Y-%m-%d %H:%M") in str(told.params)
    later = at + timedelta(days=1)
    with pytest.raises(InvalidInput):
        commodity_retire(actor=SYSTEM, commodity_uid=row.uid, at=at - timedelta(days=1))
    commodity_retire(actor=SYSTEM, commodity_uid=row.uid, at=later)
    swept(running)
    assert Message.objects.filter(msgid__contains="taken off the market").count() == 2
    with pytest.raises(Conflict):
        commodity_list_(actor=SYSTEM, commodity_uid=row.uid)
    Commodity.objects.filter(pk=row.pk).update(retires_at=timezone.now())
    work = swept(running)
    assert (work.state, work.reason_code) == ("stopping", "commodity_retired")


def test_what_was_put_aside_for_want_of_money_is_kept_for_a_while_and_then_ends(
    shop: Scene, running: Order, settings
):
    work = workload_of(running)
    Slice.plain.filter(workload_uid=work.uid).update(
        state="exited", final_at=timezone.now(), ended_at=timezone.now()
    )
    work.allocations.update(state="released", released_at=timezone.now())
    Workload.plain.filter(pk=work.pk).update(
        state="stopping", after_stop="suspend", reason_code="funds_used_up"
    )
    work.refresh_from_db()
    workload_put_aside(work, SYSTEM, "funds_used_up", "")
    assert swept(running).state == "suspended"
    settings.WEIR_UNFUNDED_ORDER_DAYS = 0
    work = swept(running)
    assert (work.state, work.reason_code) == ("finished", "unfunded")
    assert running.is_ended
    assert Message.objects.filter(msgid__contains="no money came").count() == 1
    swept(running)


def test_money_bounds_its_start_not_its_length(shop: Scene):
    credit_limit_set(
        actor=SYSTEM, tenant=shop.tenant, amount=PER_HOUR * 30, reason="a month would be 720 hours"
    )
    order = ordered(shop)
    assert workload_of(order).state == "pending"


def test_it_is_ordered_again_while_it_is_sold_so(shop: Scene, running: Order):
    assert order_again(actor=shop.ann.actor, order_uid=running.uid).duration_s is None
    row = Commodity.objects.get(pk=shop.commodity.pk)
    commodity_change(
        actor=SYSTEM, commodity_uid=row.uid, version=row.version, changes={"is_open_ended": False}
    )
    with pytest.raises(InvalidInput):
        order_again(actor=shop.ann.actor, order_uid=running.uid)
    assert workload_of(running).state == "running", "what runs keeps what was sold"


def test_operators_retire_by_page_and_api(shop: Scene, operator):
    manager = operator("operations_manager")
    path = f"/api/v1/commodities/{shop.commodity.uid}/retire"
    wrong = manager.api().post(path, {"at": "2020-01-01T00:00:00Z"}, format="json")
    assert wrong.status_code == 400
    at = (datetime.now(UTC) + timedelta(days=3)).replace(second=0, microsecond=0)
    assert manager.api().post(path, {"at": at.isoformat()}, format="json").json()["retires_at"]
    page = manager.page()
    shown = page.get(f"/catalogue/commodities/{shop.commodity.uid}/")
    assert 'data-test="commodity-retire"' in shown.content.decode()
    later = (at + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M")
    page.post(f"/catalogue/commodities/{shop.commodity.uid}/retire/", {"at": later})
    row = Commodity.objects.get(pk=shop.commodity.pk)
    assert row.retires_at is not None
    assert row.retires_at > at
    assert shop.ann.api().post(path, {"at": at.isoformat()}, format="json").status_code in (403, 404)
