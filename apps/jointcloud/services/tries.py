"""A dry run: where a job would go if it were submitted now and nothing else waited. Nothing is kept and nobody asked.

What goes where is decided by the very cycle (`plan`); what is said of each centre by `evaluate`, task after task, with
what the tasks before it would have taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.centers.selectors import center_names
from apps.jointcloud.engine.cycle import plan
from apps.jointcloud.engine.evaluate import Evaluation, evaluate
from apps.jointcloud.engine.explain import explain
from apps.jointcloud.engine.reasons import BadInput, Finding, Reason, reason
from apps.jointcloud.engine.types import Centre, Job, Snapshot, Spec, Task, Weights
from apps.jointcloud.permissions import PlacementPermission as P
from apps.jointcloud.selectors.data import data_read, datasets_named, engine_id
from apps.jointcloud.selectors.snapshot import snapshot_now
from apps.jointcloud.services.checks import MOST_REPLICAS
from apps.jointcloud.services.settings import weights_of
from apps.jointcloud.services.task_data import meaning_fault
from apps.jointcloud.text import reason_text
from apps.kernel.actor import Actor
from apps.kernel.errors import InvalidInput
from apps.tenancy.selectors import tenant_list

TASKS_MOST = 32


@dataclass(frozen=True, slots=True)
class Sentence:
    """A reason, and its sentence in the reader's language."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class TriedTask:
    """One task: how every centre stands before it, and how many replicas would go where; nowhere if it would wait."""

    name: str
    evaluation: Evaluation
    placed: Mapping[str, int]
    sentences: tuple[Sentence, ...]
    refusals: Mapping[str, tuple[Sentence, ...]]


@dataclass(frozen=True, slots=True)
class Trial:
    """What would become of a job at this instant. `names`: of the centres, by code."""

    at: datetime
    model: str
    weights: Weights
    tasks: tuple[TriedTask, ...]
    names: Mapping[str, str]

    @property
    def is_placed(self) -> bool:
        """Whether every task would find a centre."""
        return all(task.placed for task in self.tasks)


def placement_try(
    *,
    actor: Actor,
    tasks: Sequence[Mapping[str, Any]],
    job_type: str = "",
    is_gang: bool = False,
    weights: Mapping[str, Any] | None = None,
    tenant: str = "",
) -> Trial:
    """Try where a job would go.

    Args:
        tasks: of each `name`, `resource_spec_id`, and where it matters `image_id`, `data`, `replicas`, `center_ids`,
            `deadline`, `duration_s`, `latency_us`, `security_grade`, `may_split`.
        weights: parts of 1 by policy; those in force where none are given.
        tenant: the code of the tenant whose job it would be, for operators; none: nobody's, as if every centre served
            it. A tenant's own try is for that tenant, and tells of the centres that serve it.

    Raises:
        Forbidden: without the permission to see work.
        InvalidInput: by field, with the cause.
    """
    actor.require(P.TRY)
    if sum(given.get("replicas", 1) for given in tasks) > MOST_REPLICAS:
        text = _("At most %(most)s replicas in all tasks together, as a job may have.")
        raise InvalidInput(fields={"tasks": text % {"most": MOST_REPLICAS}})
    at = timezone.now()
    now = int(at.timestamp())
    own = weights_of(weights) if weights else None
    if not actor.tenant and tenant and not tenant_list().filter(schema_name=tenant).exists():
        raise InvalidInput(
            fields={"tenant": _("There is no tenant with the code %(code)s.") % {"code": tenant}}
        )
    data = _data_meant(actor, actor.tenant or tenant, tasks)
    try:
        job = Job(
            "try",
            tuple(_task(i, given, data) for i, given in enumerate(tasks)),
            submitted_at_s=now,
            is_gang=is_gang,
            job_type=job_type,
            weights=own,
            tenant=actor.tenant or tenant,
        )
        snapshot = snapshot_now([job], tenant=actor.tenant, data=data_read([job]))
        _known_check(snapshot, job)
        return _tried(snapshot, job, at)
    except BadInput as error:
        raise InvalidInput(reason_text(error.reason)) from error


def _data_meant(actor: Actor, schema: str, tasks: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The data that is named in a tenant, as the engine knows it; what there is not is at no centre."""
    names = {str(name) for given in tasks for name in given.get("data", ())}
    meant = datasets_named(schema, names, actor=actor)
    wrong: dict[str, object] = {}
    for i, given in enumerate(tasks):
        faults = (meaning_fault(name, meant[name]) for name in given.get("data", ()))
        if fault := next((fault for fault in faults if fault), ""):
            wrong[f"tasks.{i}.data"] = fault
    if wrong:
        raise InvalidInput(fields=wrong)
    return {name: engine_id(rows[0]) if rows else f"{name}@" for name, rows in meant.items()}


def _task(i: int, given: Mapping[str, Any], data: Mapping[str, str]) -> Task:
    deadline = given.get("deadline")
    return Task(
        id=_task_id(i),
        spec_id=given["resource_spec_id"],
        image_id=given.get("image_id") or None,
        data_ids=tuple(dict.fromkeys(data[name] for name in given.get("data", ()))),
        replicas=given.get("replicas", 1),
        min_security_grade=given.get("security_grade") or 0,
        centre_ids=frozenset(given.get("center_ids", ())),
        duration_s=given.get("duration_s"),
        deadline_s=None if deadline is None else max(0, int(deadline.timestamp())),
        latency_us=given.get("latency_us"),
        may_split=given.get("may_split", False),
    )


def _task_id(i: int) -> str:
    return f"task{i + 1}"


def _known_check(snapshot: Snapshot, job: Job) -> None:
    specs, centres = {spec.id for spec in snapshot.specs}, {centre.id for centre in snapshot.centres}
    wrong: dict[str, object] = {}
    for i, task in enumerate(job.tasks):
        if task.spec_id not in specs:
            text = _("There is no network specification %(code)s.") % {"code": task.spec_id}
            wrong[f"tasks.{i}.resource_spec_id"] = text
        unknown = sorted(task.centre_ids - centres)
        if unknown:
            wrong[f"tasks.{i}.center_ids"] = _("There is no centre %(code)s.") % {"code": unknown[0]}
        if task.deadline_s is not None and task.deadline_s <= job.submitted_at_s:
            wrong[f"tasks.{i}.deadline"] = _("It is over already. Give a moment that is to come.")
    if wrong:
        raise InvalidInput(fields=wrong)


def _tried(snapshot: Snapshot, job: Job, at: datetime) -> Trial:
    now = int(at.timestamp())
    names = center_names()
    decided = plan(snapshot, now=now, seed=0)
    bound = {binding.task_id: binding.centre_ids for binding in decided.bindings}
    why = {waiting.task_id: waiting.reasons for waiting in decided.waiting}
    specs = {spec.id: spec for spec in snapshot.specs}
    told = []
    for task in job.tasks:
        found = evaluate(snapshot, job, task, now=now)
        places = bound.get(task.id, ())
        told.append(_tried_task(found, task, places, why.get(task.id, ()), names))
        # What a gang that has to wait would have taken is what its next task was looked at with.
        taken = places or _hypothetical(found, task, job)
        snapshot, job = _taken(snapshot, specs[task.spec_id], taken), replace(job, placed=job.placed + taken)
    weights = job.weights or snapshot.settings.weights
    return Trial(at, snapshot.settings.model, weights, tuple(told), names)


def _hypothetical(found: Evaluation, task: Task, job: Job) -> tuple[str, ...]:
    chosen = found.chosen
    return (chosen.centre_id,) * task.replicas if job.is_gang and chosen is not None else ()


def _taken(snapshot: Snapshot, spec: Spec, places: Iterable[str]) -> Snapshot:
    """The snapshot after replicas of a specification went to these centres, as the room of a cycle counts them."""
    counts = Counter(places)

    def left(centre: Centre) -> Centre:
        count, amounts = counts[centre.id], dict(spec.amounts)
        if not count:
            return centre
        free = tuple((name, max(0, free - count * amounts.get(name, 0))) for name, free in centre.free)
        return replace(centre, free=free, running_tasks=centre.running_tasks + count)

    return replace(snapshot, centres=tuple(map(left, snapshot.centres)))


def _tried_task(
    found: Evaluation, task: Task, places: tuple[str, ...], why: tuple[Reason, ...], names: Mapping[str, str]
) -> TriedTask:
    """The findings of the evaluation, and where the cycle decides otherwise than for the task alone its own words."""
    is_whole = len(set(places)) == 1
    gang = [reason for reason in why if reason.code is Finding.GANG_INCOMPLETE]
    findings = list(explain(found)) if is_whole or not gang else gang
    if places and not is_whole:
        findings = []
    if places:
        findings += [reason(Finding.DATA_THERE, data=each) for each in task.data_ids]
    sentences = [_sentence(reason, names) for reason in findings]
    if places and not is_whole:
        parts = ", ".join(f"{names.get(code, code)} × {count}" for code, count in Counter(places).items())
        text = _("No centre takes all replicas; they would be split: %(parts)s.") % {"parts": parts}
        sentences.append(Sentence("split", text))
    refusals = {
        each.centre_id: tuple(_sentence(reason, names) for reason in each.reasons) for each in found.centres
    }
    return TriedTask(task.id, found, Counter(places), tuple(sentences), refusals)


def _sentence(reason: Reason, names: Mapping[str, str]) -> Sentence:
    return Sentence(str(reason.code), reason_text(reason, names))
