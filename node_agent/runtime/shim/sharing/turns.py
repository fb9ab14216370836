"""Whose turn it is on a card: of works that are stopped and continued, and of sessions whose worker waits, one runs at
a time, or each would have a part of the card while it runs.

Pure. Every shim of a card finds the same turns from the same entries and the same clock; nobody is asked for one.
"""

from __future__ import annotations

from collections.abc import Iterable

from node_agent.runtime.shim.sharing.device_sharing import Entry
from node_agent.turn import Turn


def turn_of(own: Entry, others: Iterable[Entry]) -> Turn | None:
    """The turn of a work beside the others of its card, in the order of their shims' starts; None where none of them
    computes.

    Where more was promised than there is, those that compute have their part of what is promised to them all.
    """
    rows = list(others)
    if own.compute_percent + sum(entry.compute_percent for entry in rows) > 100:
        rows = [entry for entry in rows if entry.is_busy]
    if not any(entry.is_busy for entry in rows):
        return None
    whole = max(100, own.compute_percent + sum(entry.compute_percent for entry in rows))
    mine = (own.start_ticks, own.pid)
    before = sum(entry.compute_percent for entry in rows if (entry.start_ticks, entry.pid) < mine)
    return Turn(before / whole, (before + own.compute_percent) / whole)
