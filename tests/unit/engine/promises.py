"""What is promised of every plan, whatever the rows and whatever happened before."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from apps.scheduling.engine.cycle.plan import Plan
from apps.scheduling.engine.model.types import (
    Device,
    Grant,
    HoldKind,
    Node,
    Placing,
    Quota,
    Request,
    RunningWorkload,
)
from apps.scheduling.engine.queueing.quota import DIMENSIONS, granted, triple
from apps.scheduling.engine.resources.running_index import is_separable, leaving_grants
from apps.scheduling.engine.state.scheduler_state import SchedulerState
from tests.unit.engine.promises_beside import hold_is_fit, terms_hold

Use = dict[str, list[int]]


def check(warm: SchedulerState, made: Plan, now: int) -> None:
    """All of them: `made` is the plan of the warm state at `now`."""
    nothing_is_given_twice(warm, made)
    words_hold(warm, made)
    terms_hold(warm, made)
    quotas_are_kept(warm, made)
    quotas_of_models_are_kept(warm, made)
    every_request_is_judged_once(warm, made)
    all_or_nothing(warm, made)
    nobody_is_stopped_without_right(warm, made, now)
    guarantees_outlast_priority(warm, made)
    elastic_work_stays_within_its_bounds(warm, made)
    nobody_is_moved_and_stopped_at_once(warm, made)
    windows_and_times_are_kept(warm, made, now)
    no_start_delays_a_reserved_one(warm, made, now)


def planned(made: Plan) -> Iterator[tuple[Grant, ...]]:
    """All grants that the plan gives."""
    yield from (placement.grants for placement in made.placements)
    yield from (change.grants for change in made.resizes)
    yield from ((move.to,) for move in made.moves)


def nothing_is_given_twice(warm: SchedulerState, made: Plan) -> None:
    """With all that was planned no device and no host has more than it had, nor a whole card a second holder."""
    held: dict[str, list[Grant]] = defaultdict(list)
    given: dict[str, Grant] = {}
    for work in warm.running.values():
        for grant in work.grants:
            held[grant.device_id].append(grant)
    for grants in planned(made):
        for grant in grants:
            held[grant.device_id].append(grant)
            given[grant.device_id] = grant
    for device_id in given:
        device, grants = warm.devices[device_id], held[device_id]
        assert sum(grant.compute_percent for grant in grants) <= device.compute_capacity_percent
        assert sum(grant.memory_mib for grant in grants) <= device.memory_capacity_mib
        assert not any(grant.exclusive for grant in grants) or len(grants) == 1
    for node_id in {grant.node_id for grant in given.values() if grant.host_cpu_milli}:
        most = warm.nodes[node_id].host_cpu_milli
        on = [grant for grants in held.values() for grant in grants if grant.node_id == node_id]
        known = [grant for grant in on if grant.device_id in warm.devices]
        assert most is None or sum(grant.host_cpu_milli for grant in known) <= most


def words_hold(warm: SchedulerState, made: Plan) -> None:
    """What keeps others off its device has none of them beside it."""
    new = [grant for grants in planned(made) for grant in grants if grant.affinity or grant.anti_affinity]
    if not new:
        return
    held: dict[str, list[Grant]] = defaultdict(list)
    for grants in (*(work.grants for work in warm.running.values()), *planned(made)):
        for grant in grants:
            held[grant.device_id].append(grant)
    for grant in new:
        for other in held[grant.device_id]:
            shunned = other is not grant and other.anti_affinity
            assert not shunned or shunned not in (grant.affinity, grant.anti_affinity)


def used_by(warm: SchedulerState, works: Iterator[tuple[str, str, tuple[Grant, ...]]]) -> tuple[Use, Use]:
    """What tenants and queues, with all below them, have of (tenant, queue, grants)."""
    tenants: Use = defaultdict(lambda: [0, 0, 0])
    queues: Use = defaultdict(lambda: [0, 0, 0])
    for tenant_id, queue_id, grants in works:
        amount = granted(grants)
        for used in (tenants[tenant_id], *(queues[each] for each in line_of(warm, queue_id))):
            for i in range(3):
                used[i] += amount[i]
    return tenants, queues


def line_of(warm: SchedulerState, queue_id: str) -> Iterator[str]:
    """The queue and all above it."""
    each: str | None = queue_id
    while each is not None:
        yield each
        queue = warm.queues.get(each)
        each = None if queue is None else queue.parent_id


def additions(warm: SchedulerState, made: Plan) -> Iterator[tuple[str, str, tuple[Grant, ...]]]:
    """What the plan gives beyond what is in use; moves count already."""
    yield from ((each.tenant_id, each.queue_id, each.grants) for each in made.placements)
    for change in made.resizes:
        work = warm.running[change.running_id]
        yield work.tenant_id, work.queue_id, change.grants


def quotas_are_kept(warm: SchedulerState, made: Plan) -> None:
    """Who is given more stays within nominal plus borrow, and takes nothing that is kept for another's guarantee."""
    running = ((work.tenant_id, work.queue_id, work.grants) for work in warm.running.values())
    tenants, queues = used_by(warm, iter([*running, *additions(warm, made)]))
    more_tenants, more_queues = used_by(warm, additions(warm, made))
    own = {each: warm.tenant_quotas.get(each, Quota()) for each in more_tenants}
    for used, more, quotas in (
        (tenants, more_tenants, own),
        (queues, more_queues, {each: warm.queues[each].quota for each in more_queues}),
    ):
        for holder, quota in quotas.items():
            for i, name in enumerate(DIMENSIONS):
                most = getattr(quota.nominal, name)
                if most is not None and more[holder][i]:
                    assert used[holder][i] <= most + getattr(quota.borrow, name)
    for parent in {None, *more_queues}:
        guarantees_are_kept(warm, parent, queues, more_queues)


def quotas_of_models_are_kept(warm: SchedulerState, made: Plan) -> None:
    """Who is given more of a model stays within what is theirs of it (ELA-308)."""
    used: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    more: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    moved = ((warm.running[move.running_id].tenant_id, "", (move.to,)) for move in made.moves)
    given = [*additions(warm, made), *moved]
    running = [(work.tenant_id, "", work.grants) for work in warm.running.values()]
    for works, sums in ((running, (used,)), (given, (used, more))):
        for tenant_id, _, grants in works:
            for grant in grants:
                if grant.device_id in warm.devices:
                    held = (tenant_id, warm.devices[grant.device_id].model)
                    for each in sums:
                        for i, amount in enumerate(granted((grant,))):
                            each[held][i] += amount
    for tenant_id, quota in warm.tenant_quotas.items():
        for model, limit in quota.by_model:
            for i, name in enumerate(DIMENSIONS):
                most = getattr(limit, name)
                assert most is None or not more[tenant_id, model][i] or used[tenant_id, model][i] <= most


def guarantees_are_kept(warm: SchedulerState, parent: str | None, used: Use, more: Use) -> None:
    """Of what the parent has to divide, its queues leave each other the idle guarantees that are not lent."""
    rows = {queue.id: queue.quota for queue in warm.queues.values() if queue.parent_id == parent}
    grown = [each for each in rows if more.get(each, [0])[0]]
    if parent is None:
        most: int | None = warm.pool.capacity().compute_percent
        total = sum(each[0] for queue_id, each in used.items() if queue_id in rows)
    else:
        quota = warm.queues[parent].quota
        nominal = quota.nominal.compute_percent
        most = None if nominal is None else nominal + quota.borrow.compute_percent
        total = used[parent][0]
    kept = {each: _kept(quota, used.get(each, [0])[0]) for each, quota in rows.items()}
    if grown and most is not None and any(kept.values()):
        assert any(total + sum(kept.values()) - kept[each] <= most for each in grown)


def _kept(quota: Quota, used_percent: int) -> int:
    lend = quota.lend.compute_percent
    idle = max(0, quota.guaranteed.compute_percent - used_percent)
    return 0 if lend is None else max(0, idle - lend)


def every_request_is_judged_once(warm: SchedulerState, made: Plan) -> None:
    """Each is placed or refused, and the refused of each queue are numbered from 1."""
    judged = [placement.request_id for placement in made.placements]
    places: dict[str, list[int]] = defaultdict(list)
    for refusal in made.refusals:
        judged.append(refusal.request_id)
        places[refusal.queue_id].append(refusal.position)
    assert sorted(judged) == sorted(request.id for request in warm.backlog.requests())
    assert all(line == list(range(1, len(line) + 1)) for line in places.values())


def all_or_nothing(warm: SchedulerState, made: Plan) -> None:
    """What starts has all its shares, elastic work its least at the least, where it may be."""
    for placement in made.placements:
        request = warm.backlog.request(placement.request_id)
        assert request is not None
        least = request.shares if request.min_shares is None else request.min_shares
        assert least <= len(placement.grants) <= request.shares
        check_grants(request, placement.grants, warm.devices, warm.nodes)
        local = placement.policy is Placing.LOCAL and request.local_node_id
        assert not local or {grant.node_id for grant in placement.grants} == {local}
    for change in made.resizes:
        asks = warm.running[change.running_id].asks
        assert asks is not None
        check_grants(asks, change.grants, warm.devices, warm.nodes)


def check_grants(
    request: Request, grants: tuple[Grant, ...], devices: dict[str, Device], nodes: dict[str, Node]
) -> None:
    """Each as large as asked, where asked, on devices in service."""
    assert not request.distinct_devices or len({grant.device_id for grant in grants}) == len(grants)
    assert not request.single_node or len({grant.node_id for grant in grants}) <= 1
    check_replicas(request, grants)
    for grant in grants:
        device, node = devices[grant.device_id], nodes[grant.node_id]
        assert device.node_id == node.id
        assert device.enabled
        assert device.healthy
        assert node.ready
        assert node.schedulable
        assert grant.exclusive is request.exclusive
        assert grant.compute_percent == request.compute_percent
        assert grant.memory_mib == (device.memory_mib if request.exclusive else request.memory_mib)
        assert request.memory_mib <= grant.memory_mib
        assert request.model in (None, device.model)
        assert request.node_id in (None, node.id)


def check_replicas(request: Request, grants: tuple[Grant, ...]) -> None:
    """They are whole replicas, each on one node (ELA-505)."""
    per = request.shares_per_replica
    replicas = [grants[i : i + per] for i in range(0, len(grants), per)]
    assert all(len(replica) == per for replica in replicas)
    assert per == 1 or all(len({grant.node_id for grant in replica}) == 1 for replica in replicas)


def nobody_is_stopped_without_right(warm: SchedulerState, made: Plan, now: int) -> None:
    """By priority only what is lower, by reclaim only what is of another queue, by fair share only another tenant's;
    none too young, and but for a guarantee none too often or that is not preemptible."""
    for each in made.preemptions:
        victim, request = warm.running[each.running_id], warm.backlog.request(each.for_request_id)
        assert request is not None
        assert not victim.preempted
        assert now - victim.started_at_s >= max(victim.min_run_s, warm.policy.min_run_s)
        limit = warm.policy.preempt_limit
        if each.reason != "reclaim":
            assert victim.preemptible
            assert limit is None or victim.preempted_count < limit
        if each.reason == "priority":
            above, below = _path(warm, request.queue_id), _path(warm, victim.queue_id)
            assert (below, victim.priority) < (above, request.priority), (
                "of a lesser queue, or lower within it"
            )
            assert warm.policy.preemption
            assert warm.queues[request.queue_id].preempts
        elif each.reason == "fair_share":
            assert victim.tenant_id != request.tenant_id
            assert warm.policy.preemption
            assert warm.queues[request.queue_id].preempts
        else:
            assert warm.policy.reclaim
            assert warm.queues[request.queue_id].reclaim
            assert victim.queue_id != request.queue_id
    stopped = [each.running_id for each in made.preemptions]
    assert len(set(stopped)) == len(stopped)


def _path(warm: SchedulerState, queue_id: str) -> list[int]:
    """The priorities from the uppermost queue down to this one, and as many zeros as there may be queues."""
    line = [warm.queues[each].priority for each in [*line_of(warm, queue_id)][::-1]]
    return line + [0] * (len(warm.queues) - len(line))


def guarantees_outlast_priority(warm: SchedulerState, made: Plan) -> None:
    """Whoever loses work to others keeps what is guaranteed (ELA-813): where its own requests take part, that is
    its own affair."""
    losers: set[str] = set()
    own: set[str] = set()
    for each in made.preemptions:
        losers |= set(line_of(warm, warm.running[each.running_id].queue_id))
        request = warm.backlog.request(each.for_request_id)
        assert request is not None
        own |= set(line_of(warm, request.queue_id))
    if not losers - own:
        return
    stopped = {each.running_id for each in made.preemptions}
    shrunk = {change.running_id: change.shares for change in made.resizes if not change.grants}
    left = ((work.tenant_id, work.queue_id, _left(work, stopped, shrunk)) for work in warm.running.values())
    _, queues = used_by(warm, iter([*left, *additions(warm, made)]))
    for queue_id in losers - own:
        guaranteed = triple(warm.queues[queue_id].quota.guaranteed)
        assert all(queues[queue_id][i] >= own for i, own in enumerate(guaranteed) if own)


def _left(work: RunningWorkload, stopped: set[str], shrunk: dict[str, int]) -> tuple[Grant, ...]:
    if work.id in stopped:
        return ()
    leaving = Counter(leaving_grants(work))
    grants = list(work.grants[: shrunk.get(work.id, len(work.grants))])
    for grant in leaving.elements():
        grants.remove(grant)
    return tuple(grants)


def elastic_work_stays_within_its_bounds(warm: SchedulerState, made: Plan) -> None:
    """Never below its least nor beyond its most, and every change is one."""
    for change in made.resizes:
        work = warm.running[change.running_id]
        assert (work.min_shares or 1) <= change.shares <= work.shares
        assert change.shares != len(work.grants)
        assert not change.grants or change.shares == len(work.grants) + len(change.grants)
        assert work.asks is not None
        assert change.shares % work.asks.shares_per_replica == 0
        check_replicas(work.asks, (*work.grants, *change.grants)[: change.shares])


def nobody_is_moved_and_stopped_at_once(warm: SchedulerState, made: Plan) -> None:
    """Of one piece of work the plan does one thing, and what is to be on one node is not parted."""
    moved = {move.running_id for move in made.moves}
    assert all(is_separable(warm.running[each]) for each in moved)
    taken = [each.running_id for each in made.preemptions]
    taken += [change.running_id for change in made.resizes if not change.grants]
    assert len(set(taken)) == len(taken)
    assert not moved & set(taken)


def windows_and_times_are_kept(warm: SchedulerState, made: Plan, now: int) -> None:
    """Nothing starts before its time, too late for its deadline or outside its queue's windows."""
    for placement in made.placements:
        request = warm.backlog.request(placement.request_id)
        assert request is not None
        ends = now + (request.duration_s or 0)
        assert request.earliest_start_s is None or request.earliest_start_s <= now
        assert request.deadline_s is None or ends <= request.deadline_s
        for window in warm.queues[request.queue_id].windows:
            assert window.from_s <= now < window.to_s
            assert ends <= window.to_s


def no_start_delays_a_reserved_one(warm: SchedulerState, made: Plan, now: int) -> None:
    """At each hold's start, what was planned and what runs until then leave room for all that is held there."""
    for hold in made.holds:
        for device_id in {grant.device_id for grant in hold.grants}:
            need = _on(hold.grants, device_id)
            lasting = _lasting(warm, made, device_id, now, hold.start_at_s, hold.kind is HoldKind.NOMINATED)
            assert _percent((*need, *lasting)) <= warm.devices[device_id].compute_capacity_percent
            hold_is_fit(need, lasting)


def _lasting(warm: SchedulerState, made: Plan, device_id: str, now: int, at: int, freed: bool) -> list[Grant]:
    """What is on the device then; of freed room, with all gone that leaves."""
    stopped = {each.running_id for each in made.preemptions}
    shrunk = {change.running_id: change.shares for change in made.resizes}
    found: list[Grant] = []
    for work in warm.running.values():
        if work.preempted or work.id in stopped or not _lasts(work, at, freed):
            continue
        most = min(
            shrunk.get(work.id, 99), len(work.grants) if work.target_shares is None else work.target_shares
        )
        gone = {move.share for move in made.moves if move.running_id == work.id} | work.moving
        found += _on([g for i, g in enumerate(work.grants) if i < most and i not in gone], device_id)
    for placement in made.placements:
        request = warm.backlog.request(placement.request_id)
        assert request is not None
        if freed or request.duration_s is None or now + request.duration_s > at:
            found += _on(placement.grants, device_id)
    # What grows or moves ends with its work.
    gained = [(change.running_id, change.grants) for change in made.resizes]
    gained += [(move.running_id, (move.to,)) for move in made.moves]
    for name, grants in gained:
        found += _on(grants, device_id) if _lasts(warm.running[name], at, freed) else []
    return found


def _lasts(work: RunningWorkload, at: int, freed: bool) -> bool:
    """Whether it still runs then; of freed room it is not said when that is."""
    return freed or work.ends_at_s is None or work.ends_at_s > at


def _on(grants: Iterable[Grant], device_id: str) -> list[Grant]:
    return [grant for grant in grants if grant.device_id == device_id]


def _percent(grants: Iterable[Grant]) -> int:
    return sum(grant.compute_percent for grant in grants)
