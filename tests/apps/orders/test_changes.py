"""Another share for what an order delivered: applied for, approved, carried out, charged (PLAT-APPLY-22)."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from apps.billing.models import ChargeResize, FundsHold
from apps.billing.services.ledger import credit_limit_set
from apps.fleet.models import Device, Slice
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, InvalidInput, WeirError
from apps.kernel.planes import in_tenant
from apps.notices.models import Message
from apps.orders.models import ApplicationForm, Order
from apps.orders.services.changes import order_change
from apps.orders.services.deliveries import order_started
from apps.orders.services.drafts import form_delete
from apps.orders.services.submissions import form_submit, form_withdraw
from apps.orders.services.terminations import order_terminate
from apps.orders.tasks import orders_sweep_tenant
from apps.scheduling.models import Queue, Workload
from apps.scheduling.services.quota.quotas import quota_set
from apps.scheduling.services.workload_control import workload_resume, workload_suspend
from apps.scheduling.services.workloads.resizing.resizing import workload_resize
from apps.scheduling.services.workloads.slice_reports import slice_ended
from tests.apps.orders.scene import Scene, ends_now, runs_now, workload_of
from tests.apps.scheduling.pool import node_make

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-APPLY-22")]
# Of 20 % and 10 GiB, at 0.05 for a per cent and 0.50 for each of the first 8 GiB, 0.80 for each further one.
MORE = {"compute_share": 40, "gpu_memory": 12288}


@pytest.fixture
def order(scene: Scene) -> Order:
    found = scene.delivered()
    runs_now(found)
    order_started(actor=SYSTEM, order_uid=found.uid, at=timezone.now())
    found.refresh_from_db()
    return found


def asked(scene: Scene, order: Order, **amounts: int):
    return order_change(
        actor=scene.ann.actor, order_uid=order.uid, amounts=amounts or MORE, reason="a larger model"
    )


def test_what_is_granted_is_given_priced_and_held(scene: Scene, order: Order) -> None:
    form = asked(scene, order)
    assert (form.kind, form.state, form.total) == ("change", "submitted", Decimal("9.76"))
    # Until it is granted nothing changes: what was tried is taken back.
    assert (workload_of(order).compute_percent, scene.held("compute_percent")) == (20, (0, 20))
    assert not ChargeResize.objects.exists()
    form = scene.decide(form, "approve", "approve")
    order.refresh_from_db()
    work = workload_of(order)
    assert (form.state, form.note, order.state) == ("completed", "", "completed")
    assert (work.compute_percent, work.memory_mib, work.host_cpu_milli) == (40, 12288, 4000)
    assert [scene.held(item) for item in ("compute_percent", "gpu_memory_mib", "host_cpu_milli")] == [
        (0, 40), (0, 12288), (0, 4000),
    ]  # fmt: skip
    assert (order.quote["amounts"]["compute_share"], order.quote["per_hour"]) == (40, "9.76")
    assert scene.charge(order).resizes.get().amounts["gpu_memory"] == 12288
    ends_now(order, timezone.now())
    assert scene.held("compute_percent") == (0, 0)


def test_what_is_refused_or_withdrawn_leaves_all_as_it_is(scene: Scene, order: Order) -> None:
    form = asked(scene, order)
    assert form_withdraw(actor=scene.ann.actor, form_uid=form.uid).state == "draft"
    form = form_submit(actor=scene.ann.actor, form_uid=form.uid)
    assert scene.decide(form, "refuse").state == "rejected"
    order.refresh_from_db()
    assert (order.state, order.quote["amounts"]["compute_share"]) == ("completed", 20)
    assert workload_of(order).compute_percent == 20
    form = asked(scene, order)
    form_withdraw(actor=scene.ann.actor, form_uid=form.uid)
    form_delete(actor=scene.ann.actor, form_uid=form.uid)


def test_one_change_at_a_time(scene: Scene, order: Order) -> None:
    asked(scene, order)
    with pytest.raises(Conflict, match="under way already"):
        asked(scene, order, compute_share=50)


@pytest.mark.parametrize(
    ("amounts", "field"),
    [
        ({"compute_share": 101}, "amounts.compute_share"),
        ({"compute_share": 7}, "amounts.compute_share"),
        ({"cpu": 8}, "amounts.cpu"),
        ({"boats": 1}, "amounts.boats"),
        ({"compute_share": 20}, ""),
    ],
)
def test_what_cannot_be_is_refused_by_name(scene: Scene, order: Order, amounts, field) -> None:
    with pytest.raises(InvalidInput) as refused:
        asked(scene, order, **amounts)
    assert set(refused.value.fields) == ({field} if field else set())


def test_nobody_approves_what_the_quota_does_not_give(scene: Scene, order: Order) -> None:
    quota_set(actor=SYSTEM, tenant=scene.tenant, item="compute_percent", total=30)
    with pytest.raises(WeirError) as refused:
        asked(scene, order)
    assert refused.value.code == "quota_exceeded"


def test_what_became_impossible_meanwhile_is_said_and_changes_nothing(scene: Scene, order: Order) -> None:
    form = asked(scene, order)
    quota_set(actor=SYSTEM, tenant=scene.tenant, item="compute_percent", total=30)
    form = scene.decide(form, "approve", "approve")
    order.refresh_from_db()
    assert (form.state, bool(form.note)) == ("completed", True)
    assert (workload_of(order).compute_percent, order.quote["amounts"]["compute_share"]) == (20, 20)


def test_an_end_goes_before_a_change(scene: Scene, order: Order) -> None:
    form = asked(scene, order)
    end = order_terminate(actor=scene.ann.actor, order_uid=order.uid, reason="done")
    form = scene.decide(form, "approve", "approve")
    assert (form.state, bool(form.note), workload_of(order).compute_percent) == ("completed", True, 20)
    form_withdraw(actor=scene.ann.actor, form_uid=end.uid)
    order.refresh_from_db()
    assert order.state == "completed"


def test_an_orders_work_is_not_resized_past_its_order(scene: Scene, order: Order) -> None:
    with pytest.raises(WeirError, match="has what its order says") as refused:
        workload_resize(
            actor=scene.ann.actor,
            tenant=scene.tenant,
            workload_uid=order.workload_uid,
            compute_percent=100,
        )
    assert "change of its order" in str(refused.value.cure)


def test_by_page_and_by_api(scene: Scene, order: Order, member) -> None:
    page, path = scene.ann.page(), f"/orders/{order.uid}/"
    sent = {"amount_compute_share": 40, "amount_gpu_memory": 12288}
    assert 'data-test="change-gpu_memory"' in page.get(path).content.decode()
    shown = page.get(f"{path}change/price/", sent).content.decode()
    assert "9.76" in shown
    assert "from 5 to 100" in page.get(f"{path}change/price/", {"amount_compute_share": 3}).content.decode()
    assert page.post(f"{path}change/", {**sent, "reason": "more"}).status_code == 302
    with in_tenant("acme"):
        form = order.changes.get()
    shown = page.get(f"/forms/{form.uid}/").content.decode()
    assert "9.76" in shown
    assert "Order to change" in shown
    address, body = f"/api/v1/orders/{order.uid}/change", {"amounts": MORE, "reason": "more"}
    assert scene.ann.api().post(address, body).status_code == 409
    form_withdraw(actor=scene.ann.actor, form_uid=form.uid)
    answer = scene.ann.api().post(address, body, headers={"Idempotency-Key": "k"})
    assert (answer.status_code, answer.json()["kind"]) == (201, "change")
    assert member("globex", "tenant_front_line").api().post(address, body).status_code == 404
    assert member("acme", "tenant_decision_maker").api().post(address, body).status_code == 403


def lasts(scene: Scene, order: Order, duration_s: int, **amounts: int):
    return order_change(
        actor=scene.ann.actor,
        order_uid=order.uid,
        amounts=amounts,
        duration_s=duration_s,
        reason="it is not done yet",
    )


def test_more_time_is_given_and_priced(scene: Scene, order: Order) -> None:
    before, hours = workload_of(order).run_timeout_s, order.duration_s // 3600
    form = lasts(scene, order, order.duration_s + 7200)
    assert (form.kind, form.duration_s) == ("change", order.duration_s + 7200)
    assert workload_of(order).run_timeout_s == before
    price = Decimal(order.quote["per_hour"])
    assert form.total == price * (hours + 2)
    form = scene.decide(form, "approve", "approve")
    order.refresh_from_db()
    assert (form.state, form.note, order.duration_s) == ("completed", "", 3600 * (hours + 2))
    assert (workload_of(order).run_timeout_s, order.quote["duration_s"]) == (before + 7200, order.duration_s)
    # And once more, with another share together.
    scene.decide(lasts(scene, order, order.duration_s + 60, compute_share=40), "approve", "approve")
    work = workload_of(order)
    assert (work.run_timeout_s, work.compute_percent) == (before + 7260, 40)


def test_time_is_never_taken_away_by_a_change(scene: Scene, order: Order) -> None:
    with pytest.raises(InvalidInput) as refused:
        lasts(scene, order, order.duration_s - 60)
    assert set(refused.value.fields) == {"duration_s"}
    with pytest.raises(InvalidInput, match="just these amounts"):
        lasts(scene, order, order.duration_s)


def test_nobody_approves_time_that_its_queue_or_account_does_not_give(scene: Scene, order: Order) -> None:
    Queue.objects.update(max_run_s=order.duration_s + 60)
    with pytest.raises(WeirError) as refused:
        lasts(scene, order, order.duration_s + 120)
    assert refused.value.code == "run_too_long"
    set_aside = FundsHold.plain.get().amount
    credit_limit_set(actor=SYSTEM, tenant=scene.tenant, amount=set_aside, reason="no more than that")
    with pytest.raises(WeirError) as refused:
        lasts(scene, order, order.duration_s + 60)
    assert refused.value.code == "funds_too_low"
    assert not order.changes.exists()


def test_what_ended_before_it_was_approved_gets_no_more_time(scene: Scene, order: Order) -> None:
    form = lasts(scene, order, order.duration_s + 60)
    ends_now(order, timezone.now())
    form = scene.decide(form, "approve", "approve")
    order.refresh_from_db()
    assert (form.state, bool(form.note)) == ("completed", True)
    assert order.duration_s == form.duration_s - 60
    with pytest.raises(Conflict):
        lasts(scene, order, order.duration_s + 60)


def test_more_time_by_page_and_by_api(scene: Scene, order: Order) -> None:
    page, path = scene.ann.page(), f"/orders/{order.uid}/"
    assert 'data-test="change-more"' in page.get(path).content.decode()
    longer = {"more": 3, "more_unit": 3600}
    cost = Decimal(order.quote["per_hour"]) * (order.duration_s // 3600 + 3)
    assert f"{cost:.2f}" in page.get(f"{path}change/price/", longer).content.decode()
    assert page.post(f"{path}change/", {**longer, "reason": "more"}).status_code == 302
    with in_tenant("acme"):
        form = order.changes.get()
        assert form.duration_s == order.duration_s + 3 * 3600
        form_withdraw(actor=scene.ann.actor, form_uid=form.uid)
    address, body = (
        f"/api/v1/orders/{order.uid}/change",
        {"duration_s": order.duration_s + 60, "reason": "more"},
    )
    answer = scene.ann.api().post(address, body, headers={"Idempotency-Key": "k"})
    assert (answer.status_code, answer.json()["duration_s"]) == (201, order.duration_s + 60)


def test_an_orders_work_is_put_aside_and_goes_on_for_what_is_left(scene: Scene, order: Order) -> None:
    work = workload_of(order)
    steer = {"actor": scene.ann.actor, "tenant": scene.tenant, "workload_uid": work.uid}
    began, whole_s = timezone.now() - timedelta(minutes=10), work.run_timeout_s
    node = node_make()
    device = Device.objects.get(node=node)
    Slice.plain.create(
        tenant=scene.tenant, workload_uid=work.uid, device=device, node=node, compute_percent=20,
        memory_mib=10240, work={}, state="exited", started_at=began, ended_at=began + timedelta(minutes=4),
        final_at=timezone.now(), closed_at=timezone.now(),
    )  # fmt: skip
    Workload.objects.across().filter(pk=work.pk).update(placed_at=began)
    held = scene.held("compute_percent")
    workload_suspend(**steer)
    ends_now(order, timezone.now(), reason_code="suspended")
    work, order = workload_of(order), Order.objects.get(pk=order.pk)
    assert (work.state, work.run_timeout_s, order.state, order.is_ended) == (
        "suspended", whole_s - 240, "completed", False,
    )  # fmt: skip
    assert scene.held("compute_percent") == held
    # More time is for what is left, and nothing is bought twice.
    scene.decide(lasts(scene, order, order.duration_s + 60), "approve", "approve")
    workload_resume(**steer)
    work = workload_of(order)
    assert (work.state, work.run_timeout_s) == ("pending", whole_s - 180)


def _slice_since(order: Order, began) -> None:
    node = node_make()
    Slice.plain.create(
        tenant=Workload.objects.across().get(uid=order.workload_uid).tenant, workload_uid=order.workload_uid,
        device=Device.objects.get(node=node), node=node, compute_percent=20, memory_mib=10240, work={},
        state="running", started_at=began, run_timeout_s=order.duration_s,
    )  # fmt: skip


def _told(scene: Scene) -> list[str]:
    rows = Message.objects.filter(user_id=scene.ann.user.pk, msgid__contains="ends at").order_by("pk")
    return [row.link for row in rows]


def test_who_ordered_it_is_told_before_it_ends_and_again_of_a_later_end(scene: Scene, order: Order) -> None:
    schema = scene.tenant.schema_name
    ends_at = timezone.now() + timedelta(seconds=order.duration_s / 10 - 5)
    _slice_since(order, ends_at - timedelta(seconds=order.duration_s))
    Order.objects.filter(pk=order.pk).update(started_at=ends_at - timedelta(seconds=order.duration_s))
    orders_sweep_tenant(schema)
    orders_sweep_tenant(schema)
    assert _told(scene) == [f"/orders/{order.uid}/"]
    scene.decide(lasts(scene, order, order.duration_s * 2), "approve", "approve")
    assert len(_told(scene)) == 1
    Slice.plain.update(run_timeout_s=order.duration_s * 2)
    orders_sweep_tenant(schema)
    assert len(_told(scene)) == 1
    Slice.plain.update(started_at=timezone.now() - timedelta(seconds=order.duration_s * 2 - 30))
    Order.objects.update(started_at=timezone.now() - timedelta(seconds=order.duration_s * 2 - 30))
    orders_sweep_tenant(schema)
    assert len(_told(scene)) == 2
    shown = scene.ann.page().get(f"/orders/{order.uid}/").content.decode()
    assert 'data-test="ends-at"' in shown


def test_what_has_ended_is_ordered_again_as_it_was_in_the_end(scene: Scene, order: Order) -> None:
    scene.decide(lasts(scene, order, order.duration_s + 60, compute_share=40), "approve", "approve")
    page, path = scene.ann.page(), f"/orders/{order.uid}/"
    assert 'data-test="order-again"' not in page.get(path).content.decode()
    ends_now(order, timezone.now())
    assert 'data-test="order-again"' in page.get(path).content.decode()
    answer = scene.ann.api().post(f"/api/v1/orders/{order.uid}/again", {}, headers={"Idempotency-Key": "k"})
    assert answer.status_code == 201
    with in_tenant("acme"):
        form = ApplicationForm.objects.get(uid=answer.json()["uid"])
        line = form.lines.get()
        assert (form.kind, form.state, form.duration_s) == ("new", "draft", order.duration_s + 60)
        assert (line.amounts["compute_share"], line.count, line.commodity_id) == (
            40, order.line.count, order.line.commodity_id,
        )  # fmt: skip
        assert form_submit(actor=scene.ann.actor, form_uid=form.uid).state == "submitted"
    assert page.post(f"{path}again/").status_code == 302


def test_what_is_lost_with_its_node_goes_on_for_what_is_left_of_its_time(scene: Scene, order: Order) -> None:
    whole_s, began = order.duration_s, timezone.now() - timedelta(minutes=10)
    _slice_since(order, began)
    Slice.plain.update(state="lost", ended_at=began + timedelta(minutes=4), final_at=timezone.now())
    Workload.objects.across().update(placed_at=began)
    slice_ended(
        actor=SYSTEM, workload_uid=order.workload_uid, slice_uid=str(Slice.plain.get().uid), at=timezone.now(),
        failed=True, reason_code="lost", reason="", requeue=True,
    )  # fmt: skip
    work = workload_of(order)
    assert (work.state, work.run_timeout_s) == ("pending", whole_s - 240)
