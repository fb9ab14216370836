"""What a user may hold: the default, special specs, resource tickets that are decided in the inbox; queues of resource
groups."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.approvals.models import HumanTask
from apps.approvals.services import task_decide
from apps.cases.models import Case
from apps.catalog.errors import Undecidable
from apps.fleet.services import groups
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound, QuotaExceeded
from apps.kernel.planes import in_tenant
from apps.notices.models import Message
from apps.scheduling.errors import QueueInUse
from apps.scheduling.models import Allocation, Queue, ResourceTicket, SpecialSpec, Workload
from apps.scheduling.selectors.entitlements.limits import limits_get
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.entitlements.access_rules import (
    default_spec_set,
    special_act,
    special_change,
    special_make,
    specials_make,
)
from apps.scheduling.services.entitlements.resource_tickets import (
    resource_ticket_act,
    resource_ticket_ask,
    resource_ticket_withdraw,
)
from apps.scheduling.services.queues.queue_settings import queue_change, queue_make, queue_remove
from apps.scheduling.services.workload_control import workload_resume, workload_scale, workload_suspend
from apps.scheduling.services.workloads.resizing.resizing import workload_resize
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.types import WorkloadRequest

pytestmark = pytest.mark.django_db
JOB = {"name": "job", "argv": ("true",), "compute_percent": 30, "memory_mib": 512}
HOUR = timedelta(hours=1)


@pytest.fixture
def admin(operator):
    """A cluster administrator who has entered acme."""
    return operator("cluster_administrator", schema="acme")


def ask(person, tenant, **more):
    return workload_request(actor=person.actor, tenant=tenant, asked=WorkloadRequest(**{**JOB, **more}))


def apply(person, tenant, *, begin=-HOUR, end=HOUR, **more):
    now = timezone.now()
    given = {"compute_percent": 90, **more}
    with in_tenant(tenant.schema_name):
        return resource_ticket_ask(
            actor=person.actor,
            tenant=tenant,
            reason="a paper",
            from_at=now + begin,
            until_at=now + end,
            **given,
        )


def decide(admin, ticket, decision="approve", comment=""):
    with in_tenant(ticket.tenant.schema_name):
        task = HumanTask.objects.get(instance__subject_uid=ticket.uid)
        task_decide(actor=admin.actor, task_uid=task.uid, decision=decision, comment=comment)
    ticket.refresh_from_db()


def most(tenant, person, at=None, item="compute_percent"):
    limit = limits_get(tenant, person.user.pk, at or timezone.now()).get(item)
    return limit and (limit.most, str(limit.tier))


# --- which tier ------------------------------------------------------------------------------------------------


@pytest.mark.req("PLAT-CLU-31", "PLAT-CLU-33", "PLAT-CLU-35")
def test_a_limit_comes_from_the_tier_that_goes_before_the_others(alice, acme, globex, member, admin):
    now = timezone.now()
    begin_end = {"from_at": now - HOUR, "until_at": now + HOUR}
    assert most(acme, alice) is None
    default_spec_set(actor=SYSTEM, compute_percent=60, instances=2)
    assert most(acme, alice) == (60, "default")
    special_make(actor=SYSTEM, tenant=acme, name="lab", compute_percent=40, **begin_end)
    assert most(acme, alice) == (40, "special_group")
    special_make(actor=SYSTEM, tenant=acme, name="own", user=alice.user, compute_percent=70, **begin_end)
    assert most(acme, alice) == (70, "special_user")
    assert most(acme, alice, item="instances") == (2, "default")
    ticket = apply(alice, acme, compute_percent=90)
    assert most(acme, alice) == (70, "special_user")
    decide(admin, ticket)
    assert most(acme, alice) == (90, "ticket")
    assert most(acme, alice, now + HOUR + timedelta(minutes=1)) == (60, "default")
    assert most(acme, alice, now - HOUR - timedelta(minutes=1)) == (60, "default")
    assert most(acme, member("acme", "tenant_front_line")) == (40, "special_group")
    assert most(globex, alice) == (60, "default")


@pytest.mark.req("PLAT-CLU-32")
def test_a_ticket_raises_a_limit_and_never_lowers_it(alice, acme, admin):
    default_spec_set(actor=SYSTEM, compute_percent=60)
    decide(admin, apply(alice, acme, compute_percent=50, instances=1))
    assert most(acme, alice) == (60, "default")
    assert most(acme, alice, item="instances") is None


# --- what it does ----------------------------------------------------------------------------------------------


@pytest.mark.req("PLAT-CLU-33", "PLAT-CLU-34")
def test_the_default_bounds_everybody_and_says_so(alice, acme):
    default_spec_set(actor=SYSTEM, compute_percent=60, memory_mib=2048)
    ask(alice, acme, shares=2)
    with pytest.raises(
        QuotaExceeded, match=r"hold 60 % of compute, by default spec: 60 % are used, 30 % more"
    ) as told:
        ask(alice, acme)
    assert "resource ticket" in str(told.value.cure)
    default_spec_set(actor=SYSTEM, compute_percent=90)
    assert ask(alice, acme)


@pytest.mark.req("PLAT-CLU-31")
def test_resizing_scaling_and_resuming_keep_to_it_too(alice, acme):
    row = ask(alice, acme, shares=2, min_shares=1)
    default_spec_set(actor=SYSTEM, compute_percent=70)
    who = {"actor": alice.actor, "tenant": acme, "workload_uid": row.uid}
    with pytest.raises(QuotaExceeded, match="0 % are used, 80 % more"):
        workload_resize(**who, compute_percent=40)
    with pytest.raises(QuotaExceeded, match="0 % are used, 90 % more"):
        workload_scale(**who, shares=3)
    default_spec_set(actor=SYSTEM, compute_percent=50)
    assert workload_resize(**who, compute_percent=28).compute_percent == 28, "less is never too much"
    workload_suspend(**who)
    with pytest.raises(QuotaExceeded, match="0 % are used, 56 % more"):
        workload_resume(**who)
    ask(alice, acme, compute_percent=50)


@pytest.mark.req("PLAT-CLU-37", "PLAT-CLU-38", "PLAT-CLU-39", "PLAT-CLU-40")
def test_a_special_spec_for_several_users_is_changed_disabled_and_deleted(alice, acme, member):
    bob, now = member("acme", "tenant_front_line"), timezone.now()
    span = {"from_at": now - HOUR, "until_at": now + HOUR}
    given = {"name": "x", "instances": 1, **span}
    made = specials_make(actor=SYSTEM, tenant=acme, users=[alice.user, bob.user], given=given)
    assert [row.user for row in made] == [alice.user, bob.user]
    ask(alice, acme)
    with pytest.raises(QuotaExceeded):
        ask(alice, acme)
    special_change(actor=SYSTEM, pk=made[0].pk, name="y", instances=2, **span)
    ask(alice, acme)
    special_act(actor=SYSTEM, pk=made[0].pk, act="disable")
    assert most(acme, alice, item="instances") is None
    special_act(actor=SYSTEM, pk=made[1].pk, act="delete")
    assert [row.name for row in SpecialSpec.plain.all()] == ["y"]
    with pytest.raises(NotFound):
        special_change(actor=SYSTEM, pk=made[1].pk, name="y", instances=2, **span)


def test_a_special_spec_is_for_members_of_its_tenant(alice, globex):
    now = timezone.now()
    with pytest.raises(InvalidInput, match="no member"):
        special_make(
            actor=SYSTEM,
            tenant=globex,
            name="x",
            user=alice.user,
            instances=1,
            from_at=now,
            until_at=now + HOUR,
        )
    assert not SpecialSpec.plain.exists()


# --- resource tickets ------------------------------------------------------------------------------------------


@pytest.mark.req("PLAT-CLU-32", "PLAT-CLU-42", "PLAT-CLU-45")
def test_a_ticket_is_decided_in_the_inbox_and_holds_within_its_period(alice, acme, admin):
    default_spec_set(actor=SYSTEM, compute_percent=30)
    ticket = apply(alice, acme)
    case = Case.objects.of(acme).get(kind="task")
    assert (case.no, case.is_open, "cluster_administrator" in case.roles) == (ticket.no, True, True)
    ask(alice, acme)
    with pytest.raises(QuotaExceeded, match="by default spec"):
        ask(alice, acme)
    decide(admin, ticket, comment="fine")
    assert (ticket.state, ticket.decided_by, ticket.comment) == ("approved", admin.user, "fine")
    ask(alice, acme)
    ask(alice, acme)
    with pytest.raises(QuotaExceeded, match=f"by resource ticket {ticket.no} until .*: 90 % are used"):
        ask(alice, acme)
    told = Message.objects.filter(user=alice.user)
    assert [message.params["no"] for message in told] == [ticket.no]
    ResourceTicket.plain.update(until_at=timezone.now() - timedelta(seconds=1))
    with pytest.raises(QuotaExceeded, match="by default spec: 90 % are used"):
        ask(alice, acme)
    assert Workload.plain.filter(ended_at=None).count() == 3, "what there is goes on"


@pytest.mark.req("PLAT-CLU-32")
def test_a_refused_or_withdrawn_ticket_changes_nothing(alice, acme, admin):
    default_spec_set(actor=SYSTEM, compute_percent=30)
    refused, taken_back = apply(alice, acme), apply(alice, acme)
    decide(admin, refused, "refuse", "no room")
    assert (refused.state, refused.comment) == ("refused", "no room")
    with in_tenant("acme"):
        resource_ticket_withdraw(actor=alice.actor, tenant=acme, uid=taken_back.uid)
        task = HumanTask.objects.get(instance__subject_uid=taken_back.uid)
        with pytest.raises(Conflict, match="withdrawn"):
            task_decide(actor=admin.actor, task_uid=task.uid, decision="approve")
        with pytest.raises(Conflict):
            resource_ticket_withdraw(actor=alice.actor, tenant=acme, uid=refused.uid)
    assert most(acme, alice) == (30, "default")


@pytest.mark.req("PLAT-CLU-43", "PLAT-CLU-44")
def test_a_ticket_in_force_is_disabled_enabled_and_deleted(alice, acme, admin):
    default_spec_set(actor=SYSTEM, compute_percent=30)
    ticket = apply(alice, acme)
    with pytest.raises(Conflict, match="waits for a decision"):
        resource_ticket_act(actor=admin.actor, uid=ticket.uid, act="delete")
    decide(admin, ticket)
    for act, limit in (("disable", 30), ("enable", 90), ("disable", 30), ("delete", 30)):
        resource_ticket_act(actor=admin.actor, uid=ticket.uid, act=act)
        assert most(acme, alice)[0] == limit, act
    with pytest.raises(Conflict):
        resource_ticket_act(actor=admin.actor, uid=ticket.uid, act="enable")
    with pytest.raises(Forbidden):
        resource_ticket_act(actor=alice.actor, uid=ticket.uid, act="enable")


@pytest.mark.req("PLAT-CLU-42")
def test_who_manages_the_organization_asks_for_all_its_users(alice, acme, globex, member, admin):
    default_spec_set(actor=SYSTEM, compute_percent=30)
    with pytest.raises(Forbidden):
        apply(alice, acme, for_all=True)
    ticket = apply(member("acme", "tenant_operations_manager"), acme, for_all=True)
    decide(admin, ticket)
    assert most(acme, alice) == (90, "ticket")
    assert most(globex, member("globex", "tenant_front_line")) == (30, "default")


@pytest.mark.req("PLAT-CLU-32")
@pytest.mark.parametrize(
    "wrong",
    [{"compute_percent": None}, {"end": -2 * HOUR}, {"begin": -3 * HOUR, "end": -HOUR}],
)
def test_a_ticket_that_could_give_nothing_is_refused(alice, acme, wrong):
    with pytest.raises(InvalidInput):
        apply(alice, acme, **wrong)
    assert not ResourceTicket.plain.exists()


def test_nobody_decides_on_his_own_ticket(acme, alice, operator):
    both = operator("cluster_administrator", schema="acme")
    with pytest.raises(Undecidable, match="Administrator decides"):
        apply(both, acme)
    assert not ResourceTicket.plain.exists()
    operator("operations_manager")
    ticket = apply(both, acme)
    with pytest.raises(Forbidden, match="own application"):
        decide(both, ticket)
    assert ticket.state == "waiting"


# --- queues of resource groups ---------------------------------------------------------------------------------


@pytest.mark.req("PLAT-AICFG-23", "PLAT-CLU-9")
def test_a_resource_group_has_a_queue_of_its_name_as_long_as_it_is_there(alice, acme):
    groups.group_make(actor=SYSTEM, code="labs", name_en="Labs", name_zh="实验室")
    queue = Queue.objects.get(code="labs")
    assert (queue.resource_group, queue.name_zh, queue.state) == ("labs", "实验室", "up")
    with pytest.raises(Conflict, match="is that of resource group"):
        queue_change(actor=SYSTEM, queue=queue, changes={"resource_group": ""})
    with pytest.raises(QueueInUse, match="is that of resource group"):
        queue_remove(actor=SYSTEM, queue=queue)
    groups.group_grant(actor=SYSTEM, code="labs", tenant=acme)
    groups.group_devices_set(actor=SYSTEM, code="labs", devices=["n1-d0"])
    ask(alice, acme, queue="labs")
    with pytest.raises(QueueInUse, match="1 workloads"):
        groups.group_remove(actor=SYSTEM, code="labs")
    Workload.plain.update(state="finished", ended_at=timezone.now())
    groups.group_remove(actor=SYSTEM, code="labs")
    assert not Queue.objects.filter(code="labs", retired_at=None).exists()


@pytest.mark.req("PLAT-AICFG-23")
def test_a_group_takes_no_code_of_another_queue(alice):
    queue_make(actor=SYSTEM, code="night", name_en="Night", name_zh="夜间", changes={})
    for code in ("night", "default"):
        with pytest.raises(Conflict, match="There is a queue"):
            groups.group_make(actor=SYSTEM, code=code, name_en="x", name_zh="x")
    assert not Queue.objects.exclude(resource_group="").exists()


@pytest.mark.req("PLAT-CLU-35", "PLAT-CLU-43")
def test_what_waits_when_its_limit_ends_is_refused_at_its_start_and_what_runs_goes_on(alice, acme, admin):
    default_spec_set(actor=SYSTEM, compute_percent=30)
    ticket = apply(alice, acme)
    decide(admin, ticket)
    runs = ask(alice, acme)
    cycle_run(actor=SYSTEM)
    waits = ask(alice, acme)
    resource_ticket_act(actor=admin.actor, uid=ticket.uid, act="disable")
    cycle_run(actor=SYSTEM)
    runs.refresh_from_db()
    waits.refresh_from_db()
    assert (runs.state, waits.state, waits.reason_code) == ("placed", "failed", "quota_exceeded")
    assert "by default spec: 30 % are used, 30 % more" in waits.reason["text"]
    Workload.plain.filter(pk=runs.pk).update(state="pending", attempt=2)
    Allocation.objects.all().delete()
    default_spec_set(actor=SYSTEM, compute_percent=10)
    cycle_run(actor=SYSTEM)
    runs.refresh_from_db()
    assert runs.state == "placed", "what has begun once is no new start"
