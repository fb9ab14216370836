"""A service: its program looked at by HTTP, ended where it is unhealthy, and started again where it has ended."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any, Self

from node_agent.runtime.records.meter import NS
from node_agent.runtime.shim import ending
from node_agent.runtime.shim.ending import End
from node_agent.runtime.shim.measures.health import HEALTHY, HealthCheck
from node_agent.runtime.shim.output import Output
from node_agent.runtime.shim.programs.workload_process import Work
from node_agent.web.service_place import ServicePlace

# Before it is started again: so long, then twice as long each time, and never longer.
BACK_OFF_S, BACK_OFF_MOST_S = 1, 60
# After so long in health what failed before is past.
STEADY_S = 300


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What `node_agent.protocol.services.ServiceSpec` says. A shim reads it by itself: it stands on the standard
    library alone, for there is one with all work, and any interpreter may run it."""

    health_path: str
    interval_s: int
    timeout_s: int
    failures: int
    start_s: int
    restart: str
    max_restarts: int

    @classmethod
    def read(cls, spec: dict[str, Any]) -> Self:
        return cls(**{one.name: spec[one.name] for one in fields(cls)})


class ServiceControl:
    """Stands over a service. `look` is called while it runs; `ended` once its program has ended.

    Its back-off is counted from failure to failure and forgotten after `STEADY_S` in health.
    """

    def __init__(
        self, wanted: dict[str, Any], work: Work, place: ServicePlace, output: Output, now_ns: int
    ) -> None:
        self._wanted = _Wanted.read(wanted)
        self._work, self._place, self._output = work, place, output
        self._health, self._restarts = "starting", 0
        self._failure, self._failed_at = ("", ""), ""
        self._in_a_row = 0
        self._restart_at_ns: int | None = None
        self._kill_at_ns: int | None = None
        # Why its program is being ended, or could not be started: code and sentence.
        self._cause: tuple[str, str] | None = None
        self._begin(now_ns)

    def _begin(self, now_ns: int) -> None:
        """A program has been started: what the one before said last is not its word."""
        self._output.tail = ""
        self._health = "starting"
        self._started_ns = self._check_at_ns = now_ns
        self._healthy_ns: int | None = None
        self._missed, self._last = 0, "it was not asked yet"
        self._check: HealthCheck | None = None
        self._cause, self._kill_at_ns, self._restart_at_ns = None, None, None

    @property
    def is_down(self) -> bool:
        """Whether it has no program at the moment, and is to have one again."""
        return self._restart_at_ns is not None

    def report(self) -> dict[str, Any]:
        """What is told of it, as a `ServiceReport`."""
        return {
            "health": self._health,
            "restarts": self._restarts,
            "failure_code": self._failure[0],
            "failure": self._failure[1].replace("\0", "")[:500],
            "failed_at": self._failed_at or None,
            "port": self._work.port,
        }

    def look(self, now_ns: int) -> bool:
        """Ask after its health, start or end its program; whether what is told of it has changed."""
        before = (self._health, self._restarts, self._failed_at)
        if self._restart_at_ns is not None:
            if now_ns >= self._restart_at_ns:
                self._restart(now_ns)
        elif self._kill_at_ns is not None:
            if now_ns >= self._kill_at_ns:
                self._work.program_kill()
        else:
            self._ask(now_ns)
        return (self._health, self._restarts, self._failed_at) != before

    def fail(self, code: str, cause: str, grace_s: int, now_ns: int) -> None:
        """End its program, which is then started again."""
        if self._kill_at_ns is not None or self.is_down:
            return
        self._cause, self._health = (code, cause), "unhealthy"
        self._kill_at_ns = now_ns + grace_s * NS
        self._check_drop()
        if grace_s:
            self._work.ask_to_end()
        else:
            self._work.program_kill()

    def ended(self, end: End, now_ns: int) -> End | None:
        """Its program has ended; None where it is started again, else how the service has ended."""
        self._work.program_kill()
        self._check_drop()
        is_failure = self._cause is not None or end.state == "failed"
        code = "memory_exceeded" if end.code == "memory_exceeded" else "ended"
        code, cause = self._cause or (code, end.reason)
        if self._wanted.restart == "never" or (self._wanted.restart == "failure" and not is_failure):
            return replace(end, state="failed", code="crashed", reason=cause) if self._cause else end
        self._in_a_row += 1
        self._failure, self._failed_at = (code, cause), datetime.now(UTC).isoformat()
        if self._in_a_row > self._wanted.max_restarts:
            return ending.service_failed(
                self._in_a_row, cause, code=end.code if end.state == "failed" else "crashed"
            )
        wait_s = min(BACK_OFF_S * 2 ** (self._in_a_row - 1), BACK_OFF_MOST_S)
        self._health, self._restart_at_ns = "waiting", now_ns + wait_s * NS
        self._output.note(f"{cause}: it is started again in {wait_s} s ({self._in_a_row} in a row)")
        return None

    def _restart(self, now_ns: int) -> None:
        self._restarts += 1
        try:
            self._work.restart()
        except (OSError, subprocess.SubprocessError) as error:
            # Nothing runs, and nothing is waited for: it has ended again.
            cause = f"its program could not be started: {error}"
            self._cause, self._restart_at_ns = ("unstartable", cause), None
            return
        self._begin(now_ns)

    def _ask(self, now_ns: int) -> None:
        if self._check is None:
            if now_ns < self._check_at_ns:
                return
            self._check_at_ns = now_ns + self._wanted.interval_s * NS
            place = replace(self._place, port=self._work.port)
            self._check = HealthCheck(place, self._wanted.health_path, self._wanted.timeout_s, now_ns)
        answer = self._check.look(now_ns)
        if answer is None:
            return
        self._check_drop()
        if answer == HEALTHY:
            self._well(now_ns)
        else:
            self._unwell(answer, now_ns)

    def _well(self, now_ns: int) -> None:
        self._missed, self._health = 0, "healthy"
        if self._healthy_ns is None:
            self._healthy_ns = now_ns
        elif now_ns - self._healthy_ns >= STEADY_S * NS:
            self._in_a_row = 0

    def _unwell(self, answer: str, now_ns: int) -> None:
        if self._healthy_ns is None:
            # It is still starting: asked often, so that it is known as soon as it answers.
            self._check_at_ns = min(self._check_at_ns, now_ns + NS)
            if now_ns - self._started_ns >= self._wanted.start_s * NS:
                cause = f"it was not healthy {self._wanted.start_s} s after its start: {answer}"
                self.fail("late", cause, 1, now_ns)
            return
        self._missed += 1
        if self._missed >= self._wanted.failures:
            self.fail("unhealthy", f"unhealthy {self._missed} times in a row: {answer}", 1, now_ns)

    def _check_drop(self) -> None:
        if self._check is not None:
            self._check.close()
            self._check = None
