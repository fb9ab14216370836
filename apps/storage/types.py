"""What storage speaks of: names of a path, entries of a folder, open files."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

Names = tuple[str, ...]


class Kind(StrEnum):
    FOLDER = "folder"
    FILE = "file"
    LINK = "link"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Entry:
    """What stands in a folder. Links and other special files are shown and never opened. `changed_ns` grows with every
    change of it, also with one that is given an older time. `held_bytes`: the room that is free when it goes, which is
    less than its size where it has holes, and none where it has another name."""

    name: str
    kind: Kind
    size_bytes: int
    modified_at: datetime
    changed_ns: int = 0
    held_bytes: int = 0


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A file held open for reading; whoever got it closes `fd`."""

    fd: int
    size_bytes: int
    modified_at: datetime
    changed_ns: int = 0
