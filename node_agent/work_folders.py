"""Work folders: where programs run whose files outlive the slice, kept until the server says that the work is over.

Each is a folder of the agent's own that holds `work`, which belongs to the work's user, and `transfer`, the name of the
archive that it was unpacked from. The user is chosen once and stays: a folder never changes hands.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from node_agent.files import tree_remove
from node_agent.removals import Removals

_KEY = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$")


class WorkFolders:
    """All work folders of a node, below `root`. Methods raise OSError where the disk does."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.removals = Removals()
        root.mkdir(parents=True, exist_ok=True)
        root.chmod(0o711)
        for rest in root.glob(".*"):
            self.removals.add(rest)

    def names(self) -> tuple[str, ...]:
        """Those that are there."""
        return tuple(sorted(path.name for path in self._root.iterdir() if _KEY.match(path.name)))

    def home(self, key: str) -> Path:
        """Where the program of a folder runs. Raises ValueError for what is no name of a folder."""
        return self.place(key) / "work"

    def owner(self, key: str) -> int | None:
        """The user whose folder it is; None where there is none."""
        try:
            return os.lstat(self.home(key)).st_uid
        except FileNotFoundError:
            return None

    def owners(self) -> Iterator[int]:
        """The users of all folders."""
        for key in self.names():
            if (owner := self.owner(key)) is not None:
                yield owner

    def transfer(self, key: str) -> str:
        """Which archive it was unpacked from; "" where it began here."""
        try:
            return (self.place(key) / "transfer").read_text()
        except FileNotFoundError:
            return ""

    def make(self, key: str, owner: int | None) -> Path:
        """Where the program runs, made empty where there is nothing yet; `owner` None: the agent's own user."""
        known = self.owner(key)
        if known is None:
            self.put(key, self.draft(key, owner), "")
        elif owner is not None and owner != known:
            _hand_over(self.home(key), owner)
        return self.home(key)

    def draft(self, key: str, owner: int | None) -> Path:
        """An empty folder to be filled and then `put`; an earlier draft of the same is gone."""
        draft = self._draft(key)
        tree_remove(draft)
        draft.mkdir(mode=0o711)
        work = draft / "work"
        work.mkdir(mode=0o700)
        if owner is not None:
            os.chown(work, owner, owner)
        return work

    def put(self, key: str, draft: Path, transfer: str) -> None:
        """Let a draft take the folder's place in one step: nobody ever sees half of one."""
        (draft.parent / "transfer").write_text(transfer)
        self.remove(key)
        draft.parent.rename(self.place(key))

    def drop(self, key: str) -> None:
        """Remove a draft that came to nothing."""
        tree_remove(self._draft(key))

    def remove(self, key: str, then: Callable[[], None] | None = None) -> None:
        """Take a folder away with all that is in it; `then` is called once all is deleted, which may take long."""
        self.removals.add(self.place(key), then or (lambda: None))

    def _draft(self, key: str) -> Path:
        return self._root / f".{self.place(key).name}.part"

    def place(self, key: str) -> Path:
        """The folder of the agent's own that holds it. Raises ValueError for what is no name of a folder."""
        if not _KEY.match(key):
            raise ValueError(f"{key!r} is no name of a work folder")
        return self._root / key


def _hand_over(home: Path, owner: int) -> None:
    """Give a folder with all that is in it, however deep, to another user; no link in it is followed. The folder itself
    comes last: whoever is interrupted begins again."""
    command = ["chown", "-R", "-h", "-P", f"{owner}:{owner}", "--", os.fspath(home)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode:
        raise OSError(f"{home} cannot be handed over: {done.stderr.decode(errors='replace').strip()[-300:]}")
