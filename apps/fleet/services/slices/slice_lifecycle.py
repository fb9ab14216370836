"""Wanting a slice, wanting another share of its device, and wanting it no more."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import ValidationError

from apps.fleet.events import SliceResized
from apps.fleet.models import Device, Slice
from apps.fleet.services.device_capacity import device_hold, hold_resize
from apps.fleet.services.slices.slice_termination import slices_end_now
from apps.fleet.session_keys import key_new, seal
from apps.fleet.states import MOVING, Desired, SliceKind, SliceState
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.kernel.events import emit
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
    kind: str = SliceKind.PROGRAM,
    idle_timeout_s: int | None = None,
    driver: str = "",
    resource_group: str = "",
    requeue_on_loss: bool = False,
    share: int = 0,
) -> Slice:
    """Hold the share and want a slice on the device: a program of `work` ({"argv", "env", "grace_s"?}), or a
    session (`work` {"env"?, "grace_s"?}) with a key of its own.

    The node is told at its next sync. `resource_group` must be the device's; `driver` names the slice driver asked
    for ("": any); `requeue_on_loss` gives it up as soon as its node is lost. `share` is which of its
    workload's it is. Raises DeviceUnavailable when there is no room, InvalidInput for work that no
    node could run. Authority is the caller's: the scheduler acts on what a tenant ordered.
    """
    spec = work_check({**work, "kind": kind, "idle_timeout_s": idle_timeout_s}, run_timeout_s)
    device = device_share_take(actor, device_uid, compute_percent, memory_mib, exclusive, resource_group)
    row = Slice.plain.create(
        tenant=tenant,
        workload_uid=workload_uid,
        device=device,
        node_id=device.node_id,
        compute_percent=compute_percent,
        memory_mib=memory_mib,
        is_exclusive=exclusive,
        kind=spec.kind,
        driver=driver,
        group_code=resource_group,
        is_requeued=requeue_on_loss,
        session_key=seal(key_new()) if spec.kind == SliceKind.SESSION else "",
        work=spec.model_dump(mode="json", exclude={"kind", "run_timeout_s", "idle_timeout_s"}),
        run_timeout_s=run_timeout_s,
        idle_timeout_s=idle_timeout_s,
        share=share,
    )
    act_subject("slice", row.uid, device=device_uid, workload=workload_uid)
    return row


def device_share_take(
    actor: Actor, device_uid: str, compute_percent: int, memory_mib: int, exclusive: bool, resource_group: str
) -> Device:
    """The device, once the share of it is held."""
    device = Device.objects.filter(uid=device_uid).first()
    if device is None:
        raise NotFound(_("There is no device %(device)s.") % {"device": device_uid})
    device_hold(
        actor=actor,
        device_uid=device_uid,
        compute_percent=compute_percent,
        memory_mib=memory_mib,
        exclusive=exclusive,
        resource_group=resource_group,
    )
    return device


def work_check(work: dict[str, Any], run_timeout_s: int | None) -> WorkSpec:
    """The work as a node would take it; InvalidInput naming what is wrong."""
    try:
        return WorkSpec.model_validate({**work, "run_timeout_s": run_timeout_s})
    except (ValidationError, TypeError) as error:
        first = error.errors()[0] if isinstance(error, ValidationError) else {"loc": (), "msg": str(error)}
        place = ".".join(str(part) for part in first["loc"]) or "work"
        text = str(first["msg"]).removeprefix("Value error, ")
        raise InvalidInput(_("No node could run this work."), fields={place: text}) from error


@service(recorded=False)
def slice_resize(*, actor: Actor, slice_uid: UUID | str, compute_percent: int, memory_mib: int) -> Slice:
    """Give a slice another share of its device while it runs (POOL-12.2): the work is not touched. What it grows by
    is held at once; what it gives up is held on until its node says that it has been taken away (`SliceShrunk`).

    Raises DeviceUnavailable, with the figures, when it cannot grow so far; Conflict for a slice that has ended, is
    held as a whole, is on the move or has more memory in use.
    """
    row = _slice_locked(slice_uid)
    act_subject("slice", row.uid, compute_percent=compute_percent, memory_mib=memory_mib)
    _resizable_check(row)
    if (row.compute_percent, row.memory_mib) == (compute_percent, memory_mib):
        return row
    _use_check(row, memory_mib)
    hold_resize(row, compute_percent, memory_mib)
    row.peak_percent = max(row.peak_percent, row.compute_percent)
    row.peak_mib = max(row.peak_mib, row.memory_mib)
    row.compute_percent, row.memory_mib = compute_percent, memory_mib
    row.generation += 1
    row.save(update_fields=[*_SHARE_FIELDS, "generation", "updated_at"])
    emit(
        SliceResized(
            slice_uid=str(row.uid),
            workload_uid=str(row.workload_uid),
            compute_percent=compute_percent,
            memory_mib=memory_mib,
        ),
        actor=actor,
    )
    return row


@service(recorded=False)
def slice_extend(*, actor: Actor, slice_uid: UUID | str, run_timeout_s: int) -> Slice:
    """Let a slice run so many seconds in all from now on: its node ends it then, and not before.

    Raises Conflict for a slice that has ended, or is on the move.
    """
    row = _slice_locked(slice_uid)
    act_subject("slice", row.uid, run_timeout_s=run_timeout_s)
    _going_on_check(row)
    if row.run_timeout_s != run_timeout_s:
        row.run_timeout_s, row.generation = run_timeout_s, row.generation + 1
        row.save(update_fields=["run_timeout_s", "generation", "updated_at"])
    return row


_SHARE_FIELDS = [
    "compute_percent",
    "memory_mib",
    "surplus_percent",
    "surplus_mib",
    "peak_percent",
    "peak_mib",
]


def _resizable_check(row: Slice) -> None:
    _going_on_check(row)
    if row.is_on_host:
        raise Conflict(_("It runs on its node's host alone and has no share of a device."))
    if row.is_exclusive:
        raise Conflict(_("A whole card is held."), cure=_("Ask for a share of a virtualised device instead."))


def _going_on_check(row: Slice) -> None:
    if row.is_final or row.desired == Desired.STOPPED:
        raise Conflict(_("The slice has ended."), cure=_("Only what runs can be changed."))
    if row.is_moving or Slice.plain.filter(moves_from=row.uid, move_state__in=MOVING).exists():
        raise Conflict(_("The session is on the move."), cure=_("Wait until it has moved."))


def _use_check(row: Slice, memory_mib: int) -> None:
    """Its node would refuse to take memory away that is in use, and give all of the old share on; meanwhile what is
    given back here would be promised to others."""
    used_mib = row.memory_used_mib or 0
    if memory_mib < row.memory_mib and memory_mib < used_mib:
        raise Conflict(
            _("%(used)s MiB are in use, %(mib)s MiB are asked.") % {"used": used_mib, "mib": memory_mib},
            cure=_("Free memory in the work first."),
        )


def _slice_locked(slice_uid: UUID | str) -> Slice:
    rows = Slice.plain.select_for_update(no_key=True, of=("self",)).select_related("device", "node")
    row = rows.filter(uid=slice_uid).first()
    if row is None:
        raise NotFound(_("There is no such slice."))
    return row


@service(recorded=False)
def slice_stop(*, actor: Actor, slice_uid: UUID | str, reason: str, reason_code: str = "stopped") -> Slice:
    """Want a slice stopped. One no node was ever told of is released at once; others end when the node says so,
    or are lost when it stays away. Stopping what is stopped or ended changes nothing. `reason_code` is what its end
    is put down to (`preempted`, ...)."""
    row = _slice_locked(slice_uid)
    act_subject("slice", row.uid, reason=reason)
    if row.is_final or row.desired == Desired.STOPPED:
        return row
    slice_unwant(row, actor=actor, now=timezone.now(), reason=reason, reason_code=reason_code)
    return row


def slice_unwant(row: Slice, *, actor: Actor, now: datetime, reason: str, reason_code: str) -> None:
    """Want a locked slice stopped; one that no node was told of ends at once."""
    row.desired, row.generation = Desired.STOPPED, row.generation + 1
    row.stop_code, row.stop_reason = reason_code, reason[:500]
    row.save(update_fields=["desired", "stop_code", "stop_reason", "generation", "updated_at"])
    if row.told_at is None:
        slices_end_now(
            [row], SliceState.RELEASED, actor=actor, now=now, reason_code=reason_code, reason=reason
        )
