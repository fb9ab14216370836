"""Where a slice's records lie, how they are written so that no crash can leave half of one, and how folders go."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Below a program's folder: what is kept after its end.
OUTPUTS = "outputs"


def write_atomic(path: Path, data: bytes, *, mode: int = 0o600, durable: bool = True) -> None:
    """Replace a file in one step; with `durable` it survives a power cut. Raises OSError."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(part, path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def write_json(path: Path, value: dict[str, Any], *, mode: int = 0o600, durable: bool = True) -> None:
    """`write_atomic` for a JSON object."""
    write_atomic(path, json.dumps(value, separators=(",", ":")).encode(), mode=mode, durable=durable)


def tree_remove(path: Path) -> None:
    """Delete a folder that work, or an image, has filled, however deep it is; what resists stays."""
    with suppress(OSError):
        command = ["rm", "-rf", "--", str(path)]
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    # Without root a shim whose work has ended starts no process any more.
    with suppress(RecursionError):
        shutil.rmtree(path, ignore_errors=True)


def read_json(path: Path) -> dict[str, Any] | None:
    """A JSON object, or None where the file is missing, unreadable or no object."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


@dataclass(frozen=True, slots=True)
class SliceFolder:
    """The files of one slice. The shim writes state, journal, log and metrics; the agent writes spec and control.

    `home`: where its program runs, where that is to outlive the slice.
    """

    path: Path
    home: Path | None = None

    @property
    def spec(self) -> Path:
        return self.path / "spec.json"

    @property
    def secrets(self) -> Path:
        """More of its environment, until the shim has taken it."""
        return self.path / "secrets.json"

    @property
    def control(self) -> Path:
        return self.path / "control.json"

    @property
    def state(self) -> Path:
        return self.path / "state.json"

    @property
    def journal(self) -> Path:
        return self.path / "journal.jsonl"

    @property
    def log(self) -> Path:
        return self.path / "log.txt"

    @property
    def metrics(self) -> Path:
        """What its work has written of itself, on its way to the server."""
        return self.path / "metrics"

    @property
    def lock(self) -> Path:
        return self.path / "shim.lock"

    @property
    def executions(self) -> Path:
        """The socket by which the shim is asked to run something beside its work."""
        return self.path / "exec.sock"

    @property
    def shim_errors(self) -> Path:
        return self.path / "shim.err"

    @property
    def work(self) -> Path:
        return self.home or self.path / "work"
