"""More time for work that waits, runs or is put aside: its nodes end it later, and the scheduler reckons with that."""

from uuid import UUID

from django.db.models import Min
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.fleet.selectors import slice_list
from apps.fleet.services.slices.slice_lifecycle import slice_extend
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput
from apps.kernel.service import service
from apps.scheduling.errors import AmountsFixed
from apps.scheduling.locks import work_take
from apps.scheduling.models import Workload
from apps.scheduling.permissions import ResourcePermission as P
from apps.scheduling.services.workloads.ending import workload_changed
from apps.scheduling.services.workloads.submission.checks import run_time_of
from apps.scheduling.states import AllocationState, WorkloadState
from apps.tenancy.models import Tenant
from node_agent.protocol.fields import RUN_TIMEOUT_MAX_S

_GOES_ON = frozenset(
    {WorkloadState.PENDING, WorkloadState.PLACED, WorkloadState.RUNNING, WorkloadState.SUSPENDED}
)
LATEST_S = 30
"""So long before its end work can be given more time: its node has to hear of it before."""


@service(P.OPERATE)
def workload_extend(*, actor: Actor, tenant: Tenant, workload_uid: UUID, more_s: int) -> Workload:
    """Let direct work run `more_s` seconds longer than it may now.

    Raises Conflict where it has ended, is about to, or runs without a limit; RunTooLong beyond its queue's maximum;
    AmountsFixed for an order's work.
    """
    row = work_take(actor, tenant, workload_uid)
    if not row.is_direct:
        raise AmountsFixed(
            _("%(no)s runs as long as its order says.") % {"no": row.no},
            cure=_("Apply for a change of its order."),
        )
    return _extended(actor, row, more_s)


@service()
def order_work_extend(*, actor: Actor, tenant: Tenant, workload_uid: UUID, more_s: int) -> Workload:
    """Let an order's work run `more_s` seconds longer. Raises what `workload_extend` raises."""
    return _extended(actor, work_take(actor, tenant, workload_uid), more_s)


def _extended(actor: Actor, row: Workload, more_s: int) -> Workload:
    if row.state not in _GOES_ON:
        raise Conflict(_("%(no)s has ended.") % {"no": row.no}, cure=_("Submit it again."))
    if row.run_timeout_s is None:
        raise Conflict(_("%(no)s runs without a limit.") % {"no": row.no})
    whole_s = row.run_timeout_s + more_s
    if more_s < 1 or whole_s > RUN_TIMEOUT_MAX_S:
        raise InvalidInput(fields={"more_s": _("1 second at least, and a year in all at most.")})
    run_time_of(row.queue, whole_s)
    _not_too_late(row)
    act_subject("workload", row.uid, run_timeout_s=whole_s)
    for part in row.allocations.filter(state=AllocationState.ACTIVE).order_by("device_id"):
        slice_extend(actor=actor, slice_uid=part.slice_uid, run_timeout_s=whole_s)
    row.run_timeout_s = whole_s
    row.save(update_fields=["run_timeout_s", "updated_at"])
    workload_changed(row, actor)
    return row


def _not_too_late(row: Workload) -> None:
    """Its node ends it by its own clock: what comes after that is too late, and then nobody is to pay for more."""
    going = slice_list(workload_uids=[row.uid]).filter(ended_at=None, started_at__isnull=False)
    begun = going.order_by().aggregate(at=Min("started_at"))["at"]
    if begun is None or row.run_timeout_s is None:
        return
    if row.run_timeout_s - (timezone.now() - begun).total_seconds() < LATEST_S:
        raise Conflict(
            _("%(no)s ends within %(seconds)s seconds.") % {"no": row.no, "seconds": LATEST_S},
            cure=_("Begin another one."),
        )
