"""A kind of centre that answers what a test tells it, by a file: also in another process than the test's.

python -m tests.apps.centers.telling runs the centre watcher where there are such centres.
"""

import json
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from apps.centers.adapters.base import (
    Ability,
    CenterBroken,
    CenterRefused,
    CenterResources,
    CenterUnreachable,
    Quantities,
)
from apps.centers.adapters.kinds import KINDS, CenterKind, KindField

TELLING = CenterKind(
    code="telling",
    label="Telling",
    path="tests.apps.centers.telling:TellingAdapter",
    fields=(
        KindField("address", "Address", is_required=True, is_place=True, holds_work=True),
        KindField("remark", "Remark", is_long=True),
        KindField("token", "Token", is_secret=True, is_required=True),
    ),
)


@dataclass
class Told:
    """What a centre is to answer, kept in a file that its address names."""

    path: Path
    token: str = "right"
    total: dict[str, Any] = field(default_factory=lambda: {"cpu": 64, "gpu": 8, "memory": 262_144})
    used: dict[str, Any] = field(default_factory=lambda: {"cpu": 16, "gpu": 3, "memory": 65_536})
    running: Any = 3
    waiting: Any = 1
    nodes: Any = 2
    # "", or what becomes of a call: unreachable, broken, fails.
    trouble: str = ""
    slow_s: float = 0
    version: str = "telling 1.0"

    def say(self, **changes: Any) -> "Told":
        """Answer otherwise from now on."""
        for name, value in changes.items():
            setattr(self, name, value)
        text = json.dumps({**asdict(self), "path": str(self.path)})
        new = self.path.with_suffix(".new")
        new.write_text(text)
        new.replace(self.path)
        return self

    @property
    def calls(self) -> list[str]:
        """Of each question that came: when, and from which process."""
        log = self.path.with_suffix(".calls")
        return log.read_text().splitlines() if log.exists() else []


class TellingAdapter:
    """The adapter of one telling centre."""

    abilities = frozenset[Ability]()
    key_length = 64

    def __init__(self, settings: Any, secrets: Any, local_addresses: bool) -> None:
        if settings["address"].startswith("127."):
            raise CenterRefused("127.0.0.1 is an address of this machine.")
        self._path, self._token = Path(settings["address"]), secrets["token"]

    def _told(self) -> dict[str, Any]:
        import os

        with self._path.with_suffix(".calls").open("a") as log:
            log.write(f"{time.time()} {os.getpid()}\n")
        told = json.loads(self._path.read_text())
        time.sleep(told["slow_s"])
        if told["token"] != self._token:
            raise CenterRefused("The token is wrong or has expired.")
        if told["trouble"] == "unreachable":
            raise CenterUnreachable("It did not answer within 20 s.")
        if told["trouble"] == "broken":
            raise CenterBroken("The answer is longer than 64 MiB.\x00\x1b[31m\ud800" + "x" * 2000)
        if told["trouble"] == "fails":
            raise RecursionError("too deep")
        return told

    def check(self) -> str:
        return str(self._told()["version"])

    def resources(self) -> CenterResources:
        told = self._told()
        total, used = Quantities(**told["total"]), Quantities(**told["used"])
        return CenterResources(total, used, told["running"], told["waiting"], told["nodes"], told["version"])

    def close(self) -> None:
        pass


def main() -> None:
    KINDS["telling"] = TELLING
    from portal.centers import main as watch

    watch()


if __name__ == "__main__":
    main()
