"""Every upward edge of the product, on one page.

`within(Event, handler)`: in the same transaction. `after(Event, handler)`: a hint after commit; beside each stands
the sweep (named in the comment) that finds what a lost hint left behind.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.db import OperationalError, transaction
from django.utils import timezone
from django.utils.translation import gettext_noop

from apps.approvals.events import ProcessFinished, TaskDecided
from apps.audit.services import act_record
from apps.billing.events import BalanceChanged, BillConfirmed, BillMade, BillPaid, UsageRated, UsageRefused
from apps.billing.services.compensating import preemption_compensate
from apps.billing.services.usage import usage_record
from apps.billing.types import Usage
from apps.cases.events import CaseChanged
from apps.conformance import tasks as conformance_tasks
from apps.conformance.events import RunAsked
from apps.console import tasks as console_tasks
from apps.fleet import events as fleet
from apps.identity.events import MembershipEnded
from apps.kernel.acts import Actor
from apps.kernel.planes import in_tenant
from apps.kernel.wiring import after, recorder, within
from apps.notices.push import push, push_many
from apps.notices.services import notice_send
from apps.orders import tasks as order_tasks
from apps.orders.events import OrderMade
from apps.orders.services.decisions import form_approving, form_decided
from apps.orders.services.deliveries import order_ended, order_started
from apps.orgs.services import roles_sync, roles_unbind_all
from apps.rollouts.events import BackupFailed, BackupMade, RolloutDone, RolloutFailed, RolloutMoved
from apps.rollouts.types import BACKUP_FAILED, ROLLOUT_FAILED
from apps.scheduling import tasks as scheduling_tasks
from apps.scheduling.events import (
    QueueChanged,
    WhatIfAsked,
    WhatIfEnded,
    WorkloadChanged,
    WorkloadEnded,
    WorkloadPreempted,
    WorkloadsChanged,
    WorkloadsSubmitted,
    WorkloadStarted,
)
from apps.scheduling.models import Allocation
from apps.scheduling.services.moving import move_begun, move_done, move_failed
from apps.scheduling.services.quota import quota_defaults
from apps.scheduling.services.workloads import slice_ended, slice_started
from apps.telemetry import tasks as telemetry_tasks
from apps.telemetry.events import AlarmAcknowledged, AlarmFired, AlarmResolved, AlarmTold, RulesChanged
from apps.telemetry.metrics import DEVICE_MISMATCH, NODE_LOST, ORDER_UNTOLD, USAGE_REFUSED
from apps.telemetry.selectors import alarm_list
from apps.telemetry.services.alarms import alarm_raise, alarm_resolve
from apps.telemetry.services.samples import samples_put, share_past_add
from apps.telemetry.types import Measured
from apps.tenancy.events import TenantProvisioned
from apps.tenancy.selectors import tenant_get
from portal import journal
from portal.celery import app as celery
from portal.roles import TENANT_ROLES

log = logging.getLogger(__name__)
NODE_DOUBLED = gettext_noop(
    "A second agent speaks with the credential of node %(name)s and is refused: stop one of the two."
)

# Whoever emits, a command or a request, sends its hints to the configured broker.
celery.finalize()

recorder(act_record)

# --- tenancy, identity → the tenant's roles and quota ------------------------------------------------------------


def _new_tenant(event: TenantProvisioned, actor: Actor) -> None:
    with in_tenant(event.schema):
        roles_sync(actor=actor, roles=TENANT_ROLES)
    quota_defaults(actor=actor, tenant=tenant_get(event.schema))


def _membership_ended(event: MembershipEnded, actor: Actor) -> None:
    with in_tenant(event.schema):
        roles_unbind_all(actor=actor, user_id=event.user_id)


within(TenantProvisioned, _new_tenant)
within(MembershipEnded, _membership_ended)

# --- approvals → orders ----------------------------------------------------------------------------------------


def _form_in_approval(event: TaskDecided, actor: Actor) -> None:
    if event.is_first and event.subject_kind == "form":
        form_approving(actor=actor, form_uid=event.subject_uid)


def _form_decided(event: ProcessFinished, actor: Actor) -> None:
    if event.subject_kind == "form":
        form_decided(actor=actor, form_uid=event.subject_uid, outcome=event.outcome)


within(TaskDecided, _form_in_approval)
within(ProcessFinished, _form_decided)
# Sweep: orders_sweep.
after(OrderMade, lambda event: order_tasks.order_deliver.delay(event.schema, str(event.order_uid)))

# --- one order apart from the others ----------------------------------------------------------------------------


@contextmanager
def _apart(event: WorkloadStarted | WorkloadEnded, actor: Actor) -> Iterator[None]:
    """What cannot be told to an order is undone by itself: its node goes on reporting, the pool goes on scheduling.

    An alarm says so and the orders' sweep tells it again. What the database gave up is not caught: the whole call
    is tried again.
    """
    try:
        with transaction.atomic():
            yield
    except OperationalError:
        raise
    except Exception:
        log.exception("an order was not told: %s", event)
        alarm_raise(
            actor=actor,
            key=f"order-untold:{event.order_uid}",
            rule="order-untold",
            level="major",
            msgid=ORDER_UNTOLD,
            params={"order": str(event.order_uid), "tenant": event.schema},
            source="platform",
            subject_kind="order",
            subject_id=str(event.order_uid),
        )


# --- scheduling → orders ---------------------------------------------------------------------------------------


def _order_started(event: WorkloadStarted, actor: Actor) -> None:
    if event.order_uid is None:
        return
    with _apart(event, actor), in_tenant(event.schema):
        order_started(actor=actor, order_uid=event.order_uid, at=event.at)


def _order_ended(event: WorkloadEnded, actor: Actor) -> None:
    if event.order_uid is None:
        return
    with _apart(event, actor), in_tenant(event.schema):
        order_ended(
            actor=actor,
            order_uid=event.order_uid,
            at=event.at,
            failed=event.failed,
            reason_code=event.reason_code,
            reason=event.reason,
        )


within(WorkloadStarted, _order_started)
within(WorkloadEnded, _order_ended)


def _preempted(event: WorkloadPreempted, actor: Actor) -> None:
    preemption_compensate(
        actor=actor, workload_uid=event.workload_uid, user_id=event.user_id, card_seconds=event.card_seconds
    )


within(WorkloadPreempted, _preempted)
# What the scheduler has to know it hears from the database itself: see migration scheduling.0005.

# --- fleet → scheduling, billing -------------------------------------------------------------------------------


def _slice_started(event: fleet.SliceStarted, actor: Actor) -> None:
    slice_started(actor=actor, workload_uid=event.workload_uid, at=event.at)


def _slice_ended(event: fleet.SliceEnded, actor: Actor) -> None:
    slice_ended(
        actor=actor,
        workload_uid=event.workload_uid,
        slice_uid=event.slice_uid,
        at=event.at,
        failed=event.failed,
        reason_code=event.reason_code,
        reason=event.reason,
        goes_on=event.goes_on,
        requeue=event.requeue,
    )


def _move_begun(event: fleet.SliceMoveBegun, actor: Actor) -> None:
    move_begun(
        actor=actor,
        workload_uid=UUID(event.workload_uid),
        source_uid=event.source_uid,
        target_uid=event.target_uid,
        device_uid=event.device_uid,
    )


def _moved(event: fleet.SliceMoved, actor: Actor) -> None:
    move_done(
        actor=actor,
        workload_uid=UUID(event.workload_uid),
        source_uid=event.source_uid,
        target_uid=event.target_uid,
    )


def _move_failed(event: fleet.SliceMoveFailed, actor: Actor) -> None:
    move_failed(actor=actor, workload_uid=UUID(event.workload_uid), source_uid=event.source_uid)


def _usage_kept(event: fleet.UsageObserved, actor: Actor) -> None:
    reports = [
        Usage.read(
            {"slice_uid": event.slice_uid, **report},
            node_uid=event.node_uid,
            device_uid=event.device_uid,
            report_id=event.report_id,
        )
        for report in event.reports
    ]
    usage_record(actor=actor, workload_uid=event.workload_uid, reports=reports)


within(fleet.SliceStarted, _slice_started)
within(fleet.SliceEnded, _slice_ended)
within(fleet.SliceMoveBegun, _move_begun)
within(fleet.SliceMoved, _moved)
within(fleet.SliceMoveFailed, _move_failed)
within(fleet.UsageObserved, _usage_kept)

# --- alarms ----------------------------------------------------------------------------------------------------


def _node_lost(event: fleet.NodeLost, actor: Actor) -> None:
    alarm_raise(
        actor=actor,
        key=f"node-lost:{event.node_uid}",
        rule="node-lost",
        level="critical",
        msgid=NODE_LOST,
        params={"name": event.name},
        source="agent",
        subject_kind="node",
        subject_id=event.node_uid,
    )


def _node_answered_for(event: fleet.NodeReturned | fleet.NodeRemoved, actor: Actor) -> None:
    alarm_resolve(actor=actor, key=f"node-lost:{event.node_uid}")


def _device_mismatch(event: fleet.DeviceMismatch, actor: Actor) -> None:
    alarm_raise(
        actor=actor,
        key=f"device-memory:{event.device_uid}",
        rule="device-mismatch",
        level="major",
        msgid=DEVICE_MISMATCH,
        params={"device": event.device_uid, "node": event.node, "old": event.old_mib, "new": event.new_mib},
        source="agent",
        subject_kind="device",
        subject_id=event.device_uid,
    )


def _device_accepted(event: fleet.DeviceAccepted, actor: Actor) -> None:
    alarm_resolve(actor=actor, key=f"device-memory:{event.device_uid}")


def _usage_refused(event: UsageRefused, actor: Actor) -> None:
    alarm_raise(
        actor=actor,
        key=f"usage-refused:{event.slice_uid}",
        rule="usage-refused",
        level="major",
        msgid=USAGE_REFUSED,
        params={"slice": event.slice_uid, "seq": event.seq, "reason": event.reason_code},
        source="agent",
        subject_kind="slice",
        subject_id=event.slice_uid,
    )


def _usage_doubted(event: fleet.UsageDoubted, actor: Actor) -> None:
    alarm_raise(
        actor=actor,
        key=f"usage-doubted:{event.slice_uid}",
        rule="usage-doubted",
        level="major",
        msgid=USAGE_REFUSED,
        params={"slice": str(event.slice_uid), "seq": event.seq, "reason": event.reason},
        source="agent",
        subject_kind="slice",
        subject_id=str(event.slice_uid),
    )


def _node_doubled(event: fleet.NodeDoubled, actor: Actor) -> None:
    key = f"node-doubled:{event.node_uid}"
    if event.is_over:
        alarm_resolve(actor=actor, key=key)
        return
    alarm_raise(
        actor=actor,
        key=key,
        level="critical",
        msgid=NODE_DOUBLED,
        params={"name": event.name},
        source="agent",
        subject_kind="node",
        subject_id=event.node_uid,
    )


within(fleet.NodeDoubled, _node_doubled)
within(fleet.UsageDoubted, _usage_doubted)
within(fleet.NodeLost, _node_lost)
within(fleet.NodeReturned, _node_answered_for)
within(fleet.NodeRemoved, _node_answered_for)
within(fleet.DeviceMismatch, _device_mismatch)
within(fleet.DeviceAccepted, _device_accepted)
within(UsageRefused, _usage_refused)


def _alarm_message(event: AlarmTold, actor: Actor) -> None:
    notice_send(actor=actor, user_ids=event.user_ids, msgid=event.msgid, params=event.params, link=event.link)


within(AlarmTold, _alarm_message)
# Sweep: deliveries_send.
after(AlarmFired, lambda event: telemetry_tasks.deliveries_send.delay())

# --- roll-outs → alarms ------------------------------------------------------------------------------------------


def _rollout_failed(event: RolloutFailed, actor: Actor) -> None:
    alarm_raise(
        actor=actor,
        key=f"rollout-failed:{event.rollout_uid}",
        level="major",
        msgid=ROLLOUT_FAILED,
        params={"target": event.target, "what": event.what, "reason": event.reason},
        source="platform",
        subject_kind="rollout",
        subject_id=event.rollout_uid,
    )


def _rollout_done(event: RolloutDone, actor: Actor) -> None:
    for alarm in alarm_list(state="open").filter(key__startswith="rollout-failed:"):
        alarm_resolve(actor=actor, key=alarm.key)


within(RolloutFailed, _rollout_failed)
within(RolloutDone, _rollout_done)
within(RolloutMoved, lambda event, actor: push("components"))


def _backup_failed(event: BackupFailed, actor: Actor) -> None:
    alarm_raise(
        actor=actor,
        key="backup-failed",
        level="major",
        msgid=BACKUP_FAILED,
        params={"host": event.host, "reason": event.reason},
        source="platform",
        subject_kind="backup",
        subject_id=event.host,
    )


within(BackupFailed, _backup_failed)
within(BackupMade, lambda event, actor: alarm_resolve(actor=actor, key="backup-failed"))

# --- what-ifs → a worker ---------------------------------------------------------------------------------------

# Sweep: what_ifs_sweep.
after(WhatIfAsked, lambda event: scheduling_tasks.what_if_run.delay(str(event.uid)))
within(WhatIfEnded, lambda event, actor: push("what-ifs"))

# --- open pages ------------------------------------------------------------------------------------------------


def _workload_pages(event: WorkloadChanged, actor: Actor) -> None:
    push(f"workload.{event.workload_uid}")
    push(f"tenant.{event.schema}.resources")
    push("pool")


def _workloads_pages(event: WorkloadsChanged, actor: Actor) -> None:
    schemas = {schema for schema, _uid in event.workloads}
    push_many(
        [
            *(f"workload.{uid}" for _schema, uid in event.workloads),
            *(f"tenant.{schema}.resources" for schema in schemas),
            "pool",
        ]
    )


within(WorkloadChanged, _workload_pages)
within(WorkloadsChanged, _workloads_pages)
within(WorkloadsSubmitted, lambda event, actor: push_many([f"tenant.{event.schema}.resources", "pool"]))
within(QueueChanged, lambda event, actor: push("pool"))
within(fleet.LogGrew, lambda event, actor: push(f"log.{event.workload_uid}"))


def _measured(event: fleet.SliceMeasured, actor: Actor) -> None:
    figures = {"delivered_percent": event.delivered_percent, "memory_used_mib": event.memory_used_mib}
    samples = [
        Measured(series, str(event.workload_uid), event.at, float(value))
        for series, value in figures.items()
        if value is not None
    ]
    samples_put(actor=actor, samples=samples)
    push(f"workload.{event.workload_uid}", "measured")


within(fleet.SliceMeasured, _measured)
within(UsageRated, lambda event, actor: push(f"tenant.{event.tenant}.billing"))
within(BillMade, lambda event, actor: push(f"tenant.{event.tenant}.billing"))
within(BillConfirmed, lambda event, actor: push(f"tenant.{event.tenant}.billing"))
within(BillPaid, lambda event, actor: push(f"tenant.{event.tenant}.billing"))
within(BalanceChanged, lambda event, actor: push(f"tenant.{event.tenant}.billing"))
within(CaseChanged, lambda event, actor: push("cases", "changed", kind=event.kind))
within(AlarmFired, lambda event, actor: push("alarms"))
within(AlarmAcknowledged, lambda event, actor: push("alarms"))
within(AlarmResolved, lambda event, actor: push("alarms"))

# --- the pool's log --------------------------------------------------------------------------------------------

recorder(journal.act_keep)
for kind in journal.LINES:
    within(kind, journal.keep)

# --- fleet → telemetry: what a share held before it was resized --------------------------------------------------


def _share_resized(event: fleet.SliceResized, actor: Actor) -> None:
    """The allocation still says what was held: scheduling writes the new amounts after the fleet has taken them."""
    part = Allocation.objects.filter(slice_uid=event.slice_uid).first()
    if part is not None:
        share_past_add(
            actor=actor,
            slice_uid=part.slice_uid,
            compute_percent=part.compute_percent,
            memory_mib=part.memory_mib,
            until_at=timezone.now(),
        )


within(fleet.SliceResized, _share_resized)

# --- rules → the clockwork of the desk --------------------------------------------------------------------------

# Sweep: watch, every few seconds.
after(RulesChanged, lambda event: console_tasks.watch.delay())

# --- acceptance test asked for → a worker ------------------------------------------------------------------------

# Sweep: runs_sweep.
after(RunAsked, lambda event: conformance_tasks.run_carry_out.delay(event.run_uid))
