"""One scheduling cycle: what waits, planned upon one snapshot, and each job's replicas given to their centres.

One cycle runs at a time, by an advisory lock. It holds no lock of a job while it plans: each job is looked at again,
and what of it has changed meanwhile waits for the next cycle. A replica, its remote task and its frozen price are one
transaction; nothing is sent here.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from apps.centers.models import SpecOffer
from apps.centers.selectors import spec_offers_at
from apps.jointcloud.engine.cycle import plan
from apps.jointcloud.engine.dispatch import Dispatching
from apps.jointcloud.engine.evaluate import Evaluation, evaluate
from apps.jointcloud.engine.explain import explain
from apps.jointcloud.engine.reasons import Code, Finding, Reason, reason
from apps.jointcloud.engine.types import Binding, Plan, Snapshot
from apps.jointcloud.engine.types import Job as EngineJob
from apps.jointcloud.events import JobChanged
from apps.jointcloud.job_text import reasons_kept
from apps.jointcloud.models import Decision, Job, Replica, Task, TaskData
from apps.jointcloud.selectors.data import data_read, datasets_hold, tasks_data
from apps.jointcloud.selectors.jobs import jobs_waiting
from apps.jointcloud.selectors.snapshot import Failures, Sent, snapshot_now
from apps.jointcloud.services.charging import FundsLacking, charge_uid_of, charges_begin
from apps.jointcloud.services.following import (
    job_follow,
    job_lost_replace,
    jobs_with_lost,
    jobs_with_news,
)
from apps.jointcloud.services.remote import OFFERED_NO_MORE, RemoteRefused, remote_request, remote_there
from apps.jointcloud.services.settling import job_lock
from apps.jointcloud.services.task_data import DataGone, data_there
from apps.jointcloud.states import OPEN, DecisionKind, ReplicaState
from apps.kernel.actor import Actor
from apps.kernel.events import emit
from apps.kernel.service import service

log = logging.getLogger("weir.jointcloud")
_LOCK = 0x57656943
_SWEEP_LOCK = 0x57656953
# What a centre has is in its figures once it was asked after that; older than this it surely is.
_UNSEEN_S = 600
_WAITS_PART = 300
_ROUNDS_MOST = 8
_TENANT_ROUNDS_MOST = 3
_SENT_PART = 1_000
_STANDINGS_MOST = 200
_LAST_ATTEMPTS = 2_000


class CycleReport(NamedTuple):
    """What a cycle did. `led`: it had the lock; without, it did nothing."""

    led: bool
    placed: int = 0
    waiting: int = 0


class _Outcome(NamedTuple):
    """What carrying out one plan did: replicas placed, why tasks wait, and the jobs whose accounts lacked money."""

    placed: int
    waits: dict[str, tuple[Reason, ...]]
    unfunded: set[str]


def jobs_sweep(*, actor: Actor) -> None:
    """Find what a lost event left behind: news of replicas, and replicas whose centre is gone. While another sweep runs
    it does nothing."""
    with _leading(_SWEEP_LOCK) as leads:
        if not leads:
            return
        for job_id in jobs_with_news():
            job_follow(actor=actor, job_id=job_id)
        for job_id in jobs_with_lost(timezone.now()):
            job_lost_replace(actor=actor, job_id=job_id)


def cycle_run(*, actor: Actor, seed: int = 0) -> CycleReport:
    """One pass over all that waits. While another cycle runs it does nothing."""
    with _leading(_LOCK) as leads:
        if not leads:
            return CycleReport(led=False)
        return _rounds(actor=actor, seed=seed)


def _rounds(*, actor: Actor, seed: int) -> CycleReport:
    """Plan and carry out; what lacked money has bound room that is free still, so the rest is planned again without it.

    So often at most: what is left then waits for the next cycle. A tenant whose jobs lack money again and again is left
    out as a whole, that however many jobs of one empty account do not use up the rounds of all.
    """
    placed, waits = 0, dict[str, tuple[Reason, ...]]()
    unfunded, lacked = set[str](), Counter[str]()
    for _round in range(_ROUNDS_MOST):
        now = timezone.now()
        waiting = [
            job
            for job in jobs_waiting(now)
            if job.id not in unfunded and lacked[job.tenant] < _TENANT_ROUNDS_MOST
        ]
        if not waiting:
            break
        snapshot = snapshot_now(waiting, data=data_read(waiting), failures=_failures(), sent=_sent(now))
        done = _carry_out(snapshot, plan(snapshot, now=int(now.timestamp()), seed=seed), actor=actor)
        placed += done.placed
        for task in (task for job in waiting for task in job.tasks):
            waits.pop(task.id, None)
        waits |= done.waits
        if not done.unfunded:
            break
        unfunded |= done.unfunded
        lacked.update({job.tenant for job in waiting if job.id in done.unfunded})
    _waits_keep(waits)
    return CycleReport(led=True, placed=placed, waiting=len(waits))


@contextmanager
def _leading(lock: int) -> Iterator[bool]:
    """The lock is the connection's: a worker that dies lets it go."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [lock])
        leads = bool(cursor.fetchone()[0])
    try:
        yield leads
    finally:
        if leads:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [lock])


def _failures() -> dict[str, Failures]:
    """By centre: of how many tenants it refused the last attempts in a row. Nobody's own bad input puts a centre to
    rest for all: those of one tenant count once, however many they are."""
    tenants: dict[str, set[int]] = defaultdict(set)
    last_at: dict[str, datetime] = {}
    others: set[str] = set()
    rows = Replica.objects.exclude(state=ReplicaState.PENDING).order_by("-placed_at", "-pk")
    told = rows.values_list("ai_center_id", "state", "ended_at", "task__job__tenant")
    for code, state, ended_at, tenant in told[:_LAST_ATTEMPTS]:
        if state != ReplicaState.REFUSED:
            others.add(code)
        elif code not in others:
            assert ended_at is not None, "what is refused has ended"
            tenants[code].add(tenant)
            last_at.setdefault(code, ended_at)
    return {code: Failures(len(found), last_at[code]) for code, found in tenants.items()}


def _sent(now: datetime) -> list[Sent]:
    since = now - timedelta(seconds=_UNSEEN_S)
    rows = Replica.objects.filter(state__in=OPEN).filter(
        Q(state=ReplicaState.PENDING) | Q(placed_at__gte=since) | Q(started_at__gte=since)
    )
    told = list(rows.order_by("pk").values_list("key", "ai_center_id", "task__resourcespec"))
    found: list[Sent] = []
    for at in range(0, len(told), _SENT_PART):
        part = told[at : at + _SENT_PART]
        there = remote_there([key for key, *_rest in part])
        found += [Sent(code, spec, 1, there[key]) for key, code, spec in part if key in there]
    return found


def _carry_out(snapshot: Snapshot, decided: Plan, *, actor: Actor) -> _Outcome:
    dispatching = Dispatching(snapshot, decided)
    bindings: dict[str, list[Binding]] = defaultdict(list)
    for binding in decided.bindings:
        bindings[binding.job_id].append(binding)
    waits: dict[str, tuple[Reason, ...]] = {each.task_id: each.reasons for each in decided.waiting}
    jobs = {job.id: job for job in snapshot.jobs}
    placed, unfunded, taken = 0, set[str](), _Taken(snapshot, decided)
    for job_id, bound in bindings.items():
        work = _Dispatch(snapshot, jobs[job_id], dispatching, decided.now, taken)
        try:
            placed += work.carry_out(bound, actor=actor)
        except Exception:
            # One job that cannot be placed holds up no other; it goes on waiting.
            log.exception("the job %s was not placed", job_id)
            continue
        finally:
            taken.add(bound)
        waits |= work.waits
        if work.is_unfunded:
            unfunded.add(job_id)
    return _Outcome(placed, waits, unfunded)


class _Taken:
    """What a plan binds, by centre and specification: all of it, and what of it comes before a job."""

    def __init__(self, snapshot: Snapshot, decided: Plan) -> None:
        self._specs = {task.id: task.spec_id for job in snapshot.jobs for task in job.tasks}
        self.all = self.counted(decided.bindings)
        self.before: Counter[tuple[str, str]] = Counter()

    def counted(self, bindings: Iterable[Binding]) -> Counter[tuple[str, str]]:
        """Replicas of these bindings."""
        return Counter((code, self._specs[each.task_id]) for each in bindings for code in each.centre_ids)

    def add(self, bindings: Iterable[Binding]) -> None:
        """These come before the next job."""
        self.before += self.counted(bindings)


class _Dispatch:
    """Giving the replicas of one job to the centres that were chosen; a centre that refuses is followed by the next
    best."""

    def __init__(
        self, snapshot: Snapshot, job: EngineJob, dispatching: Dispatching, now_s: int, taken: _Taken
    ) -> None:
        self._snapshot, self._job, self._dispatching, self._now_s = snapshot, job, dispatching, now_s
        self._taken = taken
        self.waits: dict[str, tuple[Reason, ...]] = {}
        self.is_unfunded = False

    def carry_out(self, bindings: list[Binding], *, actor: Actor) -> int:
        """How many replicas went to a centre."""
        refusals: list[tuple[str, str, str]] = []
        wanted = {binding.task_id: binding for binding in bindings}
        while wanted:
            try:
                return job_dispatch(
                    actor=actor,
                    job_id=self._job.id,
                    bindings=list(wanted.values()),
                    refusals=refusals,
                    explained=self._explained(wanted.values(), refusals),
                )
            except RemoteRefused as error:
                # Nothing of the job was kept: the one transaction was undone.
                refusals.append((error.task_id, error.ai_center_id, str(error)))
                self._redirect(wanted, error)
            except FundsLacking as error:
                # It waits as a whole: what the account gives later it gives to whole jobs.
                self.waits |= dict.fromkeys(wanted, (error.reason,))
                self.is_unfunded = True
                wanted = {}
        refusals_keep(actor=actor, job_id=self._job.id, refusals=refusals)
        return 0

    def _redirect(self, wanted: dict[str, Binding], error: RemoteRefused) -> None:
        found = self._dispatching.refused(error.task_id, error.ai_center_id)
        if found.instead is not None:
            wanted[error.task_id] = found.instead
            return
        del wanted[error.task_id]
        self.waits[error.task_id] = found.why_waiting
        if self._job.is_gang:
            for task_id in list(wanted):
                del wanted[task_id]
                self.waits[task_id] = found.why_waiting

    def _explained(
        self, bindings: Iterable[Binding], refusals: list[tuple[str, str, str]]
    ) -> dict[str, dict[str, Evaluation]]:
        """By task and centre, how the centres stood when its first replica was given there: after all that the plan
        had bound before."""
        by_task: dict[str, set[str]] = defaultdict(set)
        for task_id, code, _why in refusals:
            by_task[task_id].add(code)
        found: dict[str, dict[str, Evaluation]] = {}
        tasks = {task.id: task for task in self._job.tasks}
        taken, job = Counter(self._taken.before), self._job
        for binding in bindings:
            task, told = tasks[binding.task_id], found.setdefault(binding.task_id, {})
            before = taken
            if binding.task_id in by_task:
                task = replace(task, refused_by=task.refused_by | by_task[binding.task_id])
                # It was given elsewhere once the whole plan stood.
                before = self._taken.all - self._taken.counted([binding])
            if len(set(binding.centre_ids)) > 1:
                task = replace(task, replicas=1)
            for code in binding.centre_ids:
                if code not in told:
                    told[code] = evaluate(self._snapshot, job, task, now=self._now_s, taken=before)
                before = before + Counter({(code, task.spec_id): 1})
                job = replace(job, placed=(*job.placed, code))
            taken += self._taken.counted([binding])
        return found


@service(recorded=False)
def job_dispatch(
    *,
    actor: Actor,
    job_id: str,
    bindings: list[Binding],
    refusals: list[tuple[str, str, str]],
    explained: Mapping[str, Mapping[str, Evaluation]],
) -> int:
    """Give the replicas of a job to their centres: each a remote task at the price of now, all in one transaction.

    How many were; none where the job was stopped meanwhile, or where it is a gang and they are not all that it lacks.
    `refusals`: task, centre and cause of what refused before. Raises RemoteRefused, FundsLacking: nothing was kept.
    """
    job = job_lock(job_id)
    if job is None or job.state not in OPEN or job.stop_asked_at is not None:
        return 0
    now = timezone.now()
    tasks = {str(task.pk): task for task in job.tasks.all()}
    if job.is_gang and not _is_whole(job, tasks, bindings):
        # It has changed since the cycle looked; the next one plans it anew.
        return 0
    _refusals_put(tasks, refusals, now)
    # All at once: whoever changes one of them may wait for a centre that is given work here.
    reads = TaskData.objects.filter(task__in=[binding.task_id for binding in bindings])
    datasets_hold(reads.values_list("data_id", flat=True))
    sent: list[tuple[Replica, SpecOffer]] = []
    for binding in bindings:
        task = tasks.get(binding.task_id)
        if task is not None:
            sent += _task_place(job, task, binding, explained[binding.task_id], now, actor=actor)
    charges_begin(job, sent, actor=actor)
    placed = len(sent)
    if placed and not _is_missing(job):
        job.dispatched_at = job.dispatched_at or timezone.now()
        job.save(update_fields=["dispatched_at"])
    emit(JobChanged(job.tenant.schema_name, job.job_id), actor=actor)
    return placed


@service(recorded=False)
def refusals_keep(*, actor: Actor, job_id: str, refusals: list[tuple[str, str, str]]) -> None:
    """Keep which centres refused a job that nobody took."""
    job = job_lock(job_id)
    if job is not None:
        _refusals_put({str(task.pk): task for task in job.tasks.all()}, refusals, timezone.now())


def _refusals_put(tasks: Mapping[str, Task], refusals: list[tuple[str, str, str]], now: datetime) -> None:
    for task_id, code, why in refusals:
        if task_id not in tasks:
            continue
        last = Decision.objects.filter(task_id=int(task_id)).order_by("-at", "-pk").first()
        if last is not None and (last.kind, last.ai_center_id, last.message) == (
            DecisionKind.REFUSED,
            code,
            why[:500],
        ):
            continue
        Decision.objects.create(
            task=tasks[task_id],
            kind=DecisionKind.REFUSED,
            at=now,
            ai_center_id=code,
            replicas=1,
            message=why[:500],
        )


def _task_place(
    job: Job,
    task: Task,
    binding: Binding,
    explained: Mapping[str, Evaluation],
    now: datetime,
    *,
    actor: Actor,
) -> list[tuple[Replica, SpecOffer]]:
    taken = set(task.attempts.filter(is_current=True).values_list("number", flat=True))
    missing = [number for number in range(task.replicas) if number not in taken]
    offers = spec_offers_at(task.resourcespec, set(binding.centre_ids))
    pairs = list(zip(missing, binding.centre_ids, strict=False))
    sent = []
    try:
        # In the order of their codes, whoever asks.
        lies = data_there(task, sorted({code for _number, code in pairs}))
    except DataGone as error:
        raise RemoteRefused(str(task.pk), error.args[1], error.args[0]) from error
    for number, code in pairs:
        offer = offers.get(code)
        if offer is None or not offer.center.takes_work:
            raise RemoteRefused(str(task.pk), code, OFFERED_NO_MORE)
        attempt = 1 + task.attempts.filter(number=number).count()
        row = Replica.objects.create(
            task=task,
            number=number,
            attempt=attempt,
            key=f"w{job.job_id[:16]}-{task.number}-{number}-{attempt}",
            ai_center_id=code,
            center_name=offer.center.name,
            price_minor=offer.price_there_minor,
            cost_minor=offer.cost_minor,
            charge_uid=charge_uid_of(job, offer),
            placed_at=now,
        )
        remote_request(job, task, row, offer, lies[code], actor=actor)
        sent.append((row, offer))
    counts: dict[str, int] = defaultdict(int)
    for _number, code in pairs:
        counts[code] += 1
    there = [reason(Finding.DATA_THERE, data=each) for each in tasks_data([task.pk]).get(task.pk, ())]
    for code, count in counts.items():
        Decision.objects.create(
            task=task,
            kind=DecisionKind.PLACED,
            at=now,
            ai_center_id=code,
            score=binding.score,
            replicas=count,
            reasons=reasons_kept([*explain(explained[code]), *there]),
            standings=_standings(explained[code]),
        )
    if task.waits_for:
        task.waits_for = []
        task.save(update_fields=["waits_for"])
    return sent


def _standings(explained: Evaluation) -> list[dict[str, object]]:
    """Of the centres that serve the tenant, who reads this: of others it hears nothing."""
    serving = [
        standing
        for standing in explained.centres
        if all(each.code is not Code.NOT_SERVED for each in standing.reasons)
    ]
    return [
        {
            "center": standing.centre_id,
            "final": standing.final,
            "price": standing.price,
            "refused": reasons_kept(standing.reasons[:1]),
            "scores": [[each.policy, each.score, each.is_known] for each in standing.scores if each.permille],
        }
        for standing in serving[:_STANDINGS_MOST]
    ]


def _is_whole(job: Job, tasks: Mapping[str, Task], bindings: Iterable[Binding]) -> bool:
    """Whether the bindings give a centre to every replica that the job lacks, and nothing of it is being taken back."""
    current = list(Replica.objects.filter(task__job=job, is_current=True).values_list("task", "again"))
    if any(again for _task, again in current):
        return False
    has = Counter(str(task) for task, _again in current)
    bound = {binding.task_id: len(binding.centre_ids) for binding in bindings}
    lacks = {key: task.replicas - has[key] for key, task in tasks.items() if task.replicas > has[key]}
    return all(bound.get(key, 0) >= count for key, count in lacks.items())


def _is_missing(job: Job) -> bool:
    current = Replica.objects.filter(task__job=job, is_current=True).count()
    return current < sum(job.tasks.values_list("replicas", flat=True))


def _waits_keep(waits: Mapping[str, tuple[Reason, ...]]) -> None:
    """Say at each task why it waits, where that is new; in parts, so that no task stays locked for long."""
    keys = sorted(int(key) for key in waits)
    for at in range(0, len(keys), _WAITS_PART):
        with transaction.atomic():
            rows = Task.objects.select_for_update(no_key=True).filter(pk__in=keys[at : at + _WAITS_PART])
            for task in rows.defer("command").order_by("pk"):
                _wait_keep(task, reasons_kept(waits[str(task.pk)]))


def _wait_keep(task: Task, reasons: list[list[Any]]) -> None:
    if task.waits_for == reasons:
        return
    if [code for code, _ in task.waits_for] != [code for code, _ in reasons]:
        Decision.objects.create(task=task, kind=DecisionKind.WAITS, at=timezone.now(), reasons=reasons)
    task.waits_for = reasons
    task.save(update_fields=["waits_for"])
