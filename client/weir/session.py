"""A share of a remote accelerator from asking to giving back: `with weir.session(compute_percent=30, …)`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any

from weir.api import Client
from weir.errors import WeirClientError

if TYPE_CHECKING:
    import torch

    from weir.api_types import ConnectionOut, WorkloadSessionOut

_FIRST_LOOK_S, _LAST_LOOK_S = 0.2, 2.0
_FINAL = frozenset({"finished", "failed", "lost"})


class SessionEnded(WeirClientError):
    """The session ended before it could be used, or while it was: the message says why."""


def _silent(_line: str) -> None:
    """Tell nobody."""


class Lease:
    """A session workload: asked for, waited for, given back. Knows nothing of PyTorch.

    Args:
        client: who asks; it stays the caller's.
        request: what `POST /workloads` takes, without `kind`.
        tell: called with one line whenever what is waited for changes.
    """

    def __init__(
        self, client: Client, request: Mapping[str, Any], *, tell: Callable[[str], None] = _silent
    ) -> None:
        self._client, self._tell = client, tell
        self.workload = client.workload_submit(**{"name": "session", **request, "kind": "session"})
        self.shares: list[ConnectionOut] = []
        self.is_released = False

    @property
    def uid(self) -> str:
        return str(self.workload["uid"])

    @property
    def no(self) -> str:
        return str(self.workload["no"])

    def wait(self, *, timeout_s: float | None = None) -> list[ConnectionOut]:
        """Wait until a worker listens for each share; how to reach them.

        Raises:
            SessionEnded: it ended instead. TimeoutError: not within `timeout_s`; it goes on waiting.
        """
        began, pause_s, told = time.monotonic(), _FIRST_LOOK_S, ""
        while True:
            found = self.look()
            if found["state"] in _FINAL:
                raise SessionEnded(f"{self.no} has ended. {found['reason']}".strip())
            if self._is_open():
                return self.shares
            line = self._line()
            if line != told:
                self._tell(line)
                told = line
            if timeout_s is not None and time.monotonic() - began > timeout_s:
                raise TimeoutError(f"{self.no} does not run yet: {line}")
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.5, _LAST_LOOK_S)

    def look(self) -> WorkloadSessionOut:
        """State, reason and shares as they are now."""
        found = self._client.workload_session(self.uid)
        self.shares = found["shares"]
        return found

    def is_used(self) -> bool:
        """Whether anything has used one of its devices."""
        return any(grant["mounted"] for grant in self._client.workload(self.uid)["grants"])

    def _is_open(self) -> bool:
        reached = [share for share in self.shares if share["host"] and share["port"] and share["fingerprint"]]
        return len(reached) == self.workload["shares"]

    def _line(self) -> str:
        now = self._client.workload(self.uid)
        if now["state"] != "pending":
            return f"{self.no} is starting on {now['node']}"
        if not now["position"]:
            return f"{self.no} is asked for"
        line = f"{self.no} waits, place {now['position']} in queue {now['queue']}. {now['reason']}"
        if now["expected_start"]:
            start = datetime.fromisoformat(now["expected_start"]).astimezone()
            line += f" It should start about {start:%Y-%m-%d %H:%M:%S}."
        return line

    def release(self, reason: str = "its client has finished") -> None:
        """Give it back; does nothing the second time."""
        if self.is_released:
            return
        self.is_released = True
        self._client.workload_stop(self.uid, reason)


class Session:
    """The devices of a session, while its `with` block runs. `devices[0]` is "weir:0" in a fresh process."""

    def __init__(self, client: Client, request: Mapping[str, Any], *, wait_s: float | None) -> None:
        self._client, self._request, self._wait_s = client, request, wait_s
        self._lease: Lease | None = None
        self.devices: list[torch.device] = []

    @property
    def device(self) -> torch.device:
        return self.devices[0]

    @property
    def no(self) -> str:
        """The workload's number, as pages and lists show it."""
        return self._lease.no if self._lease else ""

    def __enter__(self) -> Session:
        # PyTorch is loaded here and no earlier: a client without it can do everything else.
        from weir.link.remote import connect
        from weir.torch import attach

        self._lease = Lease(self._client, self._request)
        try:
            for share in self._lease.wait(timeout_s=self._wait_s):
                assert share["port"] is not None, "who waited for it has its port"
                link = connect(share["host"], share["port"], share["fingerprint"], share["token"])
                self.devices.append(attach(link))
        except BaseException:
            self._close("it could not be opened")
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close("its client has finished")

    def _close(self, reason: str) -> None:
        from weir.torch import detach

        try:
            while self.devices:
                detach(self.devices.pop())
        finally:
            if self._lease is not None:
                self._lease.release(reason)
            self._client.__exit__(None, None, None)


def session(*, client: Client | None = None, wait_s: float | None = None, **request: Any) -> Session:
    """A share of a remote accelerator for a `with` block: asked for, attached as a PyTorch device, given back.

    `with weir.session(compute_percent=30, memory_mib=4096) as session: model.to(session.device)`

    Args:
        client: who asks; else who `weir login` signed in.
        wait_s: how long to wait for room; None waits for ever.
        request: compute_percent, memory_mib, spec, environment, shares, replicas, shares_per_replica, queue, priority,
            model, node, idle_timeout_s, run_timeout_s and whatever else `POST /workloads` takes. A fixed environment
            or a specification decides the amounts whatever is asked (POOL-12.1, POOL-12.14).
    """
    return Session(client or Client.from_config(), request, wait_s=wait_s)
