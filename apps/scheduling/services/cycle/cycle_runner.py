"""One pass of the scheduler: look, plan, apply by compare-and-set, say why the rest waits."""

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from time import monotonic

from django.db import DatabaseError, OperationalError, connection, transaction
from django.utils import timezone

from apps.kernel.actor import Actor
from apps.kernel.bulk import update_many
from apps.kernel.service import service
from apps.scheduling.engine.cycle.planner import plan_kept
from apps.scheduling.engine.model.types import Hold, Placement, Refusal
from apps.scheduling.models import Workload
from apps.scheduling.services.cycle.apply_changes import changes_apply
from apps.scheduling.services.cycle.apply_plan import changed_tell, placements_apply
from apps.scheduling.services.cycle.cluster_cache import ClusterCache
from apps.scheduling.services.cycle.nominated_room import nominated_room_keep
from apps.scheduling.services.decisions import decisions_put
from apps.scheduling.states import DecisionKind, WorkloadState
from apps.scheduling.types import CycleReport

# Any fixed number: whoever holds it leads, until it lets go or its connection ends.
LEADER_LOCK = 0x57656972
# So many are placed in one transaction: small enough that the first are told soon.
BATCH = 500
# Of what goes on waiting, only so many are told of other figures at a time.
_FIGURES_MOST = 1000


@service(recorded=False)
def cycle_run(*, actor: Actor) -> CycleReport:
    """One pass by somebody who does not lead for good. While another leads it does nothing (ELA-109)."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [LEADER_LOCK])
        if not cursor.fetchone()[0]:
            return CycleReport(led=False)
    cache = ClusterCache()
    cache.read()
    return CycleRunner(cache, actor=actor).run()


class CycleRunner:
    """Pass after pass over one cluster cache, which has been brought up to date before each."""

    def __init__(self, cache: ClusterCache, *, actor: Actor) -> None:
        self.cache, self._actor = cache, actor
        self._written: dict[int, tuple[str, dict[str, object], int]] = {}
        self._explained_s = -1e9

    def run(self) -> CycleReport:
        """Place, stop, resize and move what should be; each batch is one transaction."""
        if not (self.cache.waiting or self.cache.running or self.cache.state.holds):
            return CycleReport(led=True)
        now = int(timezone.now().timestamp())
        decided = plan_kept(self.cache.state, now, now)
        placed = sum(self._place(batch) for batch in _batches(decided.placements))
        self._keep(decided.nominated_holds)
        changes_apply(actor=self._actor, cache=self.cache, plan=decided)
        self._explain(decided.refusals)
        return CycleReport(
            led=True, placed=placed, stale=len(decided.placements) - placed, waiting=len(decided.refusals)
        )

    def _keep(self, holds: Sequence[Hold]) -> None:
        before, after = self.cache.state.holds, {hold.request_id: hold for hold in holds}
        if before != after:
            nominated_room_keep(actor=self._actor, before=before, after=after, keys=self.cache.keys)
            self.cache.state.holds_put(tuple(holds))

    def _place(self, batch: Sequence[Placement]) -> int:
        """How many were placed. What the database refuses of many is tried apart: one bad row stops no other."""
        try:
            with transaction.atomic():
                chosen = placements_apply(
                    actor=self._actor, placements=batch, bound=self.cache.state.model_quota.tenants
                )
        except OperationalError:
            raise
        except DatabaseError:
            if len(batch) == 1:
                raise
            half = len(batch) // 2
            return self._place(batch[:half]) + self._place(batch[half:])
        self.cache.placed(chosen)
        for each in chosen:
            self._written.pop(each.row.pk, None)
        return len(chosen)

    def _explain(self, refusals: Sequence[Refusal]) -> None:
        """Write down why each waits and its place, where that changed; other figures at most each second."""
        if not refusals or (self._written and monotonic() - self._explained_s < 1.0):
            return
        self._explained_s = monotonic()
        news, figures = [], []
        for refusal in refusals:
            pk = self.cache.keys.get(refusal.request_id)
            if pk is None:
                continue
            before = self._written.get(pk)
            now = (refusal.reason.code.value, dict(refusal.reason.params), refusal.position)
            if before is None or before[0] != now[0]:
                news.append((pk, now))
            elif before != now and len(figures) < _FIGURES_MOST:
                figures.append((pk, now))
        for batch in _batches([*news, *figures], 2000):
            refusals_tell(actor=self._actor, reasons=batch)
        self._written.update([*news, *figures])
        if len(self._written) > 2 * len(self.cache.waiting) + 1000:
            # What was stopped while it waited is told nothing any more.
            self._written = {pk: reason for pk, reason in self._written.items() if pk in self.cache.waiting}


@service(recorded=False)
def refusals_tell(*, actor: Actor, reasons: Sequence[tuple[int, tuple[str, dict[str, object], int]]]) -> None:
    """Write down why workloads wait, by key: the code, its figures and the place in the queue."""
    rows = Workload.plain.filter(pk__in=[pk for pk, _now in reasons], state=WorkloadState.PENDING)
    known = {row.pk: row for row in rows.select_related("tenant").only(*_REASON_COLUMNS)}
    changed = [
        (pk, now)
        for pk, now in reasons
        if pk in known and (known[pk].reason_code, known[pk].reason, known[pk].position) != now
    ]
    columns = {"reason_code": "text", "reason": "jsonb", "position": "integer"}
    # Conditional: a workload that somebody stopped meanwhile keeps its own reason.
    update_many(
        "scheduling_workload",
        columns,
        [(pk, code, json.dumps(params), position) for pk, (code, params, position) in changed],
        "t.state = 'pending'",
    )
    news = [(pk, now) for pk, now in changed if known[pk].reason_code != now[0]]
    decisions_put(
        actor=actor,
        lines=[(pk, DecisionKind.WAITING, code, params) for pk, (code, params, _place) in news],
    )
    changed_tell([known[pk] for pk, _now in changed], actor)


_REASON_COLUMNS = ("uid", "reason_code", "reason", "position", "tenant__schema_name")


def _batches(items: Sequence, size: int = BATCH) -> Iterator[Sequence]:
    source = iter(items)
    while batch := list(islice(source, size)):
        yield batch
