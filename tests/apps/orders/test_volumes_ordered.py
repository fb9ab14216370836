"""Storage that is sold: a volume of the tenant by size and time, metered, resized by form, kept a while at its end."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from apps.approvals.models import ProcessInstance
from apps.billing.models import FundsHold, UsageRecord
from apps.billing.services.rating import usage_rate
from apps.catalog.selectors.commodities import commodity_get
from apps.catalog.services.commodities import commodity_list_
from apps.catalog.services.components import components_ensure
from apps.catalog.types import ComponentRange, PriceInput
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, InvalidInput, WeirError
from apps.kernel.planes import in_tenant
from apps.notices.models import Message
from apps.orders.models import CartLine, FormLine, Order
from apps.orders.services.changes import order_change
from apps.orders.services.deliveries import order_deliver
from apps.orders.services.drafts import form_draft
from apps.orders.services.submissions import form_submit
from apps.orders.services.terminations import order_terminate
from apps.orders.services.volume_orders import volume_order_follow
from apps.orders.types import LineInput
from apps.scheduling.services.quota.quotas import quota_set
from apps.storage.models import Volume
from apps.storage.mounts import outputs_volume, volumes_mounted
from apps.storage.services.files import folder_make
from apps.storage.services.ordered import ended_volume_remove, ended_volumes
from apps.storage.services.uploads import upload_make
from apps.storage.services.volumes import volume_change, volume_delete
from apps.tenancy.services import tenant_suspend
from tests.apps.catalog.market import RANGES, commodity_make
from tests.apps.orders.scene import Scene

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-OPS-9", "PLAT-ASSET-6")]
# Of 0.02 CNY a GiB and hour.
PRICE = [PriceInput("storage", [[None, "0.02"]])]
STORAGE = [ComponentRange("storage", minimum=10, maximum=1000, default=50, step=10)]
DAY_S = 86400


@pytest.fixture(autouse=True)
def storage(settings, tmp_path):
    settings.WEIR_STORAGE_DIR = tmp_path / "storage"


@pytest.fixture
def shop(scene: Scene) -> Scene:
    components_ensure(actor=SYSTEM)
    row = commodity_make("V-1", kind="volume", work={}, components=STORAGE, prices=PRICE, max_count=1)
    quota_set(actor=SYSTEM, tenant=scene.tenant, item="storage_mib", total=200 * 1024)
    return replace(scene, commodity=commodity_get(tenant=scene.tenant, uid=row.uid))


def form(shop: Scene, gib: int = 50, **changes):
    line = LineInput(shop.commodity.uid, {"storage": gib}, changes.pop("count", 1))
    return form_draft(actor=shop.ann.actor, lines=[line], duration_s=DAY_S, **changes)


@pytest.fixture
def order(shop: Scene) -> Order:
    asked = shop.decide(form_submit(actor=shop.ann.actor, form_uid=form(shop).uid), "approve", "approve")
    return order_deliver(actor=SYSTEM, order_uid=asked.orders.get().uid)


@pytest.fixture
def later(monkeypatch) -> Callable[..., None]:
    """As if so much time had passed."""

    def pass_(**span: int) -> None:
        at = timezone.now() + timedelta(**span)
        monkeypatch.setattr(timezone, "now", lambda: at)

    return pass_


def test_it_is_a_volume_of_the_tenant_with_its_size_as_quota(shop: Scene, order: Order) -> None:
    volume = Volume.objects.get(uid=order.volume_uid)
    assert (volume.owner, volume.size_mib, volume.name) == ("tenant", 50 * 1024, order.no.lower())
    assert (order.state, order.workload_uid, bool(order.started_at)) == ("completed", None, True)
    assert shop.held("storage_mib") == (0, 50 * 1024)
    assert shop.charge(order).workload_uid == volume.uid
    assert order_deliver(actor=SYSTEM, order_uid=order.uid).volume_uid == volume.uid
    assert Volume.objects.count() == 1
    folder_make(actor=shop.ann.actor, volume_uid=volume.uid, path="data")
    page = shop.ann.page().get(f"/orders/{order.uid}/").content.decode()
    assert f'href="/files/{volume.uid}/"' in page
    assert 'data-test="kept-days"' in page


def test_it_is_metered_by_time_and_size_once_however_often_the_clock_comes(
    shop: Scene, order: Order, later
) -> None:
    later(hours=2)
    for _again in range(3):
        volume_order_follow(actor=SYSTEM, order_uid=order.uid)
    rows = list(UsageRecord.plain.filter(workload_uid=order.volume_uid))
    assert sum(row.seconds for row in rows) in range(7200, 7205)
    assert {row.storage_gib for row in rows} == {50}
    usage_rate(actor=SYSTEM)
    hold = shop.charge(order).funds
    assert Decimal("2.00") <= hold.used < Decimal("2.01")


def test_what_it_was_before_a_change_is_rated_by_its_size_then(shop: Scene, order: Order, later) -> None:
    later(hours=1)
    asked = order_change(
        actor=shop.ann.actor, order_uid=order.uid, amounts={"storage": 100}, reason="more data"
    )
    # Until it is granted all is as it was: what was tried is taken back.
    assert "102400" in ProcessInstance.objects.get(subject_uid=asked.uid).state_json
    assert shop.held("storage_mib") == (0, 50 * 1024)
    assert not UsageRecord.plain.exists()
    asked = shop.decide(asked, "approve", "approve")
    assert (asked.state, asked.note) == ("completed", "")
    assert Volume.objects.get(uid=order.volume_uid).size_mib == 100 * 1024
    assert shop.held("storage_mib") == (0, 100 * 1024)
    order.refresh_from_db()
    assert order.quote["amounts"] == {"storage": 100}
    later(hours=1)
    volume_order_follow(actor=SYSTEM, order_uid=order.uid)
    usage_rate(actor=SYSTEM)
    assert set(UsageRecord.plain.values_list("storage_gib", flat=True)) == {50, 100}
    assert Decimal("3.00") <= shop.charge(order).funds.used < Decimal("3.01")


@pytest.mark.parametrize(
    ("amounts", "error", "said"),
    [
        ({"storage": 5}, InvalidInput, ""),
        ({"storage": 15}, InvalidInput, ""),
        ({"storage": 50}, InvalidInput, "just these"),
        ({"storage": 10}, Conflict, "holds"),
        ({"storage": 500}, WeirError, "quota"),
        ({"cpu": 1}, InvalidInput, ""),
    ],
)
def test_a_size_that_cannot_be_is_refused_before_anybody_approves(
    shop: Scene, order: Order, amounts, error, said
) -> None:
    Volume.objects.filter(uid=order.volume_uid).update(used_bytes=20 * 2**30)
    with pytest.raises(error) as caught:
        order_change(actor=shop.ann.actor, order_uid=order.uid, amounts=amounts, reason="other")
    assert said in f"{caught.value} {caught.value.code}"
    assert not order.changes.exists()


def test_its_order_alone_resizes_and_ends_it(shop: Scene, order: Order, member) -> None:
    keeper = member("acme", "tenant_operations_manager").actor
    volume_change(actor=keeper, uid=order.volume_uid, name="team-data")
    with pytest.raises(Conflict, match=order.no):
        volume_change(actor=keeper, uid=order.volume_uid, size_mib=1)
    with pytest.raises(Conflict, match=order.no):
        volume_delete(actor=keeper, uid=order.volume_uid)


@pytest.mark.req("PLAT-APPLY-20")
def test_at_its_end_files_are_read_for_a_stated_time_and_then_gone(
    shop: Scene, order: Order, settings, later
) -> None:
    uid, ann = order.volume_uid, shop.ann.actor
    folder_make(actor=ann, volume_uid=uid, path="data")
    later(hours=1)
    asked = order_terminate(actor=ann, order_uid=order.uid, reason="done")
    while asked.state != "completed":
        asked = shop.decide(asked, "approve")
    order.refresh_from_db()
    volume = Volume.objects.get(uid=uid)
    days = (volume.kept_until - timezone.now()) / timedelta(days=1)
    assert (order.state, round(days)) == ("terminated", settings.WEIR_ENDED_VOLUME_DAYS)
    assert shop.held("storage_mib") == (0, 0)
    charge = shop.charge(order)
    assert charge.state == "closed"
    assert sum(UsageRecord.plain.values_list("seconds", flat=True)) in range(3600, 3605)
    for write in (
        lambda: folder_make(actor=ann, volume_uid=uid, path="more"),
        lambda: upload_make(actor=ann, volume_uid=uid, path="a", size_bytes=1),
        lambda: outputs_volume(actor=ann, name=volume.name),
    ):
        with pytest.raises(WeirError) as caught:
            write()
        assert "has ended" in f"{caught.value} {caught.value.fields}"
    (mount,) = volumes_mounted(actor=ann, asked=[volume.name])
    assert mount["read_only"]
    assert 'data-test="kept-until"' in shop.ann.page().get(f"/files/{uid}/").content.decode()
    with in_tenant("acme"):
        assert ended_volumes() == [uid]
        assert not ended_volume_remove(actor=SYSTEM, volume_uid=uid)
        later(days=8)
        with pytest.raises(InvalidInput):
            volumes_mounted(actor=ann, asked=[str(uid)])
        # Of two that come at once the second finds nothing to do.
        assert [ended_volume_remove(actor=SYSTEM, volume_uid=uid) for _again in range(2)] == [True, False]
        assert not Volume.objects.filter(uid=uid).exists()
    assert "is gone" in shop.ann.page().get(f"/orders/{order.uid}/").content.decode()


def test_it_ends_when_its_time_is_over_and_is_paid_to_that_second(shop: Scene, order: Order, later) -> None:
    later(seconds=DAY_S + 100)
    for _again in range(2):
        volume_order_follow(actor=SYSTEM, order_uid=order.uid)
    order.refresh_from_db()
    assert (order.state, order.end_reason_code) == ("completed", "run_timeout")
    assert sum(UsageRecord.plain.values_list("seconds", flat=True)) == DAY_S
    assert Volume.objects.get().kept_until


@pytest.mark.req("ELA-1911")
def test_it_ends_when_its_account_gave_nothing_for_the_grace(shop: Scene, order: Order, later) -> None:
    # All that the account has is set aside for something else.
    hold = shop.charge(order).funds
    FundsHold.plain.filter(pk=hold.pk).update(hourly=10**9)
    later(hours=3)
    volume_order_follow(actor=SYSTEM, order_uid=order.uid)
    order.refresh_from_db()
    assert not order.is_ended
    later(hours=1)
    volume_order_follow(actor=SYSTEM, order_uid=order.uid)
    order.refresh_from_db()
    assert (order.end_reason_code, bool(Volume.objects.get().kept_until)) == ("volume_funds_used_up", True)


def test_an_order_of_storage_is_one_volume_and_sells_nothing_else(shop: Scene) -> None:
    with pytest.raises(InvalidInput):
        commodity_make("V-2", kind="volume", work={}, components=STORAGE, prices=PRICE, max_count=2)
    with pytest.raises(InvalidInput):
        commodity_make("V-3", kind="volume", work={"argv": ["x"]}, components=STORAGE, max_count=1)
    mixed = commodity_make(
        "V-4", kind="volume", work={}, components=[*STORAGE, RANGES[2]], prices=None, max_count=1,
        is_listed=False,
    )  # fmt: skip
    with pytest.raises(Conflict, match="cpu"):
        commodity_list_(actor=SYSTEM, commodity_uid=mixed.uid)
    with pytest.raises(InvalidInput):
        form(shop, count=2)


def test_nobody_approves_more_than_the_quota_of_storage(shop: Scene) -> None:
    with pytest.raises(WeirError) as caught:
        form_submit(actor=shop.ann.actor, form_uid=form(shop, gib=210).uid)
    assert caught.value.code == "quota_exceeded"


def test_it_is_quoted_put_into_the_cart_and_applied_for_by_pages_and_api(shop: Scene) -> None:
    page, api, uid = shop.ann.page(), shop.ann.api(), shop.commodity.uid
    given = {"amount_storage": 50, "count": 1, "duration": 1, "duration_unit": DAY_S}
    assert page.get(f"/commodities/{uid}/").status_code == 200
    quote = page.get(f"/commodities/{uid}/quote/", given).content.decode()
    assert "50 GiB" in quote
    assert 'data-test="expected-start"' not in quote
    assert page.post(f"/commodities/{uid}/put-in-cart/", given).status_code == 302
    with in_tenant("acme"):
        line = CartLine.objects.get()
    made = page.post("/cart/make-form/", {"lines": [line.uid], "duration": 1, "duration_unit": DAY_S})
    assert made.status_code == 302
    edit = made.headers["Location"]
    assert "50" in page.get(edit).content.decode()
    sent = {"line_0_commodity": uid, "line_0_amount_storage": 60, "line_0_count": 1, "act": "submit"}
    saved = edit.replace("/edit/", "/save/")
    assert page.post(saved, sent | {"duration": 1, "duration_unit": DAY_S}).status_code == 302
    with in_tenant("acme"):
        assert FormLine.objects.get().form.state == "submitted"
        assert FormLine.objects.get().quote["amounts"] == {"storage": 60}
    asked = {"commodity": str(uid), "amounts": {"storage": 50}, "count": 1, "duration_s": DAY_S}
    answer = api.post("/api/v1/quotes", asked)
    assert (answer.status_code, answer.json()["expected_start"], answer.json()["per_hour"]) == (
        200,
        None,
        "1.00",
    )


@pytest.mark.req("PLAT-TEN-8")
def test_an_operator_ends_the_volume_of_a_suspended_tenant_without_resuming_it(
    shop: Scene, order: Order, operator
):
    tenant_suspend(actor=SYSTEM, tenant=shop.tenant)
    manager = operator("system_administrator").page()
    page = manager.get(f"/t/acme/orders/{order.uid}/").content.decode()
    assert 'data-test="order-end"' in page
    manager.post(f"/t/acme/orders/{order.uid}/end/", {"reason": "not paid"})
    with in_tenant("acme"):
        order.refresh_from_db()
        assert order.is_ended
        volume = Volume.objects.get(uid=order.volume_uid)
        assert volume.kept_until is not None, "its files are kept as after any end"
    (told,) = Message.objects.filter(msgid__contains="has ended the resource")
    assert told.params["reason"] == "not paid"
    again = manager.post(f"/t/acme/orders/{order.uid}/end/", {"reason": "once more"})
    assert again.status_code == 409


@pytest.mark.req("PLAT-TEN-8")
def test_the_people_of_a_tenant_do_not_end_an_order_so(shop: Scene, order: Order):
    answer = shop.ann.api().post(f"/api/v1/orders/{order.uid}/end", {"reason": "x"}, format="json")
    assert answer.status_code == 403
    with in_tenant("acme"):
        order.refresh_from_db()
        assert not order.is_ended
