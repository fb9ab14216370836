"""What is promised of every plan about who lies beside whom."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from apps.scheduling.engine.cycle.plan import Plan
from apps.scheduling.engine.model.types import Alone, Grant
from apps.scheduling.engine.state.scheduler_state import SchedulerState

Held = dict[str, list[tuple[str, Grant]]]


def terms_hold(warm: SchedulerState, made: Plan) -> None:
    """Where something starts, nothing is beside work that is alone, and no device has more shares than its work
    lets be there. What is being stopped is there still, and counts against no number (PLAT-CLU-57)."""
    held: Held = defaultdict(list)
    leaving = {work.id for work in warm.running.values() if work.preempted}
    for work in warm.running.values():
        _put(held, work.id, work.grants)
    given: set[str] = set()
    for owner, grants in additions(made):
        _put(held, owner, grants)
        given |= {grant.device_id for grant in grants}
    by_node: dict[str, list[tuple[str, Grant]]] = defaultdict(list)
    for each in held.values():
        for owner, grant in each:
            if grant.device_id in warm.devices:
                by_node[grant.node_id].append((owner, grant))
    for device_id in given & warm.devices.keys():
        on = [(owner, grant) for owner, grant in held[device_id] if grant.compute_percent]
        alone_is_alone(on, Alone.DEVICE, Alone.NODE)
        bounds_hold([grant for owner, grant in on if owner not in leaving])
        alone_is_alone(by_node[warm.devices[device_id].node_id], Alone.NODE)


def additions(made: Plan) -> Iterable[tuple[str, tuple[Grant, ...]]]:
    """Whose grants the plan gives."""
    yield from ((each.request_id, each.grants) for each in made.placements)
    yield from ((each.running_id, each.grants) for each in made.resizes)
    yield from ((each.running_id, (each.to,)) for each in made.moves)


def _put(held: Held, owner: str, grants: tuple[Grant, ...]) -> None:
    for grant in grants:
        held[grant.device_id].append((owner, grant))


def alone_is_alone(on: list[tuple[str, Grant]], *kinds: Alone) -> None:
    """Where anything has the place alone, all there is of one work."""
    assert not any(grant.alone in kinds for _, grant in on) or len({owner for owner, _ in on}) == 1


def bounds_hold(grants: list[Grant]) -> None:
    """As many shares as the least bound of them says."""
    bounds = [grant.max_on_device for grant in grants if grant.max_on_device]
    assert not bounds or len(grants) <= min(bounds)


def hold_is_fit(need: list[Grant], lasting: list[Grant]) -> None:
    """What is held on a device can lie beside what is there then."""
    there = [grant for grant in lasting if grant.compute_percent]
    held = [grant for grant in need if grant.compute_percent]
    if held and there:
        assert not any(grant.alone for grant in (*held, *there))
        bounds_hold([*held, *there])
