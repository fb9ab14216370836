"""What orders hear: of the approval of their form, and of the work that delivers them; and who pays for losses."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import OperationalError, transaction

from apps.approvals.events import ProcessFinished, TaskDecided
from apps.billing.services.compensation import preemption_compensate
from apps.kernel.actor import Actor
from apps.kernel.planes import in_tenant
from apps.orders.services.approval_outcomes import form_approving, form_decided
from apps.orders.services.deliveries import order_ended, order_started
from apps.scheduling.events import WorkloadEnded, WorkloadPreempted, WorkloadStarted
from apps.storage.events import OrderedVolumeEnded
from apps.telemetry.alarm_metrics import ORDER_UNTOLD
from portal.subscribers.alarms import raised

log = logging.getLogger(__name__)


def form_in_approval(event: TaskDecided, actor: Actor) -> None:
    """With the first decision a form is in approval."""
    if event.is_first and event.subject_kind == "form":
        form_approving(actor=actor, form_uid=event.subject_uid)


def form_is_decided(event: ProcessFinished, actor: Actor) -> None:
    """A form goes on as its process has ended."""
    if event.subject_kind == "form":
        form_decided(actor=actor, form_uid=event.subject_uid, outcome=event.outcome)


def work_started(event: WorkloadStarted, actor: Actor) -> None:
    """The order's resource is there."""
    if event.order_uid is None:
        return
    with _apart(event, actor), in_tenant(event.schema):
        order_started(actor=actor, order_uid=event.order_uid, at=event.at)


def work_ended(event: WorkloadEnded, actor: Actor) -> None:
    """The order's resource is gone."""
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


def volume_ended(event: OrderedVolumeEnded, actor: Actor) -> None:
    """The order's volume is kept to be read only. What ends it, ends the order in the same transaction."""
    order_ended(
        actor=actor,
        order_uid=event.order_uid,
        at=event.at,
        reason_code=event.reason_code,
        reason=event.reason,
    )


def work_preempted(event: WorkloadPreempted, actor: Actor) -> None:
    """What preempted work lost is made good with a coupon."""
    preemption_compensate(
        actor=actor,
        workload_uid=event.workload_uid,
        user_id=event.user_id,
        card_seconds=event.card_seconds,
        times=event.times,
    )


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
        params = {"order": str(event.order_uid), "tenant": event.schema}
        raised(actor, "order-untold", "order", event.order_uid, "major", ORDER_UNTOLD, params, is_rule=True)
