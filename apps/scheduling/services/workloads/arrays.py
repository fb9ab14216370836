"""Arrays: one submission that makes a workload for each of a row of numbers, with a bound on how many run at once.

The bound is held by turns: so many tasks are let to their queue, the next when one of them has ended or was put aside.
What waits for its turn the scheduler does not see.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID, uuid4

from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import InvalidInput, NotFound
from apps.kernel.events import emit
from apps.kernel.prepared_queries import pipeline
from apps.kernel.service import service
from apps.scheduling.events import ArrayFreed, WorkloadsSubmitted
from apps.scheduling.locks import submissions_lock
from apps.scheduling.models import Workload, WorkloadArray
from apps.scheduling.permissions import ResourcePermission as P
from apps.scheduling.permissions import work_reached
from apps.scheduling.services.workloads.admission import admission_check, open_check
from apps.scheduling.services.workloads.bulk import row_like
from apps.scheduling.services.workloads.stopping import workload_stop
from apps.scheduling.services.workloads.submission.dependencies import waits_read
from apps.scheduling.services.workloads.submission.submit import take_in, workload_draft, workload_request
from apps.scheduling.states import FINAL_STATES, TURN_CODE, WorkloadState
from apps.scheduling.types import WorkloadRequest
from apps.tenancy.models import Tenant

ARRAY_MOST = 10_000
INDEX_MOST = 4_000_000
_AT_ONCE = 100
_NAME_MOST, _KEY_MOST = 120, 64
_SPEC = re.compile(r"([0-9,:\-]+)(?:%(\d{1,6}))?")
_PART = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?")


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of an array's tasks, rising, and how many of them may be let to their queue at once (None: all)."""

    indices: Sequence[int]
    at_once: int | None


def numbers_read(text: str) -> Numbers:
    """The numbers of `0-99%8`, `0,3,7-9` or `0-20:4`. Raises InvalidInput; what is too large is never spelt out."""
    found = _SPEC.fullmatch(text)
    parts = [_PART.fullmatch(part) for part in found[1].split(",")] if found else [None]
    ranges = []
    for part in parts:
        if part is None:
            raise _refused(_("%(text)s is no row of numbers.") % {"text": text})
        first = int(part[1])
        last, step = int(part[2] or first), int(part[3] or 1)
        if last < first or step < 1:
            raise _refused(_("%(part)s is an empty range.") % {"part": part[0]})
        if last > INDEX_MOST:
            raise _refused(_("The numbers go up to %(most)s.") % {"most": INDEX_MOST})
        ranges.append(range(first, last + 1, step))
    count = sum(map(len, ranges))
    if count > ARRAY_MOST:
        raise _refused(
            _("An array of %(count)s tasks: it may have %(most)s.") % {"count": count, "most": ARRAY_MOST},
            cure=_("Let a task do more, or submit several arrays."),
        )
    at_once = int(found[2]) if found and found[2] else None
    if at_once == 0:
        raise _refused(_("None of its tasks could ever run at once."))
    return Numbers(sorted({index for part in ranges for index in part}), at_once)


def _refused(text: str, cure: str = "") -> InvalidInput:
    return InvalidInput(
        text,
        cure=cure or _("Write for example 0-99, 0-99%8 (eight at once), 0,3,7-9 or 0-20:4."),
        fields={"array": text},
    )


@service(P.OPERATE, recorded=False)
def work_submit(*, actor: Actor, tenant: Tenant, asked: WorkloadRequest) -> Workload:
    """Put one program or session in its queue, or an array of them; of an array its first task."""
    if asked.array:
        return array_submit(actor=actor, tenant=tenant, asked=asked)
    return workload_request(actor=actor, tenant=tenant, asked=asked)


@service(P.OPERATE)
def array_submit(*, actor: Actor, tenant: Tenant, asked: WorkloadRequest) -> Workload:
    """Put the tasks of an array in their queue, all or none; its first task. Each is a workload that is told its number
    (`WEIR_ARRAY_INDEX`). Refused for the reasons of `workload_request`; asked twice with the same key it is one."""
    spec = asked.array.replace(" ", "")
    numbers = numbers_read(spec)
    asked = replace(asked, array="")
    _key_check(asked, numbers)
    if asked.client_key:
        submissions_lock(tenant)
        mine = Workload.plain.filter(tenant=tenant, submitted_by_id=actor.user_id)
        known = mine.filter(client_key=_key(asked, numbers.indices[0])).first()
        if known:
            return known
    open_check(tenant, actor.user_id, len(numbers.indices))
    waits = waits_read(actor, tenant, asked)
    uid = uuid4()
    array = WorkloadArray(
        tenant=tenant,
        uid=uid,
        no=f"A-{uid.hex[:10].upper()}",
        name=asked.name,
        spec=spec,
        size=len(numbers.indices),
        at_once=numbers.at_once,
    )
    first = _task(asked, array, numbers, numbers.indices[0])
    draft, amounts = workload_draft(actor, tenant, first, waits)
    admission_check(actor, draft, more=array.size)
    array.save()
    rows = []
    for place, index in enumerate(numbers.indices):
        row = row_like(draft, _task(asked, array, numbers, index))
        row.array, row.array_index = array, index
        if numbers.at_once is not None and place >= numbers.at_once:
            row.waits_for_turn = True
            if not waits.on:
                row.reason_code, row.reason = TURN_CODE, turn_reason(array)
        rows.append(row)
    act_subject("array", array.uid, no=array.no, name=array.name, tasks=array.size)
    with pipeline():
        take_in(actor, tenant, rows, amounts, waits)
    emit(WorkloadsSubmitted(schema=tenant.schema_name, count=len(rows)), actor=actor)
    return rows[0]


def turn_reason(array: WorkloadArray) -> dict[str, object]:
    """Why a task waits for its turn, as its row keeps it."""
    return {"array": array.no, "at_once": array.at_once}


def _key_check(asked: WorkloadRequest, numbers: Numbers) -> None:
    longest = _key(asked, numbers.indices[-1])
    if asked.client_key and len(longest) > _KEY_MOST:
        raise InvalidInput(
            fields={
                "client_key": _("at most %(most)s characters")
                % {"most": _KEY_MOST - len(longest) + len(asked.client_key)}
            }
        )


def _key(asked: WorkloadRequest, index: int) -> str:
    return f"{asked.client_key}[{index}]" if asked.client_key else ""


def _task(asked: WorkloadRequest, array: WorkloadArray, numbers: Numbers, index: int) -> WorkloadRequest:
    """What one task asks for: its name, and its number in the words of Weir and of Slurm."""
    suffix = f"[{index}]"
    told: Mapping[str, Any] = {
        "WEIR_ARRAY": array.no,
        "WEIR_ARRAY_INDEX": index,
        "WEIR_ARRAY_SIZE": array.size,
        "SLURM_ARRAY_JOB_ID": array.no,
        "SLURM_ARRAY_TASK_ID": index,
        "SLURM_ARRAY_TASK_COUNT": array.size,
        "SLURM_ARRAY_TASK_MIN": numbers.indices[0],
        "SLURM_ARRAY_TASK_MAX": numbers.indices[-1],
    }
    return replace(
        asked,
        name=asked.name[: _NAME_MOST - len(suffix)] + suffix,
        client_key=_key(asked, index),
        env={**asked.env, **{name: str(value) for name, value in told.items()}},
    )


# --- turns -------------------------------------------------------------------------------------------------------


@service(recorded=False)
def array_turns(*, actor: Actor, array_pk: int) -> int:
    """Let the next tasks of an array to their queue, as many as there are turns free; how many. Two at once are served
    one after the other."""
    array = WorkloadArray.plain.select_for_update(no_key=True).filter(pk=array_pk).first()
    if array is None or array.at_once is None or array.stopped_at is not None:
        return 0
    tasks = Workload.plain.filter(array=array)
    has_turn = tasks.filter(waits_for_turn=False, ended_at=None).exclude(state=WorkloadState.SUSPENDED)
    free = array.at_once - has_turn.count()
    if free <= 0:
        return 0
    waiting = tasks.filter(waits_for_turn=True, state=WorkloadState.PENDING).order_by("array_index")
    pks = list(waiting.select_for_update(no_key=True).values_list("pk", flat=True)[:free])
    let = Workload.plain.filter(pk__in=pks)
    # What waits for other work too goes on saying so, and counts its wait from when that is over.
    let.filter(waits_for_work=False).update(reason_code="", reason={}, not_before_at=timezone.now())
    return let.update(waits_for_turn=False)


def arrays_due() -> list[int]:
    """Arrays with tasks that wait for their turn or are to be ended: what lost hints have left behind."""
    waiting = Workload.plain.filter(
        waits_for_turn=True, state=WorkloadState.PENDING, array__at_once__isnull=False
    )
    ending = Workload.plain.filter(array__stopped_at__isnull=False, ended_at=None)
    found = waiting.filter(array__stopped_at=None).values_list("array", flat=True).distinct()
    return sorted(
        {*found, *ending.exclude(state=WorkloadState.STOPPING).values_list("array", flat=True).distinct()}
    )


# --- its end -----------------------------------------------------------------------------------------------------


@service(P.OPERATE)
def array_stop(*, actor: Actor, tenant: Tenant, array_uid: UUID, reason: str = "") -> WorkloadArray:
    """End an array as one: nothing of it starts from now on, and what waits or runs of it ends, batch by batch. Twice
    changes nothing. NotFound for what the actor does not reach."""
    mine = Workload.plain.filter(work_reached(actor), tenant=tenant, array__uid=array_uid)
    if not mine.exists():
        raise NotFound()
    array = WorkloadArray.plain.select_for_update(no_key=True).get(uid=array_uid, tenant=tenant)
    act_subject("array", array.uid, no=array.no, reason=reason)
    if array.stopped_at is None:
        array.stopped_at, array.stop_reason = timezone.now(), reason
        array.save(update_fields=["stopped_at", "stop_reason"])
        held = list(
            Workload.plain.select_for_update(no_key=True)
            .filter(array=array, state=WorkloadState.PENDING)
            .order_by("pk")
            .values_list("pk", flat=True)
        )
        Workload.plain.filter(pk__in=held).update(waits_for_turn=True)
        emit(ArrayFreed(array_pk=array.pk), actor=actor)
    return array


@service(recorded=False)
def array_stop_batch(*, actor: Actor, array_pk: int) -> int:
    """End the next tasks of an array that is to end; how many. None: all have ended or are about to."""
    array = WorkloadArray.plain.filter(pk=array_pk, stopped_at__isnull=False).select_related("tenant").first()
    if array is None:
        return 0
    left = Workload.plain.filter(~Q(state__in=[*FINAL_STATES, WorkloadState.STOPPING]), array=array)
    uids = list(left.order_by(F("waits_for_turn").desc(), "pk").values_list("uid", flat=True)[:_AT_ONCE])
    for uid in uids:
        workload_stop(actor=actor, tenant=array.tenant, workload_uid=uid, reason=array.stop_reason)
    return len(uids)
