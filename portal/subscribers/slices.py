"""What follows from what nodes report of slices: for workloads, their usage, what is measured of them."""

from math import ceil
from uuid import UUID

from django.utils import timezone

from apps.billing.services.usage import usage_record
from apps.billing.types import Usage
from apps.fleet import events as fleet
from apps.kernel.actor import Actor
from apps.notices.push import push
from apps.scheduling.models import Allocation
from apps.scheduling.services.workloads import slice_reports
from apps.scheduling.services.workloads.checkpoints import folder_record, workload_saved
from apps.scheduling.services.workloads.resizing import session_moves
from apps.scheduling.services.workloads.resizing.resizing import workload_shrunk
from apps.telemetry.services.samples import samples_put, share_past_add
from apps.telemetry.types import Measured


def started(event: fleet.SliceStarted, actor: Actor) -> None:
    slice_reports.slice_started(actor=actor, workload_uid=event.workload_uid, at=event.at)


def ended(event: fleet.SliceEnded, actor: Actor) -> None:
    slice_reports.slice_ended(
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


def saved(event: fleet.SliceSaved, actor: Actor) -> None:
    workload_saved(actor=actor, workload_uid=UUID(event.workload_uid), at=event.at)


def folder_moved(event: fleet.FolderMoved, actor: Actor) -> None:
    """Its owner reads on the time line where the folder is, and whether it could be brought."""
    folder_record(
        actor=actor,
        workload_uid=UUID(event.workload_uid),
        code=f"left:{event.given_up}" if event.step == "left" else event.step,
        share=event.share,
        node=event.node,
        mib=ceil(event.size_bytes / 1024**2),
        problem=event.problem,
    )


def shrunk(event: fleet.SliceShrunk, actor: Actor) -> None:
    workload_shrunk(actor=actor, workload_uid=UUID(event.workload_uid))


def move_begun(event: fleet.SliceMoveBegun, actor: Actor) -> None:
    session_moves.move_begun(
        actor=actor,
        workload_uid=UUID(event.workload_uid),
        source_uid=event.source_uid,
        target_uid=event.target_uid,
        device_uid=event.device_uid,
    )


def moved(event: fleet.SliceMoved, actor: Actor) -> None:
    session_moves.move_done(
        actor=actor,
        workload_uid=UUID(event.workload_uid),
        source_uid=event.source_uid,
        target_uid=event.target_uid,
    )


def move_failed(event: fleet.SliceMoveFailed, actor: Actor) -> None:
    session_moves.move_failed(actor=actor, workload_uid=UUID(event.workload_uid), source_uid=event.source_uid)


def used(event: fleet.UsageObserved, actor: Actor) -> None:
    """What was vouched for is kept, to be rated."""
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


def measured(event: fleet.SliceMeasured, actor: Actor) -> None:
    """The delivered-share meter: kept, and shown on open pages."""
    figures = {"delivered_percent": event.delivered_percent, "memory_used_mib": event.memory_used_mib}
    samples = [
        Measured(series, str(event.workload_uid), event.at, float(value))
        for series, value in figures.items()
        if value is not None
    ]
    samples_put(actor=actor, samples=samples)
    push(f"workload.{event.workload_uid}", "measured")


def served(event: fleet.ServiceObserved, actor: Actor) -> None:
    """Pages that show a service look again."""
    push(f"workload.{event.workload_uid}")


def resized(event: fleet.SliceResized, actor: Actor) -> None:
    """What it held before is kept for reports. The allocation still says that: scheduling writes the new amounts
    after the fleet has taken them."""
    part = Allocation.objects.filter(slice_uid=event.slice_uid).first()
    if part is not None:
        share_past_add(
            actor=actor,
            slice_uid=part.slice_uid,
            compute_percent=part.compute_percent,
            memory_mib=part.memory_mib,
            until_at=timezone.now(),
        )
