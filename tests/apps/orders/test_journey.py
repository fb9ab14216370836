"""The way of a form and its order (annexes A and C), and that nothing comes twice."""

from datetime import timedelta
from decimal import Decimal
from uuid import uuid4

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from apps.billing.errors import FundsTooLow
from apps.billing.models import Account, Charge, FundsHold
from apps.billing.services.ledger import credit_limit_set
from apps.cases.models import Case
from apps.catalog.types import ComponentRange
from apps.centre.services import centre_quotas_set, centre_tickets_set
from apps.fleet.models import Device, Node, Slice
from apps.identity.services.tokens import api_token_make
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound, QuotaExceeded
from apps.kernel.planes import in_tenant
from apps.notices.models import Message
from apps.orders.models import ApplicationForm, Order
from apps.orders.selectors import case_of_form, case_of_order, order_get, orders_undelivered
from apps.orders.services.carts import cart_add
from apps.orders.services.deliveries import (
    order_deliver,
    order_ended,
    order_started,
    ticket_execute,
    ticket_send,
)
from apps.orders.services.submissions import form_submit, form_withdraw
from apps.orders.services.terminations import order_terminate
from apps.orders.tasks import orders_sweep_tenant
from apps.orders.types import LineInput
from apps.scheduling.errors import HostTooSmall, ShareTooLarge
from apps.scheduling.models import DefaultSpec, Queue, Workload
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.workloads.stopping import workload_stop
from apps.telemetry.models import Alarm
from apps.tickets.models import Ticket
from apps.tickets.services.life import ticket_claim, ticket_done, ticket_return
from portal.subscribers import orders as edges
from tests.apps.catalog.market import PRICES, commodity_make
from tests.apps.orders.scene import AMOUNTS, HOUR_TOTAL, Scene, ends_now, runs_now, workload_of
from tests.apps.scheduling.pool import node_make

pytestmark = pytest.mark.django_db


def node_ready(name: str = "n1", *, device_mib: int = 81920, **facts: object) -> Node:
    """A node whose host and one device have so much."""
    device = {key: facts.pop(key) for key in ("is_sliced",) if key in facts}
    node = node_make(name, memory_mib=device_mib, **device)
    Node.objects.filter(pk=node.pk).update(info=facts)
    return node


def charges_of(order: Order) -> dict[str, int]:
    return dict(Charge.plain.get(order_uid=order.uid).amounts)


def mirrored() -> None:
    """Each case says what its row says."""
    shown = [case_of_form(row) for row in ApplicationForm.objects.exclude(submitted_at=None)]
    shown += [case_of_order(row) for row in Order.objects.all()]
    for data in shown:
        case = Case.objects.across().get(kind=data.kind, uid=data.uid)
        names = (
            "no",
            "state",
            "is_open",
            "title_zh",
            "title_en",
            "applicant_name",
            "business_system",
            "link",
        )
        assert {n: getattr(case, n) for n in names} == {n: getattr(data, n) for n in names}


@pytest.mark.req("PLAT-APPLY-6", "PLAT-TEN-11", "PLAT-OPS-22", "PLAT-APPLY-16")
def test_from_draft_to_a_released_resource(scene: Scene):
    form = scene.draft(2)
    assert (form.state, scene.held()) == ("draft", (0, 0))
    form = form_submit(actor=scene.ann.actor, form_uid=form.uid)
    assert (form.state, form.total) == ("submitted", 2 * HOUR_TOTAL)
    assert (scene.held(), scene.held("compute_percent"), scene.held("gpu_memory_mib")) == (
        (2, 0),
        (40, 0),
        (20480, 0),
    )
    assert scene.decide(form, "approve").state == "approving"
    assert scene.decide(form, "approve").state == "approved"
    order = form.orders.get()
    assert (order.state, order.quote, order.line.form) == ("pending", form.lines.get().quote, form)
    order = order_deliver(actor=SYSTEM, order_uid=order.uid)
    form.refresh_from_db()
    workload = workload_of(order)
    assert (order.state, form.state, order.workload_uid) == ("processing", "delivering", workload.uid)
    assert (workload.shares, workload.compute_percent, workload.memory_mib) == (2, 20, 10240)
    assert (workload.run_timeout_s, workload.work) == (3600, scene.commodity.work)
    assert scene.held() == (0, 2)
    assert scene.charge(order).price_version.uid.hex == order.quote["price_version"].replace("-", "")
    mirrored()
    started_at = timezone.now()
    order_started(actor=SYSTEM, order_uid=order.uid, at=started_at)
    order.refresh_from_db()
    form.refresh_from_db()
    assert (order.state, order.started_at, form.state, form.note) == (
        "completed",
        started_at,
        "completed",
        "",
    )
    assert Ticket.objects.get().state == "done"
    ended_at = started_at + timedelta(seconds=3600)
    runs_now(order)
    ends_now(order, ended_at)
    order.refresh_from_db()
    assert (order.state, order.ended_at, order.end_reason_code) == ("completed", ended_at, "completed")
    assert scene.held() == (0, 0)
    assert (scene.charge(order).state, scene.charge(order).closed_at) == ("closed", ended_at)
    mirrored()


def test_the_applicant_hears_of_each_step(scene: Scene):
    order = scene.delivered()
    order_started(actor=SYSTEM, order_uid=order.uid, at=timezone.now())
    runs_now(order)
    ends_now(order, timezone.now())
    heard = Message.objects.filter(user=scene.ann.user).order_by("pk").values_list("msgid", flat=True)
    assert [one.split(" ", 3)[:3] for one in heard] == [
        ["Your", "application", "%(no)s"],
        ["Order", "%(no)s", "is"],
        ["Application", "%(no)s", "is"],
        ["The", "resource", "of"],
    ]


# --- submitting and taking back --------------------------------------------------------------------------------


def test_a_form_is_submitted_once(scene: Scene):
    form = scene.submitted()
    with pytest.raises(Conflict):
        form_submit(actor=scene.ann.actor, form_uid=form.uid)
    assert scene.held() == (1, 0)
    assert scene.task(form)


@pytest.mark.req("PLAT-TEN-12")
def test_more_than_the_quota_is_refused_and_nothing_changes(scene: Scene):
    scene.submitted(3)
    form = scene.draft(2)
    with pytest.raises(QuotaExceeded, match="1 of 4"):
        form_submit(actor=scene.ann.actor, form_uid=form.uid)
    form.refresh_from_db()
    assert (form.state, form.submitted_at, form.total, scene.held()) == ("draft", None, None, (3, 0))
    assert form.lines.get().quote is None
    assert not Case.objects.across().filter(uid=form.uid).exists()


@pytest.mark.req("PLAT-TEN-12", "PLAT-CFG-36")
def test_more_than_the_quota_is_submitted_where_the_centre_keeps_none(scene: Scene):
    scene.submitted(3)
    centre_quotas_set(actor=SYSTEM, keeps_quotas=False)
    assert scene.submitted(2).state == "submitted"
    assert scene.held() == (5, 0)


@pytest.mark.req("PLAT-APPLY-14")
def test_withdrawn_changed_and_submitted_again(scene: Scene):
    form = scene.submitted(2)
    form = form_withdraw(actor=scene.ann.actor, form_uid=form.uid)
    assert (form.state, scene.held()) == ("draft", (0, 0))
    with pytest.raises(Conflict):
        form_withdraw(actor=scene.ann.actor, form_uid=form.uid)
    form = form_submit(actor=scene.ann.actor, form_uid=form.uid)
    assert (form.state, scene.held()) == ("submitted", (2, 0))
    mirrored()


@pytest.mark.req("PLAT-APPLY-15")
def test_not_withdrawn_once_it_is_in_approval(scene: Scene):
    form = scene.decide(scene.submitted(), "approve")
    with pytest.raises(Conflict):
        form_withdraw(actor=scene.ann.actor, form_uid=form.uid)
    form.refresh_from_db()
    assert (form.state, scene.held()) == ("approving", (1, 0))


def test_only_the_applicant_submits_and_withdraws(scene: Scene, member):
    other = member("acme", "tenant_front_line")
    form = scene.draft()
    with pytest.raises(NotFound):
        form_submit(actor=other.actor, form_uid=form.uid)
    form_submit(actor=scene.ann.actor, form_uid=form.uid)
    for person in (other, scene.boss, scene.manager):
        with pytest.raises(NotFound):
            form_withdraw(actor=person.actor, form_uid=form.uid)
    form.refresh_from_db()
    assert form.state == "submitted"


@pytest.mark.parametrize(
    ("decisions", "state"), [(["refuse"], "rejected"), (["approve", "refuse"], "rejected")]
)
def test_a_refused_form_gives_its_quota_back(scene: Scene, decisions, state):
    form = scene.decide(scene.submitted(2), *decisions)
    assert (form.state, scene.held(), Order.objects.count()) == (state, (0, 0), 0)
    mirrored()


def test_sent_back_it_is_a_draft_again(scene: Scene):
    form = scene.decide(scene.submitted(), "send_back")
    assert (form.state, scene.held()) == ("draft", (0, 0))
    form = form_submit(actor=scene.ann.actor, form_uid=form.uid)
    assert scene.decide(form, "approve", "approve").state == "approved"
    mirrored()


def test_without_an_account_nothing_is_submitted(scene: Scene):
    Account.plain.all().delete()
    form = scene.draft()
    with pytest.raises(Conflict):
        form_submit(actor=scene.ann.actor, form_uid=form.uid)
    form.refresh_from_db()
    assert (form.state, scene.held()) == ("draft", (0, 0))


# --- delivery --------------------------------------------------------------------------------------------------


@pytest.mark.req("ELA-1911", "PLAT-APPLY-6")
def test_what_the_account_does_not_cover_is_refused_when_it_is_submitted(scene: Scene):
    credit(scene, "7.15")
    with pytest.raises(FundsTooLow) as caught:
        scene.submitted()
    assert "lacks ¥0.01" in str(caught.value.message)
    assert scene.held() == (0, 0)
    assert not ApplicationForm.objects.exclude(state="draft").exists()
    credit(scene, "7.16")
    assert scene.submitted().state == "submitted"
    assert not FundsHold.plain.exists(), "nothing is set aside until it is delivered"


@pytest.mark.req("ELA-1911")
def test_an_order_sets_its_money_aside_at_delivery_and_fails_with_the_reason_where_it_is_gone(scene: Scene):
    credit(scene, "7.16")
    first, second = scene.ordered(), scene.ordered()
    delivered = order_deliver(actor=SYSTEM, order_uid=first.uid)
    assert delivered.state == "processing"
    assert scene.charge(first).funds.amount == Decimal("7.16")
    failed = order_deliver(actor=SYSTEM, order_uid=second.uid)
    assert failed.state == "failed"
    assert not Workload.objects.across().filter(order_uid=second.uid).exists()
    told = Message.objects.get(user=scene.ann.user, params__has_key="reason")
    assert "lacks ¥7.16" in told.params["reason"]
    # Its end gives back what it did not use.
    workload_stop(actor=SYSTEM, tenant=scene.tenant, workload_uid=delivered.workload_uid, reason="")
    assert scene.charge(first).funds.amount == 0


def credit(scene: Scene, amount: str) -> None:
    credit_limit_set(actor=SYSTEM, tenant=scene.tenant, amount=Decimal(amount), reason="contract")


def test_delivering_again_changes_nothing(scene: Scene):
    order = scene.delivered()
    for _ in range(2):
        order_deliver(actor=SYSTEM, order_uid=order.uid)
    assert Workload.objects.of(scene.tenant).count() == 1
    assert Charge.objects.of(scene.tenant).count() == 1
    assert scene.held() == (0, 1)


def test_the_sweep_delivers_what_a_lost_message_left(scene: Scene):
    order = scene.ordered()
    orders_sweep_tenant("acme")
    orders_sweep_tenant("acme")
    order.refresh_from_db()
    assert order.state == "processing"
    assert Workload.objects.of(scene.tenant).count() == 1


@pytest.mark.req("PLAT-TODO-12")
def test_who_claims_the_ticket_delivers(scene: Scene, operator):
    order = scene.ordered()
    ticket_claim(actor=scene.worker.actor, ticket_uid=order.ticket_uid)
    assert order_deliver(actor=SYSTEM, order_uid=order.uid).state == "pending"
    with pytest.raises(Forbidden):
        order_deliver(actor=operator("front_line", schema="acme").actor, order_uid=order.uid)
    assert order_deliver(actor=scene.worker.actor, order_uid=order.uid).state == "processing"
    with pytest.raises(Conflict):
        order_deliver(actor=scene.worker.actor, order_uid=order.uid)
    order_started(actor=SYSTEM, order_uid=order.uid, at=timezone.now())
    ticket = Ticket.objects.get()
    assert (ticket.state, ticket.assignee) == ("done", scene.worker.user)


# --- what is billed is delivered -------------------------------------------------------------------------------


@pytest.mark.req("PLAT-OPS-22")
def test_cpu_and_main_memory_that_are_billed_are_reserved_on_the_node(scene: Scene):
    node_ready(cpu_count=8, memory_mib=16384)
    order, other = scene.delivered(), scene.delivered()
    assert (workload_of(order).host_cpu_milli, workload_of(order).host_memory_mib) == (4000, 8192)
    third = scene.delivered()
    cycle_run(actor=SYSTEM)
    assert [workload_of(each).state for each in (order, other, third)] == ["placed", "placed", "pending"]
    assert workload_of(third).reason_code == "host_cpu"
    held = Slice.plain.filter(workload_uid=order.workload_uid).values_list(
        "host_cpu_milli", "host_memory_mib"
    )
    assert list(held) == [(4000, 8192)]
    resource = f"/resources/{order.workload_uid}/"
    shown = " ".join(scene.ann.page().get(resource).content.decode().split())
    assert "4 cores · 8 GiB" in shown


@pytest.mark.req("PLAT-OPS-22")
def test_a_commodity_without_an_accelerator_is_delivered_on_a_host_alone(scene: Scene):
    node = node_ready(cpu_count=8, memory_mib=16384, is_sliced=False)
    parts = [ComponentRange("cpu", 1, 32, 4), ComponentRange("memory", 1024, 262144, 8192, 1024)]
    commodity = commodity_make("CPU-1", components=parts, prices=PRICES[2:])
    amounts = {"cpu": 2, "memory": 4096}
    order = scene.ordered(lines=[LineInput(commodity.uid, amounts, 2)])
    order = order_deliver(actor=SYSTEM, order_uid=order.uid)
    assert (order.state, order.note) == ("processing", "")
    cycle_run(actor=SYSTEM)
    work = workload_of(order)
    assert (work.state, work.compute_percent, work.memory_mib, work.host_cpu_milli) == ("placed", 0, 0, 2000)
    slices = Slice.plain.filter(workload_uid=order.workload_uid)
    assert {(each.compute_percent, each.memory_mib, each.host_cpu_milli, each.driver) for each in slices} == {
        (0, 0, 2000, "host")
    }
    device = node.devices.get()
    assert (device.held_percent, device.held_mib, slices.count()) == (0, 0, 2)
    assert charges_of(order) == {"cpu": 2, "memory": 4096}


@pytest.mark.req("ELA-507")
def test_an_application_for_what_no_node_has_is_refused_when_it_is_submitted(scene: Scene):
    node_ready(cpu_count=2, memory_mib=16384)
    form = scene.draft()
    with pytest.raises(HostTooSmall):
        form_submit(actor=scene.ann.actor, form_uid=form.uid)
    form.refresh_from_db()
    assert (form.state, scene.held()) == ("draft", (0, 0))
    with pytest.raises(HostTooSmall):
        cart_add(actor=scene.ann.actor, commodity_uid=scene.commodity.uid, amounts=dict(AMOUNTS))
    Node.objects.update(info={"cpu_count": 64, "memory_mib": 65536})
    Device.objects.update(memory_mib=4096, reported_mib=4096)
    with pytest.raises(ShareTooLarge):
        form_submit(actor=scene.ann.actor, form_uid=form.uid)


@pytest.mark.req("PLAT-CLU-31")
def test_an_application_beyond_the_applicants_limit_is_refused_and_so_is_its_delivery(scene: Scene):
    node_ready(cpu_count=64, memory_mib=65536)
    order = scene.ordered()
    DefaultSpec.objects.create(instances=1)
    order = order_deliver(actor=SYSTEM, order_uid=order.uid)
    assert order.state == "processing"
    with pytest.raises(QuotaExceeded, match="You may hold 1"):
        scene.submitted()
    DefaultSpec.objects.update(instances=2)
    late = scene.ordered()
    DefaultSpec.objects.update(instances=1)
    late = order_deliver(actor=SYSTEM, order_uid=late.uid)
    assert (late.state, scene.held()) == ("failed", (0, 1))
    assert "You may hold 1" in late.note


def test_the_cart_refuses_a_duration_that_is_not_offered(scene: Scene):
    with pytest.raises(InvalidInput, match=r"."):
        cart_add(
            actor=scene.ann.actor, commodity_uid=scene.commodity.uid, amounts=dict(AMOUNTS), duration_s=10**9
        )


@pytest.mark.req("PLAT-TODO-12")
@pytest.mark.parametrize("way", ["page", "api"])
def test_carrying_out_a_ticket_delivers_its_order(scene: Scene, way: str):
    order = scene.ordered()
    ticket_claim(actor=scene.worker.actor, ticket_uid=order.ticket_uid)
    if way == "page":
        answer = scene.worker.page().post(
            f"/t/acme/tickets/{order.ticket_uid}/execute/", {"text": "by hand"}, follow=True
        )
        shown = answer.content.decode()
        assert 'data-test="executed"' in shown
        assert 'data-test="execute"' not in shown
    else:
        address = f"/api/v1/tickets/{order.ticket_uid}/execute"
        _token, secret = api_token_make(actor=SYSTEM, user=scene.worker.user, name="test")
        client = APIClient(headers={"host": "localhost", "Weir-Tenant": "acme"})
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
        answer = client.post(address, {"text": "by hand"})
    assert answer.status_code == 200, answer.content
    with in_tenant("acme"):
        order.refresh_from_db()
        assert (order.state, scene.held(), workload_of(order).state) == ("processing", (0, 1), "pending")
        ticket = Ticket.objects.get()
        assert (ticket.state, ticket.result) == ("delivering", {"text": "by hand"})
        order_started(actor=SYSTEM, order_uid=order.uid, at=timezone.now())
        ticket.refresh_from_db()
        assert ticket.state == "done"
        assert ticket.result == {"text": "by hand", "workload": str(order.workload_uid)}
        mirrored()


@pytest.mark.req("PLAT-CFG-45")
def test_a_centre_that_does_not_send_tickets_leaves_orders_to_its_operators(scene: Scene):
    centre_tickets_set(actor=SYSTEM, sends_tickets=False)
    sent, kept, carried = (scene.ordered() for _ in range(3))
    assert order_deliver(actor=SYSTEM, order_uid=sent.uid).state == "pending"
    assert orders_undelivered() == []
    # Sent by hand it goes the system's way; carried out by hand it goes the operator's.
    with pytest.raises(NotFound):
        ticket_send(actor=scene.worker.actor, ticket_uid=uuid4())
    with pytest.raises(Forbidden):
        ticket_send(actor=scene.ann.actor, ticket_uid=sent.ticket_uid)
    ticket_claim(actor=scene.worker.actor, ticket_uid=carried.ticket_uid)
    assert ticket_execute(actor=scene.worker.actor, ticket_uid=carried.ticket_uid).state == "processing"
    worker, address = scene.worker.page(), f"/t/acme/tickets/{sent.ticket_uid}/"
    assert 'data-test="send"' in worker.get(address).content.decode()
    assert worker.post(f"{address}send/").status_code == 302
    assert worker.post(f"{address}send/").status_code == 409
    with in_tenant("acme"):
        sent.refresh_from_db()
        assert (sent.state, Ticket.objects.get(uid=sent.ticket_uid).assignee) == ("processing", None)
        # Switched on again, what waits goes out by itself.
        centre_tickets_set(actor=SYSTEM, sends_tickets=True)
        assert orders_undelivered() == [kept.uid]
        orders_sweep_tenant("acme")
        kept.refresh_from_db()
        assert kept.state == "processing"


def test_the_sweep_delivers_what_was_closed_with_nothing_delivered(scene: Scene):
    order = scene.ordered()
    ticket_claim(actor=scene.worker.actor, ticket_uid=order.ticket_uid)
    ticket_done(actor=scene.worker.actor, ticket_uid=order.ticket_uid)
    assert orders_undelivered() == [order.uid]
    orders_sweep_tenant("acme")
    order.refresh_from_db()
    assert (order.state, workload_of(order).state, scene.held()) == ("processing", "pending", (0, 1))


def test_a_returned_ticket_is_delivered_automatically(scene: Scene):
    order = scene.ordered()
    ticket_claim(actor=scene.worker.actor, ticket_uid=order.ticket_uid)
    ticket_return(actor=scene.worker.actor, ticket_uid=order.ticket_uid)
    assert order_deliver(actor=SYSTEM, order_uid=order.uid).state == "processing"


@pytest.mark.req("PLAT-TODO-12")
@pytest.mark.parametrize("failed", [False, True])
def test_a_ticket_given_back_after_delivery_holds_up_nothing(scene: Scene, failed: bool):
    order = scene.ordered()
    ticket_claim(actor=scene.worker.actor, ticket_uid=order.ticket_uid)
    order_deliver(actor=scene.worker.actor, order_uid=order.uid)
    ticket_return(actor=scene.worker.actor, ticket_uid=order.ticket_uid)
    if failed:
        order_ended(actor=SYSTEM, order_uid=order.uid, at=timezone.now(), failed=True, reason="no room")
    else:
        order_started(actor=SYSTEM, order_uid=order.uid, at=timezone.now())
    order.refresh_from_db()
    states = (order.state, Ticket.objects.get().state)
    assert states == (("failed", "failed") if failed else ("completed", "done"))
    mirrored()


def test_the_sweep_leaves_alone_what_a_person_has_claimed(scene: Scene):
    order = scene.ordered()
    assert orders_undelivered() == [order.uid]
    ticket_claim(actor=scene.worker.actor, ticket_uid=order.ticket_uid)
    assert orders_undelivered() == []
    ticket_return(actor=scene.worker.actor, ticket_uid=order.ticket_uid)
    assert orders_undelivered() == [order.uid]


def test_a_refused_delivery_fails_the_order_and_gives_the_quota_back(scene: Scene):
    order = scene.ordered()
    Queue.objects.update(state="DRAIN")
    order = order_deliver(actor=SYSTEM, order_uid=order.uid)
    form = ApplicationForm.objects.get()
    assert (order.state, form.state, scene.held()) == ("failed", "completed", (0, 0))
    assert "DRAIN" in order.note
    assert form.note
    assert Ticket.objects.get().state == "failed"
    assert not Workload.objects.of(scene.tenant).exists()
    assert not Charge.objects.of(scene.tenant).exists()
    mirrored()


def test_a_workload_that_never_starts_fails_the_order(scene: Scene):
    order = scene.delivered()
    runs_now(order)
    ends_now(order, timezone.now(), failed=True, reason_code="crashed")
    order.refresh_from_db()
    form = ApplicationForm.objects.get()
    assert (order.state, order.note, order.end_reason_code) == ("failed", "crashed", "crashed")
    assert (form.state, scene.held(), scene.charge(order).state) == ("completed", (0, 0), "closed")
    assert form.note
    mirrored()


def test_what_happens_to_a_workload_may_be_told_twice_and_late(scene: Scene):
    order = scene.delivered()
    first, later = timezone.now(), timezone.now() + timedelta(seconds=30)
    order_started(actor=SYSTEM, order_uid=order.uid, at=first)
    order_started(actor=SYSTEM, order_uid=order.uid, at=later)
    order_ended(actor=SYSTEM, order_uid=order.uid, at=later, reason_code="completed")
    order_ended(actor=SYSTEM, order_uid=order.uid, at=later + timedelta(seconds=9), reason_code="crashed")
    order_started(actor=SYSTEM, order_uid=order.uid, at=later)
    order.refresh_from_db()
    assert (order.started_at, order.ended_at, order.end_reason_code) == (first, later, "completed")
    assert scene.charge(order).closed_at == later
    with in_tenant("globex"):
        order_started(actor=SYSTEM, order_uid=order.uid, at=later)


def test_a_form_of_two_services_is_done_with_the_last(scene: Scene):
    lines = [LineInput(scene.commodity.uid, dict(AMOUNTS), count) for count in (1, 2)]
    form = scene.decide(scene.submitted(lines=lines), "approve", "approve")
    first, second = form.orders.order_by("pk")
    assert first.quote["count"] == 1
    assert second.quote["count"] == 2
    for order in (first, second):
        order_deliver(actor=SYSTEM, order_uid=order.uid)
    assert scene.held() == (0, 3)
    order_started(actor=SYSTEM, order_uid=first.uid, at=timezone.now())
    form.refresh_from_db()
    assert form.state == "delivering"
    runs_now(second)
    ends_now(Order.objects.get(pk=second.pk), timezone.now(), failed=True, reason_code="crashed")
    form.refresh_from_db()
    assert form.state == "completed"
    assert form.note
    assert scene.held() == (0, 1)


# --- termination -----------------------------------------------------------------------------------------------


def running(scene: Scene) -> Order:
    order = scene.delivered()
    order_started(actor=SYSTEM, order_uid=order.uid, at=timezone.now())
    runs_now(order)
    order.refresh_from_db()
    return order


@pytest.mark.req("PLAT-APPLY-20")
def test_terminated_on_approval_once_the_resource_is_released(scene: Scene):
    order = running(scene)
    form = order_terminate(actor=scene.ann.actor, order_uid=order.uid, reason="done")
    order.refresh_from_db()
    assert (form.kind, form.state, order.state) == ("termination", "submitted", "terminating")
    assert workload_of(order).state == "running"
    scene.decide(form, "approve")
    order.refresh_from_db()
    assert (form.state, order.state, workload_of(order).state) == ("delivering", "terminating", "stopping")
    assert scene.held() == (0, 1)
    released_at = timezone.now()
    ends_now(order, released_at, reason_code="stopped")
    order.refresh_from_db()
    form.refresh_from_db()
    assert (form.state, order.state, order.ended_at) == ("completed", "terminated", released_at)
    assert (scene.held(), scene.charge(order).closed_at) == ((0, 0), released_at)
    mirrored()


def test_what_waits_for_its_place_is_terminated_at_once(scene: Scene):
    order = scene.delivered()
    form = order_terminate(actor=scene.ann.actor, order_uid=order.uid, reason="no longer")
    scene.decide(form, "approve")
    order.refresh_from_db()
    first = ApplicationForm.objects.get(kind="new")
    assert (form.state, order.state, first.state) == ("completed", "terminated", "completed")
    assert (scene.held(), workload_of(order).state, scene.charge(order).state) == (
        (0, 0),
        "finished",
        "closed",
    )
    assert Ticket.objects.get().state == "failed"
    mirrored()


def test_what_was_never_delivered_is_terminated_without_a_workload(scene: Scene):
    order = scene.ordered()
    form = order_terminate(actor=scene.ann.actor, order_uid=order.uid, reason="no longer")
    orders_sweep_tenant("acme")
    assert not Workload.objects.of(scene.tenant).exists()
    scene.decide(form, "approve")
    order.refresh_from_db()
    first = ApplicationForm.objects.get(kind="new")
    assert (form.state, order.state, first.state) == ("completed", "terminated", "completed")
    assert scene.held() == (0, 0)
    mirrored()


def test_a_refused_termination_changes_nothing(scene: Scene):
    order = running(scene)
    form = order_terminate(actor=scene.ann.actor, order_uid=order.uid, reason="done")
    scene.decide(form, "refuse")
    order.refresh_from_db()
    assert (form.state, order.state, workload_of(order).state) == ("rejected", "completed", "running")
    again = order_terminate(actor=scene.ann.actor, order_uid=order.uid, reason="really")
    assert again.state == "submitted"
    mirrored()


def test_a_withdrawn_termination_can_be_submitted_again(scene: Scene):
    order = running(scene)
    form = order_terminate(actor=scene.ann.actor, order_uid=order.uid, reason="done")
    form_withdraw(actor=scene.ann.actor, form_uid=form.uid)
    order.refresh_from_db()
    assert order.state == "completed"
    form = form_submit(actor=scene.ann.actor, form_uid=form.uid)
    order.refresh_from_db()
    assert (form.state, order.state) == ("submitted", "terminating")
    mirrored()


def test_ending_by_itself_while_the_termination_is_decided(scene: Scene):
    order = running(scene)
    form = order_terminate(actor=scene.ann.actor, order_uid=order.uid, reason="done")
    ends_now(order, timezone.now())
    order.refresh_from_db()
    assert (order.state, order.is_ended, scene.held()) == ("terminating", True, (0, 0))
    scene.decide(form, "approve")
    order.refresh_from_db()
    assert (form.state, order.state, order.end_reason_code) == ("completed", "terminated", "completed")
    mirrored()


def test_failing_while_the_termination_is_decided(scene: Scene):
    order = scene.delivered()
    form = order_terminate(actor=scene.ann.actor, order_uid=order.uid, reason="slow")
    runs_now(order)
    ends_now(Order.objects.get(pk=order.pk), timezone.now(), failed=True, reason_code="crashed")
    scene.decide(form, "refuse")
    order.refresh_from_db()
    assert (order.state, ApplicationForm.objects.get(kind="new").state) == ("failed", "completed")
    mirrored()


def test_starting_while_the_termination_is_decided(scene: Scene):
    order = scene.delivered()
    form = order_terminate(actor=scene.ann.actor, order_uid=order.uid, reason="slow")
    order_started(actor=SYSTEM, order_uid=order.uid, at=timezone.now())
    scene.decide(form, "refuse")
    order.refresh_from_db()
    assert (order.state, Ticket.objects.get().state) == ("completed", "done")


def test_what_cannot_be_terminated(scene: Scene, member):
    order = running(scene)
    with pytest.raises(InvalidInput):
        order_terminate(actor=scene.ann.actor, order_uid=order.uid, reason="  ")
    with pytest.raises(Forbidden):
        order_terminate(actor=scene.boss.actor, order_uid=order.uid, reason="mine")
    with pytest.raises(NotFound):
        order_terminate(actor=member("acme", "tenant_front_line").actor, order_uid=order.uid, reason="x")
    with in_tenant("globex"), pytest.raises(NotFound):
        order_terminate(actor=member("globex", "tenant_front_line").actor, order_uid=order.uid, reason="x")
    order_terminate(actor=scene.ann.actor, order_uid=order.uid, reason="done")
    with pytest.raises(Conflict):
        order_terminate(actor=scene.ann.actor, order_uid=order.uid, reason="again")
    assert ApplicationForm.objects.filter(kind="termination").count() == 1
    ended = running(scene)
    ends_now(ended, timezone.now())
    with pytest.raises(Conflict):
        order_terminate(actor=scene.ann.actor, order_uid=ended.uid, reason="late")
    assert order_get(actor=scene.ann.actor, uid=ended.uid).state == "completed"


def test_an_order_that_cannot_be_told_stops_nobody_and_is_told_again(scene: Scene, monkeypatch):
    order = scene.delivered()
    runs_now(order)

    def broken(**_: object) -> None:
        raise RuntimeError("a row of this order is damaged")

    with monkeypatch.context() as patch:
        patch.setattr(edges, "order_ended", broken)
        ends_now(order, timezone.now())
    order.refresh_from_db()
    assert (workload_of(order).state, order.ended_at) == ("finished", None)
    assert Alarm.objects.get(key=f"order-untold:{order.uid}").state == "firing"
    orders_sweep_tenant("acme")
    orders_sweep_tenant("acme")
    order.refresh_from_db()
    assert order.ended_at is not None
    assert (scene.held(), scene.charge(order).state) == ((0, 0), "closed")
    mirrored()
