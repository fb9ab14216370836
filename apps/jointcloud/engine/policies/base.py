"""What a policy is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from apps.jointcloud.engine.factors import Ask, Factors
from apps.jointcloud.engine.room import Room
from apps.jointcloud.engine.scores import Row


@dataclass(frozen=True, slots=True)
class Policy:
    """A scheduling policy (JC-6.6.2-1): of every centre a whole figure, more being better, or `UNKNOWN`.

    It reads the snapshot's factors, the room that is left and what the task asks, and nothing else. What a cycle binds
    may change its figures: not at all; at the centres that were bound alone, where `figure_at` gives the figure of one
    and knows all; or anywhere (`moves`), unless `is_level` says that for such a task all centres are equal.
    """

    id: str
    figures: Callable[[Factors, Room, Ask], Row]
    figure_at: Callable[[Room, str, int], int] | None = None
    """The figure of one centre, by its place, for a specification."""
    moves: bool = False
    is_level: Callable[[Ask], bool] | None = None
