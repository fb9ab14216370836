"""`weir wait`: stay until work has ended, and say how."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from weir.cli.context import caller, uid_of
from weir.cli.show import rows, tell
from weir.cli.units import duration_s
from weir.errors import Unreachable

if TYPE_CHECKING:
    from weir.api import Client

Json = Mapping[str, Any]
_FIRST_LOOK_S, _LAST_LOOK_S = 0.3, 3.0
# So long a centre that does not answer, as while it is brought up to date, is asked again.
_SILENT_S = 600.0
_ENDED = frozenset({"finished", "failed", "lost"})
_NOT_KNOWN, _TIMED_OUT, _INTERRUPTED = 1, 124, 130
_COLUMNS = [
    ("number", "no"), ("name", "name"), ("state", "state"), ("why", "reason"), ("exit status", "exit_status"),
    ("finished", "progress.finished"), ("failed", "progress.failed"), ("uid", "uid"),
]  # fmt: skip


class Awaited:
    """Work, or an array, as it was last looked at: `found` is the centre's answer."""

    def __init__(self, found: Json, look: Callable[[], Json], *, is_array: bool) -> None:
        self.found, self._look, self._is_array = found, look, is_array

    @classmethod
    def work(cls, client: Client, found: Json) -> Awaited:
        return cls(found, lambda: client.workload(found["uid"]), is_array=False)

    @classmethod
    def array(cls, client: Client, uid: str) -> Awaited:
        return cls(client.array(uid), lambda: client.array(uid), is_array=True)

    def look(self) -> None:
        """Ask the centre how it stands."""
        self.found = self._look()

    @property
    def has_ended(self) -> bool:
        if self._is_array:
            return not (self.found["progress"]["waiting"] or self.found["progress"]["running"])
        return self.found["state"] in _ENDED

    @property
    def standing(self) -> str:
        """How it stands, in a line."""
        if not self._is_array:
            return f"{self.found['no']} {self.found['state']}. {self.found['reason']}".strip()
        now = self.found["progress"]
        return (
            f"{self.found['no']}: {now['waiting']} wait, {now['running']} run, {now['failed']} have failed."
        )

    @property
    def exit_status(self) -> int:
        """That of ended work as a shell would say it: its last share's that failed, 128 and more of a signal; of an
        array 1 where a task has failed."""
        if self._is_array:
            return 1 if self.found["progress"]["failed"] else 0
        if self.found["state"] == "finished" and self.found["reason_code"] == "completed":
            return 0
        codes = [each["exit_code"] for each in self.found["slices"] if each["exit_code"]]
        if not codes:
            return _NOT_KNOWN
        return 128 - codes[-1] if codes[-1] < 0 else int(codes[-1])


def until_ended(awaited: Sequence[Awaited], *, timeout_s: float | None = None) -> bool:
    """Look with growing pauses until all of it has ended, and tell what is new; False where time is over before.

    Raises Unreachable where the centre has not answered for ten minutes.
    """
    began_s = heard_s = time.monotonic()
    pause_s, lines = _FIRST_LOOK_S, {id(each): "" for each in awaited}
    while waiting := [each for each in awaited if not each.has_ended]:
        for each in waiting:
            if each.standing != lines[id(each)]:
                lines[id(each)] = each.standing
                tell(each.standing)
        left_s = None if timeout_s is None else timeout_s - (time.monotonic() - began_s)
        if left_s is not None and left_s <= 0:
            return False
        time.sleep(pause_s if left_s is None else min(pause_s, left_s))
        pause_s = min(pause_s * 1.5, _LAST_LOOK_S)
        try:
            for each in waiting:
                each.look()
            heard_s = time.monotonic()
        except Unreachable as silent:
            if time.monotonic() - heard_s > _SILENT_S:
                raise
            tell(f"{silent.message} It is asked again.")
    return True


def wait(
    ctx: typer.Context,
    works: list[str] = typer.Argument(
        ...,
        help="Work or arrays, by number or uid, or enough of the begin; `last` is the newest.",
        metavar="ID...",
    ),
    timeout: str = typer.Option("", help="Wait no longer than that: 30s, 10m, 2h."),
) -> None:
    """Stay until work has ended. The exit status is the work's, of several the first one's that is not 0; 124 when
    --timeout is over before, 130 after Ctrl-C. What it waits for goes on either way.

    `weir wait last`, `weir wait W-1 A-2 --timeout 2h && echo all is well`
    """
    longest_s = duration_s(timeout) if timeout else None
    with caller(ctx) as client:
        awaited = [_awaited(client, work) for work in works]
        try:
            is_over = until_ended(awaited, timeout_s=longest_s)
        except KeyboardInterrupt:
            sys.exit(_INTERRUPTED)
    told = [{**each.found, "exit_status": each.exit_status if each.has_ended else None} for each in awaited]
    rows(ctx, told, _COLUMNS)
    if not is_over:
        tell(
            f"{', '.join(each.found['no'] for each in awaited if not each.has_ended)} has not ended after {timeout}."
        )
        sys.exit(_TIMED_OUT)
    sys.exit(next((each.exit_status for each in awaited if each.exit_status), 0))


def _awaited(client: Client, work: str) -> Awaited:
    """Work of that number, or an array. Raises WeirClientError where nothing is called so."""
    if work.upper().startswith("A-"):
        return Awaited.array(client, uid_of(work, client.arrays, "no"))
    return Awaited.work(client, client.workload(uid_of(work, client.workloads, "no")))


COMMANDS = (wait,)
