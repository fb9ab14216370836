"""The queues of resource groups: what each group has, and how much of it may be used (PLAT-AICFG-23)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from apps.fleet.models import Device, ResourceGroup
from apps.fleet.selectors import device_list, group_list
from apps.scheduling.selectors.queues.queue_tree import Branch, Use, queue_tree
from apps.scheduling.types import DEFAULT_QUEUE


@dataclass(frozen=True, slots=True)
class GroupLine:
    """A resource group and its queue; of the default row, of all of them together.

    `room_*` is what its usable devices can give, `most_*` what the queue may use of it.
    """

    code: str
    group: ResourceGroup | None
    branch: Branch | None
    devices: int = 0
    nodes: frozenset[str] = frozenset()
    models: tuple[str, ...] = ()
    room_percent: int = 0
    room_mib: int = 0
    most_percent: int = 0
    most_mib: int = 0
    use: Use = field(default_factory=Use)


def group_lines() -> tuple[list[GroupLine], GroupLine]:
    """A line for each resource group, and the default row: their sum."""
    branches = {branch.queue.code: branch for branch in queue_tree()}
    cards: dict[str, list[Device]] = {}
    for card in device_list().filter(left_at=None, is_enabled=True, group__isnull=False):
        cards.setdefault(card.group.code, []).append(card)
    lines = [_line(group, cards.get(group.code, []), branches.get(group.code)) for group in group_list()]
    return lines, _sum(lines, branches.get(DEFAULT_QUEUE))


def _line(group: ResourceGroup, cards: Sequence[Device], branch: Branch | None) -> GroupLine:
    percent, mib = sum(card.room_percent for card in cards), sum(card.room_mib for card in cards)
    return GroupLine(
        code=group.code,
        group=group,
        branch=branch,
        devices=len(cards),
        nodes=frozenset(card.node.name for card in cards),
        models=_models(card.model for card in cards),
        room_percent=percent,
        room_mib=mib,
        most_percent=_bounded(branch, "compute_percent", percent),
        most_mib=_bounded(branch, "memory_mib", mib),
        use=branch.use if branch else Use(),
    )


def _bounded(branch: Branch | None, item: str, room: int) -> int:
    most = getattr(branch.queue, f"max_{item}") if branch else None
    return room if most is None else min(room, most + getattr(branch.queue, f"borrow_{item}"))


def _models(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(found)))


def _sum(lines: Sequence[GroupLine], branch: Branch | None) -> GroupLine:
    use = Use()
    for line in lines:
        use = use.plus(line.use)
    return GroupLine(
        code=DEFAULT_QUEUE,
        group=None,
        branch=branch,
        devices=sum(line.devices for line in lines),
        nodes=frozenset().union(*(line.nodes for line in lines)),
        models=_models(model for line in lines for model in line.models),
        room_percent=sum(line.room_percent for line in lines),
        room_mib=sum(line.room_mib for line in lines),
        most_percent=sum(line.most_percent for line in lines),
        most_mib=sum(line.most_mib for line in lines),
        use=use,
    )
