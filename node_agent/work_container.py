"""The container that work runs in, as whoever saves it has to know it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath


@dataclass(frozen=True, slots=True)
class Changes:
    """`files`: what an overlay keeps of the work's changes. `not_of_image`: the paths at which the work saw something
    else than its image. `user`: who the work is on this node, and `owner`, a user and a group, who that is in the
    image. `is_owned`: it could do there what that one may; else it was one of all others."""

    files: str
    not_of_image: frozenset[PurePosixPath]
    user: int
    owner: tuple[int, int]
    is_owned: bool


@dataclass(frozen=True, slots=True)
class Container:
    """The container of running work: what it has changed, and where its keeper is asked to hold it still."""

    changes: Changes
    keeper: Path
