"""Which of the devices that have room lie near each other: one island of a fast link, one NUMA node, one rack."""

from __future__ import annotations

from collections.abc import Callable

from apps.scheduling.engine.resources.pool import Card, Server


def one_island(rooms: dict[Card, int], wanted: int) -> dict[Card, int]:
    """The cards of the tightest fast link that takes all shares, else of the tightest NUMA node, else all."""
    links: Callable[[Card], str] = lambda card: card.device.link_group  # noqa: E731
    numas: Callable[[Card], str] = lambda card: card.device.numa  # noqa: E731
    for of in (links, numas):
        found = _tightest(rooms, of, wanted)
        if found is not None:
            return {card: count for card, count in rooms.items() if of(card) == found}
    return rooms


def _tightest(rooms: dict[Card, int], of: Callable[[Card], str], wanted: int) -> str | None:
    """The named part with the least room that is enough: larger ones stay whole for larger requests."""
    by_name: dict[str, int] = {}
    for card, count in rooms.items():
        if of(card):
            by_name[of(card)] = by_name.get(of(card), 0) + count
    enough = [(count, name) for name, count in by_name.items() if count >= wanted]
    return min(enough)[1] if enough else None


def near(rooms: dict[Server, int], wanted: int, order: dict[Server, int]) -> list[Server]:
    """The servers to be filled in turn: of one rack where one has the room, the roomiest first, so that few
    are needed; then in the policy's order."""
    racks: dict[str, int] = {}
    for server, count in rooms.items():
        racks[server.node.rack] = racks.get(server.node.rack, 0) + count
    enough = [(count, rack) for rack, count in racks.items() if rack and count >= wanted]
    servers = list(rooms)
    if enough:
        rack = min(enough)[1]
        servers = [server for server in servers if server.node.rack == rack]
    return sorted(servers, key=lambda server: (-rooms[server], order[server], server.at))
