"""Elastic work grows into what nothing that waits could use."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from apps.scheduling.engine.model.types import Alone, ElasticChange, Grant, Request, RunningWorkload
from apps.scheduling.engine.placement.assignment import fill
from apps.scheduling.engine.placement.fit import View, room, server_room
from apps.scheduling.engine.placement.place import grant_of
from apps.scheduling.engine.queueing.quota import granted
from apps.scheduling.engine.resources.pool import Card, Pool
from apps.scheduling.engine.resources.shapes import Shape
from apps.scheduling.engine.state.pass_state import PassState


def grow(pass_: PassState) -> None:
    """Give spare room to elastic work, the highest priority first, up to its most (ELA-902, 903, 904)."""
    state = pass_.state
    if not state.policy.elastic or not state.roles.elastic:
        return
    wanted = 0
    for shape in pass_.starved:
        wanted |= state.fit.area(shape.constraint).usable
    shrunk = {change.running_id for change in pass_.resizes}
    stopped = {each.running_id for each in pass_.preemptions}
    for work in sorted(
        state.roles.elastic.values(), key=lambda work: (-work.priority, work.started_at_s, work.id)
    ):
        if work.id not in shrunk | stopped and _may_grow(pass_, work):
            _grow_one(pass_, work, wanted)


def _may_grow(pass_: PassState, work: RunningWorkload) -> bool:
    """Room for more, and long enough since the last change (ELA-908)."""
    if work.asks is None or len(work.grants) >= work.shares:
        return False
    rested = work.resized_at_s is None or pass_.now - work.resized_at_s >= pass_.state.policy.hysteresis_s
    ends = work.ends_at_s
    return rested and (ends is None or ends > pass_.now)


def _grow_one(pass_: PassState, work: RunningWorkload, wanted: int) -> None:
    state, asks = pass_.state, work.asks
    queue = state.queues.get(work.queue_id)
    if asks is None or queue is None:
        return
    per = asks.shares_per_replica
    shape = state.shapes.sized(state.shapes.of(asks, queue, state.policy), per)
    grown: list[Grant] = []
    while len(work.grants) + len(grown) + per <= work.shares:
        more = _one_more(pass_, work, asks, shape, wanted, grown)
        if not more:
            break
        grown += more
    if grown:
        pass_.resizes.append(ElasticChange(work.id, len(work.grants) + len(grown), tuple(grown)))


def _one_more(
    pass_: PassState, work: RunningWorkload, asks: Request, shape: Shape, wanted: int, grown: list[Grant]
) -> tuple[Grant, ...]:
    """One share more, or one replica, taken; none where it cannot be."""
    state = pass_.state
    view = state.placer.view(work.ends_at_s)
    shape = state.open_shape(work.tenant_id, shape)
    cards = _beside_itself(pass_, work, shape, view, grown) if shape.alone else None
    cards = cards or state.placer.find(shape, view, asks.submitted_seq)
    if cards is None or any(card.bit & wanted for card in cards):
        return ()
    grants = tuple(grant_of(card, shape) for card in cards)
    held = {each.device_id for each in (*work.grants, *grown)}
    nodes = {each.node_id for each in work.grants}
    apart = asks.distinct_devices and any(grant.device_id in held for grant in grants)
    strayed = asks.single_node and grants[0].node_id not in nodes
    if apart or strayed or _over_quota(pass_, work, grants):
        return ()
    state.placer.take_these(grants, view)
    state.count(work.tenant_id, work.queue_id, grants, 1)
    pass_.taken.append((work.tenant_id, work.queue_id, grants, view))
    return grants


def _beside_itself(
    pass_: PassState, work: RunningWorkload, shape: Shape, view: View, grown: list[Grant]
) -> list[Card] | None:
    """Room for more of work that is alone on the devices, or nodes, that it has already; None where there is none."""
    pool, area, held = pass_.state.pool, pass_.state.fit.area(shape.constraint), (*work.grants, *grown)
    own = Counter(grant.device_id for grant in held if grant.compute_percent)
    plain = replace(shape, alone=Alone.NO)
    _open(pool, held, is_open=True)
    try:
        for server in dict.fromkeys(pool.cards[each].server for each in own if each in pool.cards):
            mine = [card for card in area.on_server.get(server.at, ()) if _is_its_own(card, shape, own)]
            if server_room(mine, server, plain, view, shape.shares) >= shape.shares:
                return fill([(server, [card for card in mine if room(card, plain, view)])], plain, view)
    finally:
        _open(pool, held, is_open=False)
    return None


def _is_its_own(card: Card, shape: Shape, own: Counter[str]) -> bool:
    """Whether nothing lies there but the work; not a device that it has already where each share wants another."""
    if shape.distinct_devices and card.device.id in own:
        return False
    cards = card.server.cards if shape.alone is Alone.NODE else [card]
    return all(each.holders == own[each.device.id] for each in cards) and any(
        own[each.device.id] for each in cards
    )


def _open(pool: Pool, held: tuple[Grant, ...], *, is_open: bool) -> None:
    """Let more lie where these are, or not any more."""
    for grant in held:
        plain = grant._replace(alone=Alone.NO)
        pool.give(grant if is_open else plain)
        pool.take(plain if is_open else grant)


def _over_quota(pass_: PassState, work: RunningWorkload, grants: tuple[Grant, ...]) -> bool:
    amount = granted(grants)
    state = pass_.state
    return (
        state.model_quota.shortage(work.tenant_id, grants) is not None
        or state.tenant_quota.shortage(work.tenant_id, amount) is not None
        or state.queue_quota.shortage(work.queue_id, amount) is not None
    )
