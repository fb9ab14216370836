"""Wanting a slice, and wanting it no more."""

from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import ValidationError

from apps.fleet.models import Device, Slice
from apps.fleet.services.ending import slices_end_now
from apps.fleet.services.holds import device_hold
from apps.fleet.states import Desired, SliceState
from apps.kernel.acts import Actor, act_subject
from apps.kernel.errors import InvalidInput, NotFound
from apps.kernel.service import service
from apps.tenancy.models import Tenant
from node_agent.protocol.slices import WorkSpec


@service(recorded=False)
def slice_desire(
    *,
    actor: Actor,
    tenant: Tenant,
    workload_uid: UUID | str,
    device_uid: str,
    compute_percent: int,
    memory_mib: int,
    work: dict[str, Any],
    run_timeout_s: int | None,
    exclusive: bool = False,
) -> Slice:
    """Hold the share and want a slice on the device running `work` ({"argv", "env", "grace_s"?}).

    The node is told at its next sync. Raises DeviceUnavailable when there is no room, InvalidInput for work
    that no node could run. Authority is the caller's: the scheduler acts on what a tenant ordered.
    """
    spec = work_check(work, run_timeout_s)
    device = Device.objects.filter(uid=device_uid).first()
    if device is None:
        raise NotFound(_("There is no device %(device)s.") % {"device": device_uid})
    device_hold(
        actor=actor,
        device_uid=device_uid,
        compute_percent=compute_percent,
        memory_mib=memory_mib,
        exclusive=exclusive,
    )
    row = Slice.plain.create(
        tenant=tenant,
        workload_uid=workload_uid,
        device=device,
        node_id=device.node_id,
        compute_percent=compute_percent,
        memory_mib=memory_mib,
        is_exclusive=exclusive,
        work=spec.model_dump(mode="json", exclude={"run_timeout_s"}),
        run_timeout_s=run_timeout_s,
    )
    act_subject("slice", row.uid, device=device_uid, workload=workload_uid)
    return row


def work_check(work: dict[str, Any], run_timeout_s: int | None) -> WorkSpec:
    """The work as a node would take it; InvalidInput naming what is wrong."""
    try:
        return WorkSpec.model_validate({**work, "run_timeout_s": run_timeout_s})
    except (ValidationError, TypeError) as error:
        first = error.errors()[0] if isinstance(error, ValidationError) else {"loc": (), "msg": str(error)}
        place = ".".join(str(part) for part in first["loc"]) or "work"
        raise InvalidInput(_("No node could run this work."), fields={place: first["msg"]}) from error


@service(recorded=False)
def slice_stop(*, actor: Actor, slice_uid: UUID | str, reason: str) -> Slice:
    """Want a slice stopped. One no node was ever told of is released at once; others end when the node says so,
    or are lost when it stays away. Stopping what is stopped or ended changes nothing."""
    row = Slice.plain.select_for_update(no_key=True).filter(uid=slice_uid).first()
    if row is None:
        raise NotFound(_("There is no such slice."))
    act_subject("slice", row.uid, reason=reason)
    if row.is_final or row.desired == Desired.STOPPED:
        return row
    now = timezone.now()
    row.desired, row.stop_reason, row.generation = Desired.STOPPED, reason[:500], row.generation + 1
    changes = {"desired": row.desired, "stop_reason": row.stop_reason, "generation": row.generation}
    Slice.plain.filter(pk=row.pk).update(**changes, updated_at=now)
    if row.told_at is None:
        slices_end_now([row], SliceState.RELEASED, actor=actor, now=now, reason_code="stopped", reason=reason)
    return row
