"""What one test stands on: callers of the API, devices of its own, and helpers that ask, wait and write down."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import httpx
from weir import ApiError, Client

from apps.conformance.harness.agents import Agent
from apps.conformance.harness.cleanup import Traces, take_back
from apps.conformance.harness.leases import Leases
from apps.conformance.harness.people import OPERATOR, OPERATOR_ROLE, SCHEMA, People, caller_name
from apps.conformance.harness.record import CaseFailed, NotRun, Record

Json = dict[str, Any]
T = TypeVar("T")
# Begins the name of everything that tests make.
OWN = "cf-"
FINAL = ("finished", "failed", "lost")
# For a slow and busy portal: one on which all goes well waits for nothing.
PATIENCE_S = 300.0
# What comes soon is seen soon; what takes long is asked for less often.
_POLL_S, _POLL_MOST_S, _POLL_GROWS = 0.15, 1.0, 1.4
_FREE_POLL_S = 0.3
_FILE_S = 60
IDLE = ("python", "-c", "import time; time.sleep(600)")
BUSY = ("python", "-c", "import time\nend = time.time() + 600\nwhile time.time() < end: sum(range(20000))")


class Stopped(Exception):
    """The run was interrupted: this test ends here."""


@dataclass
class CaseContext:
    """A test's view of the pool. `label` begins the name of everything the test makes."""

    label: str
    people: People
    record: Record
    traces: Traces
    leases: Leases
    folder: Path
    url: str
    stop: threading.Event
    _traces: list[Any] = field(default_factory=list)
    _count: int = 0
    _has_work: bool = False

    # --- callers ------------------------------------------------------------------------------------------

    @property
    def operator(self) -> Client:
        return self.people.operator

    @property
    def client(self) -> Client:
        return self.people.first

    def refused(self, call: Callable[[], object], code: str = "") -> ApiError:
        """The refusal of a call that must not go through. Raises CaseFailed when it does."""
        try:
            call()
        except ApiError as error:
            if code and error.code != code:
                raise CaseFailed(f"it was refused with {error.code}, not {code}: {error}") from error
            return error
        raise CaseFailed("it was accepted, and should have been refused")

    def download(self, path: str, **query: Any) -> str:
        """A file of the API that is no JSON, as an operator gets it."""
        answer = httpx.get(
            f"{self.url}/api/v1/{path}", params=query, headers=self._operator_headers, timeout=_FILE_S
        )
        if not answer.is_success:
            raise CaseFailed(f"{path} answered {answer.status_code}: {answer.text[:200]}")
        return answer.text

    def upload(self, path: str, name: str, content: bytes, **fields: str) -> httpx.Response:
        """Give the API a file as an operator; its answer, also a refusal."""
        return httpx.post(
            f"{self.url}/api/v1/{path}",
            files={"file": (name, content)},
            data=fields,
            headers=self._operator_headers,
            timeout=_FILE_S,
        )

    @property
    def _operator_headers(self) -> dict[str, str]:
        return {
            "Authorization": f"Bearer {self.people.tokens[OPERATOR]}",
            "Weir-Role": OPERATOR_ROLE,
            "Accept-Language": "en",
            "User-Agent": caller_name(self.record.entry.number),
        }

    # --- devices and nodes --------------------------------------------------------------------------------

    def take(self, count: int = 1, *, nodes: int = 1, **more: Any) -> list[Json]:
        """Devices that no other test uses meanwhile."""
        found = self.leases.take(self.label, count=count, nodes=nodes, **more)
        self.record.uses(found)
        return found

    def take_node(self, *, nodes: int) -> list[Json]:
        """All devices of one node, of a pool of at least so many nodes: no other test uses the node meanwhile."""
        found = self.leases.take_node(self.label, nodes=nodes)
        self.record.uses(found)
        return found

    def device(self, uid: str) -> Json:
        return next(row for row in self.operator.all("devices") if row["uid"] == uid)

    def device_kept(self, device: Json) -> None:
        """Remember how a device is, before the test changes it."""
        names = ("is_enabled", "is_sliced", "oversubscribe_permille", "memory_oversubscribe_permille")
        self.note("device", device["uid"], **{name: device[name] for name in names})

    def node(self, name: str) -> Json:
        return next(row for row in self.operator.all("nodes") if row["name"] == name)

    # --- things made --------------------------------------------------------------------------------------

    def note(self, kind: str, key: str, **detail: Any) -> None:
        """Write down what is about to be made or changed."""
        self._traces.append(self.traces.note(kind, key, **detail))

    def name(self, what: str = "") -> str:
        """A new name of this test's own: lower-case letters, digits and dashes."""
        self._count += 1
        return f"{self.label}-{what or 'task'}-{self._count}"

    def group(self, devices: Iterable[Json], *, members: list[str] | None = None) -> str:
        """A resource group of these devices, open to the test's tenant or to some of its members."""
        code = self.name("group")
        self.note("group", code)
        self.operator.post("resource-groups", {"code": code, "name_en": code, "name_zh": code})
        uids = [row["uid"] for row in devices]
        self.operator.call("PUT", f"resource-groups/{code}/devices", {"devices": uids})
        self.operator.post(f"resource-groups/{code}/grants", {"tenant": SCHEMA, "members": members})
        return code

    def agent(self, name: str = "", **settings: str) -> Agent:
        """A new node on this machine: an agent that joins with a token from the API."""
        name = name or self.name("node")
        agent = Agent(name, self.folder / name, self.url, settings)
        self.note("folder", str(agent.folder))
        self.note("agent", name, folder=str(agent.folder))
        agent.start(self.operator.join_token(f"conformance {name}"))
        return agent

    # --- work ---------------------------------------------------------------------------------------------

    def submit(self, *, by: Client | None = None, **body: Any) -> Json:
        """Submit work; it bears the test's label. A small program unless something else is named."""
        if not self._has_work:
            self.note("work", f"{self.label}-")
            self._has_work = True
        wanted = {"name": self.name(), "kind": "program", "argv": list(IDLE), **body}
        if wanted["kind"] == "session":
            wanted.pop("argv")
        return (by or self.client).post("workloads", wanted)

    def started(self, *, by: Client | None = None, **body: Any) -> Json:
        """Submit work and wait until it runs."""
        work = self.submit(by=by, **body)
        return self.in_state(work, "running", by=by)

    def work(self, work: Json, *, by: Client | None = None) -> Json:
        return (by or self.client).get(f"workloads/{work['uid']}")

    def considered(self, work: Json, *, by: Client | None = None) -> Json:
        """Wait until the scheduler has looked at work: it has a place, or a reason why it waits."""

        def look() -> Json | None:
            found = self.work(work, by=by)
            return found if found["state"] != "pending" or found["grants"] or found["reason"] else None

        return self.until(f"the scheduler to look at {work['name']}", look)

    def in_state(
        self, work: Json, *states: str, by: Client | None = None, patience_s: float = PATIENCE_S
    ) -> Json:
        """Wait until the work is in one of the states. Raises CaseFailed when it ends in another."""

        def look() -> Json | None:
            found = self.work(work, by=by)
            if found["state"] not in states and found["state"] in FINAL:
                raise CaseFailed(f"{found['name']} is {found['state']}: {found['reason']}")
            return found if found["state"] in states else None

        return self.until(f"{work['name']} to be {' or '.join(states)}", look, patience_s)

    def ended(self, work: Json, *, by: Client | None = None, patience_s: float = PATIENCE_S) -> Json:
        """Wait until the work has ended, however."""
        return self.in_state(work, *FINAL, by=by, patience_s=patience_s)

    def halt(self, work: Json, *, by: Client | None = None) -> Json:
        """Stop work and wait for its end."""
        (by or self.client).post(f"workloads/{work['uid']}/stop", {"reason": "the test is done with it"})
        return self.ended(work, by=by)

    def printed(self, work: Json, *, by: Client | None = None) -> str:
        """What the work has printed so far."""
        return str((by or self.client).log(work["uid"])["text"])

    def says(self, work: Json, text: str, *, by: Client | None = None, patience_s: float = PATIENCE_S) -> str:
        """Wait until the work has printed a text; all that it printed."""

        def look() -> str | None:
            printed = self.printed(work, by=by)
            return printed if text in printed else None

        return self.until(f"{work['name']} to print {text!r}", look, patience_s)

    # --- waiting ------------------------------------------------------------------------------------------

    def until(self, what: str, look: Callable[[], T | None], patience_s: float = PATIENCE_S) -> T:
        """Look again and again until there is something to see. Raises CaseFailed when it does not come."""
        until_s, pause_s = time.monotonic() + patience_s, _POLL_S
        while True:
            found = look()
            if found:
                return found
            if time.monotonic() > until_s:
                raise CaseFailed(f"waited {patience_s:.0f} s in vain for {what}")
            self.sleep(pause_s)
            pause_s = min(pause_s * _POLL_GROWS, _POLL_MOST_S)

    def sleep(self, seconds: float) -> None:
        """Wait. Raises Stopped when the run is interrupted meanwhile."""
        if self.stop.wait(seconds):
            raise Stopped()

    # --- the end ------------------------------------------------------------------------------------------

    def clean(self, people: People) -> list[str]:
        """Take back all that the test made, as the run's own callers and not the test's; what could not be."""
        left = take_back(list(reversed(self._traces)), people)
        self._wait_free(people)
        self.leases.give_back(self.label)
        return left

    def _wait_free(self, people: People) -> None:
        """Its devices go on to the next test when nothing holds them any more."""
        mine = set(self.leases.device_uids_of(self.label))
        until_s = time.monotonic() + PATIENCE_S
        while mine and time.monotonic() < until_s:
            rows = [row for row in people.operator.all("devices") if row["uid"] in mine]
            if not any(row["held_percent"] or row["held_mib"] for row in rows):
                return
            time.sleep(_FREE_POLL_S)


@contextmanager
def lacking(what: str) -> Iterator[None]:
    """An address that this portal does not have makes the test not run, with the reason."""
    try:
        yield
    except ApiError as error:
        if error.status in (404, 405) and error.code in ("unknown", "not_found"):
            raise NotRun(f"this portal has no {what}") from error
        raise
