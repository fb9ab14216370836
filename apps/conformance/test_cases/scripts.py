"""Client processes: PyTorch scripts on the control node whose devices are shares of the pool, as by `weir run`."""

import importlib.util
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from django.conf import settings

from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.processes import outside_environment
from apps.conformance.harness.record import CaseFailed, NotRun

Json = dict[str, Any]
SESSION_S = 400
BEGIN = "import json, os, sys, time\nimport torch\nimport weir.torch\n"
# The same for a client that may not share memory with the worker, as one on another machine: it goes by the network.
BEGIN_APART = (
    BEGIN
    + """
from weir.link.remote import RemoteLink
for index, share in enumerate(json.load(open(os.environ['WEIR_SESSION_FILE']))['shares']):
    link = RemoteLink(share['host'], share['port'], share['fingerprint'], share['token'], is_local=False)
    weir.torch.attach(link, index)
"""
)
NETWORKS = ("tcp", "rdma")
# A running checksum in device memory: each line tells the step and the sum so far. Then the same here, on the CPU; the
# session stays open until it is told to stop.
CHECKSUM = (
    BEGIN
    + """
torch.set_num_threads(1)
def compute(word, there, rest_s):
    torch.manual_seed(7)
    state = torch.randn(64, 64).to(there)
    weight = (torch.randn(64, 64) / 8).to(there)
    ballast = torch.ones(32 * 2**18).to(there)
    for step in range(int(os.environ['STEPS'])):
        state = torch.tanh(state @ weight + 0.1 * ballast[:64])
        if step % 5 == 4:
            print(word, step + 1, repr(float(state.double().sum())), round(time.time(), 3), os.getpid(), flush=True)
        time.sleep(rest_s)
compute('SUM', 'weir:0', float(os.environ['REST']))
print('MOVED', flush=True)
compute('HERE', 'cpu', 0)
print('DONE', flush=True)
until = time.time() + 300
while time.time() < until and not os.path.exists(os.environ['STOP']): time.sleep(0.1)
"""
)


def torch_needed() -> None:
    """Raises NotRun where this node cannot run a client script."""
    if importlib.util.find_spec("torch") is None:
        raise NotRun("PyTorch is not installed on the control node, and a client of a remote card needs it")


def session(pool: CaseContext, **body: Any) -> tuple[Json, list[Json]]:
    """A session of one or more shares that runs and can be reached: the work, and how to reach each share."""
    torch_needed()
    work = pool.in_state(pool.submit(kind="session", **body), "running", patience_s=SESSION_S)

    def look() -> list[Json] | None:
        shares = pool.client.get(f"workloads/{work['uid']}/session")["shares"]
        return shares if shares and all(share.get("port") for share in shares) else None

    return work, pool.until("the session to be reachable", look, SESSION_S)


def session_of(pool: CaseContext, work: Json) -> list[Json]:
    """What the operators' list tells of the sessions of work, one for each share."""
    return [row for row in pool.operator.all("sessions") if str(row["workload"]) == work["uid"]]


def transports(pool: CaseContext, work: Json) -> list[str]:
    """Wait until each session of work tells which transport it uses."""

    def look() -> list[str] | None:
        found = [str(row["transport"]) for row in session_of(pool, work)]
        return found if found and all(found) else None

    return pool.until(f"the transport of {work['name']}", look)


class Script:
    """A Python process with the shares as its devices weir:0, weir:1, …"""

    def __init__(self, pool: CaseContext, code: str, shares: list[Json], **variables: str) -> None:
        name = pool.name("script")
        pool.note("process", name)
        pool.folder.mkdir(parents=True, exist_ok=True)
        self.lines: list[tuple[float, str]] = []
        self._pool, self._stop = pool, pool.folder / f"{name}.stop"
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            env={
                **outside_environment(),
                **_file(pool.folder / f"{name}.json", shares),
                **variables,
                "STOP": str(self._stop),
                "WEIR_CONFORMANCE": name,
            },
            cwd=settings.BASE_DIR,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append((time.time(), line.rstrip("\n")))

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def text(self) -> str:
        """All it has printed so far."""
        return "\n".join(line for _at, line in self.lines)

    def says(self, text: str, *, patience_s: float = 300) -> tuple[float, str]:
        """Wait for a line with the text: when it came and what it says. Raises CaseFailed."""

        def look() -> tuple[float, str] | None:
            found = next(((at, line) for at, line in self.lines if text in line), None)
            if found is None and self._process.poll() is not None:
                self._pool.sleep(0.3)
                if text not in self.text:
                    raise CaseFailed(f"the script ended without {text!r}: {self.text[-400:]}")
            return found

        try:
            return self._pool.until(f"the script to say {text!r}", look, patience_s)
        except CaseFailed as error:
            raise CaseFailed(f"{error}; it said: {self.text[-300:] or 'nothing'}") from error

    def result(self, *, patience_s: float = 300) -> Json:
        """What it printed behind RESULT, as JSON."""
        _at, line = self.says("RESULT", patience_s=patience_s)
        return json.loads(line.partition("RESULT ")[2])

    def sums(self, word: str = "SUM") -> list[list[str]]:
        """The lines of `CHECKSUM`: step, sum, time, process; with `HERE` those of the run that never moved."""
        rows = [line.split() for _at, line in self.lines]
        return [row[1:] for row in rows if len(row) == 5 and row[0] == word]

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def wait(self, patience_s: float = 300) -> int:
        """Its exit status."""
        return self._pool.until(
            "the script to end", lambda: None if self.is_alive else (self._process.returncode, 0), patience_s
        )[0]

    def finish(self) -> None:
        """Let it end by itself, where its code looks for the file STOP."""
        self._stop.touch()

    def end(self) -> None:
        """End it, if it still runs."""
        if self.is_alive:
            self._process.kill()
        self._process.wait()


def _file(path: Path, shares: list[Json]) -> dict[str, str]:
    """The session file of a script, readable by its user alone, as the client asks."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump({"shares": shares}, file)
    return {"WEIR_SESSION_FILE": str(path)}
