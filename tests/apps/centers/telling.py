"""A kind of centre that answers what a test tells it, by a file: also in another process than the test's.

python -m tests.apps.centers.telling runs the centre watcher where there are such centres; a number after it is how long
it waits for what may be under way, in seconds.
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from apps.centers.adapters.base import (
    Ability,
    CenterBroken,
    CenterRefused,
    CenterResources,
    CenterUnreachable,
    JobMessage,
    JobSeen,
    JobState,
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
    keeps_apart=True,
    account_fields=(KindField("user", "User there", is_required=True), KindField("account", "Account")),
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
    # Of each new job: "", or what becomes of the call: refused, lost (made, but no answer comes), kept_off (not made).
    create: str = ""
    create_s: float = 0
    # "", or what becomes of questions for jobs alone: as `trouble`, or refused.
    follow: str = ""
    # How a job is that nothing else is said of, and what is said of single ones by their keys; None: it is not known.
    job_state: str = "waiting"
    jobs: dict[str, Any] = field(default_factory=dict)
    stops: bool = True
    # Users of tenants that the centre does not let in.
    barred: list[str] = field(default_factory=list)

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
    def made(self) -> list[str]:
        """The key of each job that was made, in their order."""
        return [json.loads(text)["key"] for text in _lines(self.path.with_suffix(".jobs"))]

    @property
    def users(self) -> dict[str, str]:
        """By the key of each job the user that it was made as; "" for the centre's own."""
        jobs = map(json.loads, _lines(self.path.with_suffix(".jobs")))
        return {job["key"]: job["user"] for job in jobs}

    @property
    def stopped(self) -> list[str]:
        """The number of each job that was asked to end, each time."""
        return _lines(self.path.with_suffix(".stopped"))

    @property
    def calls(self) -> list[str]:
        """Of each question that came: when, and from which process."""
        return _lines(self.path.with_suffix(".calls"))


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


class TellingAdapter:
    """The adapter of one telling centre."""

    abilities = frozenset({Ability.JOBS, Ability.LOGS})
    key_length = 64

    def __init__(self, settings: Any, secrets: Any, local_addresses: bool) -> None:
        if settings["address"].startswith("127."):
            raise CenterRefused("127.0.0.1 is an address of this machine.")
        self._path, self._token = Path(settings["address"]), secrets["token"]
        self._user = settings.get("tenant_user", "")
        if self._user == "root":
            raise CenterRefused("Jobs are not run as root.")

    def _told(self) -> dict[str, Any]:
        import os

        with self._path.with_suffix(".calls").open("a") as log:
            log.write(f"{time.time()} {os.getpid()}\n")
        told = json.loads(self._path.read_text())
        time.sleep(told["slow_s"])
        if told["token"] != self._token:
            raise CenterRefused("The token is wrong or has expired.")
        _fail(told["trouble"])
        if self._user and self._user in told["barred"]:
            raise CenterRefused(f"The centre knows no user {self._user}.")
        return told

    def check(self) -> str:
        return str(self._told()["version"])

    def resources(self) -> CenterResources:
        told = self._told()
        total, used = Quantities(**told["total"]), Quantities(**told["used"])
        return CenterResources(total, used, told["running"], told["waiting"], told["nodes"], told["version"])

    def job_create(self, message: JobMessage, key: str) -> str:
        told = self._told()
        if told["create"] == "refused":
            raise CenterRefused("There is no such image.")
        found = [job for job in self._jobs() if job["key"] == key]
        if found:
            return str(found[0]["native_id"])
        # As at an engine: two that ask at once make two.
        time.sleep(told["create_s"])
        if told["create"] == "kept_off":
            raise CenterUnreachable("It did not answer within 20 s.")
        native_id = f"{time.time_ns()}"
        with self._path.with_suffix(".jobs").open("a") as jobs:
            text = {
                "key": key,
                "native_id": native_id,
                "user": self._user,
                "command": message.command,
                "env": dict(message.environment),
            }
            jobs.write(json.dumps(text) + "\n")
        if told["create"] == "lost":
            raise CenterUnreachable("It did not answer within 20 s.")
        time.sleep(told["create_s"])
        return native_id

    def jobs(self, keys: Sequence[str]) -> dict[str, JobSeen]:
        told, wanted, found = self._told(), set(keys), {}
        if told["follow"] == "refused":
            raise CenterRefused("Jobs are not for this token (403).")
        _fail(told["follow"])
        ended = set(_lines(self._path.with_suffix(".stopped"))) if told["stops"] else set()
        for job in self._jobs():
            said = told["jobs"].get(job["key"], {})
            if job["key"] in wanted and job["key"] not in found and said is not None:
                is_ended = job["native_id"] in ended
                found[job["key"]] = _seen(job, "stopped" if is_ended else told["job_state"], said)
        for key in told["jobs"].keys() - found.keys():
            if (said := told["jobs"][key]) and said.get("native_id"):
                found[key] = _seen({"key": key}, told["job_state"], said)
        return found

    def job_find(self, key: str) -> JobSeen | None:
        return self.jobs([key]).get(key)

    def job_stop(self, native_id: str) -> None:
        self._told()
        with self._path.with_suffix(".stopped").open("a") as stopped:
            stopped.write(f"{native_id}\n")

    def job_log(self, native_id: str, offset: int, limit: int = 1024 * 1024) -> bytes:
        self._told()
        if native_id not in [job["native_id"] for job in self._jobs()]:
            raise CenterRefused("It is another user's.")
        return f"output of {native_id}".encode()[offset : offset + limit]

    def _jobs(self) -> list[dict[str, Any]]:
        jobs = [json.loads(text) for text in _lines(self._path.with_suffix(".jobs"))]
        return [job for job in jobs if job["user"] == self._user]

    def close(self) -> None:
        pass


def _fail(trouble: str) -> None:
    if trouble == "unreachable":
        raise CenterUnreachable("It did not answer within 20 s.")
    if trouble == "broken":
        raise CenterBroken("The answer is longer than 64 MiB.\x00\x1b[31m\ud800" + "x" * 2000)
    if trouble == "fails":
        raise RecursionError("too deep")


def _seen(job: dict[str, Any], state: str, said: dict[str, Any]) -> JobSeen:
    values: dict[str, Any] = {"key": job["key"], "native_id": job.get("native_id", ""), "state": state} | said
    for name in ("started_at", "ended_at"):
        if name in values:
            values[name] = datetime.fromisoformat(values[name])
    values["state"] = JobState(values["state"])
    return JobSeen(**values)


def until(holds: Callable[[], bool], timeout_s: float = 60) -> None:
    """Wait for what a watcher does."""
    deadline_s = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


def main() -> None:
    KINDS["telling"] = TELLING
    from portal.centers import main as watch

    if len(sys.argv) > 1:
        from apps.centers import runner

        runner.SETTLE_S = float(sys.argv[1])
    watch()


if __name__ == "__main__":
    main()
