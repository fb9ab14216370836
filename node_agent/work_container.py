"""The container that work runs in, as whoever saves it has to know it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath


@dataclass(frozen=True, slots=True)
class Changes:
    """`files`: what an overlay keeps of the work's changes. `not_of_image`: the paths at which the work saw something
    else than its image. `user`: who the work is on this node, and nobody in an image."""

    files: str
    not_of_image: frozenset[PurePosixPath]
    user: int


@dataclass(frozen=True, slots=True)
class Container:
    """The container of running work: what it has changed, and where its keeper is asked to hold it still."""

    changes: Changes
    keeper: Path
