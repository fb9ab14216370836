"""Taking the release that the portal desires while the agent goes on: fetch, verify, select (POOL-12.20, 12.22)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from node_agent.config import AgentSettings
from node_agent.protocol.releases import BUILTIN_PATH, RELEASES_PATH, ReleaseKeys
from node_agent.protocol.sync import DesiredRelease
from node_agent.release import BUILTIN, ReleaseRefused, ReleaseStore, is_desired_running, running_release
from node_agent.transport import TransportError

log = logging.getLogger("weir.agent")


class Portal(Protocol):
    """The part of the transport that upgrades need. Both raise TransportError."""

    def fetch(self, path: str, file: Path) -> None:
        """Write what the portal serves at a path into a file."""

    def release_keys(self) -> ReleaseKeys:
        """The keys that the portal's operators sign with, and those they have revoked."""


class Upgrade:
    """Never in the way of the loop: a thread fetches, and `is_due` says when the process is to give way."""

    def __init__(self, settings: AgentSettings, portal: Portal) -> None:
        self._store = ReleaseStore(settings.home)
        self._portal = portal
        self._given_keys = settings.release_keys
        self._thread: threading.Thread | None = None
        self._desired: DesiredRelease | None = None
        self._refused: DesiredRelease | None = None
        self._has_asked_keys = False
        self._is_confirmed = False
        state = self._store.read()
        self.problem, self._has_failed = state.problem, bool(state.refused)
        self.is_due = threading.Event()

    def synced(self, desired: DesiredRelease | None) -> None:
        """Called after each exchange: what runs has proved itself, and this is what should run."""
        if not self._is_confirmed:
            self._store.confirm()
            self._is_confirmed = True
        # Once a release is selected the launcher may read it at any moment: it is not taken a second time.
        if self.is_due.is_set() or (self._thread is not None and self._thread.is_alive()):
            return
        if not self._has_asked_keys:
            self._begin(self._keys_take)
        elif desired is None:
            self._forgive()
        elif self._is_news(desired):
            self._desired = desired
            self._begin(self._follow)

    def _forgive(self) -> None:
        """Nothing is desired any more: what failed may be tried again when it is desired anew."""
        self._refused = None
        if self._has_failed:
            self._store.forgive()
            self._has_failed = False

    def _is_news(self, desired: DesiredRelease) -> bool:
        if is_desired_running(desired):
            return False
        has_failed = desired == self._refused or desired.sha256 == self._store.read().refused
        if not has_failed and self.problem:
            self.problem = ""
        return not has_failed

    def _begin(self, work: Callable[[], None]) -> None:
        self._thread = threading.Thread(target=work, name="upgrade", daemon=True)
        self._thread.start()

    def _keys_take(self) -> None:
        self._has_asked_keys = True
        try:
            self._store.keys_follow(self._portal.release_keys())
        except (TransportError, OSError) as error:
            log.warning("the portal's release keys were not taken: %s", error)

    def _follow(self) -> None:
        desired = self._desired
        assert desired is not None
        try:
            self._take(desired)
        except ReleaseRefused as error:
            self._fail(desired, str(error))
        except (TransportError, OSError) as error:
            # The disk may get room again and the portal may come back: tried again with the next desired.
            self._fail(None, f"release {desired.version} could not be taken: {error}")
        else:
            log.info("release %s is here; the agent gives way to it", desired.version)
            self.is_due.set()

    def _take(self, desired: DesiredRelease) -> None:
        if desired.path == BUILTIN_PATH:
            self._store.select(BUILTIN, running_release(), desired.sha256)
            return
        if not desired.path.startswith(RELEASES_PATH):
            raise ReleaseRefused(f"release {desired.version} is not at the portal's place for releases")
        keys, file = self._keys(), self._store.draft()
        self._portal.fetch(desired.path, file)
        self._store.take(file, desired, keys)
        file.unlink(missing_ok=True)
        self._store.prune({desired.version, running_release()})
        self._store.select(desired.version, running_release(), desired.sha256)

    def _keys(self) -> tuple[str, ...]:
        """Those given to this node, else those that the portal named first: from then on no others are believed. The
        portal is asked each time, before anything is, for what it has revoked."""
        self._store.keys_follow(self._portal.release_keys())
        revoked = self._store.revoked()
        return tuple(key for key in self._given_keys or self._store.keys() if key not in revoked)

    def _fail(self, refused: DesiredRelease | None, problem: str) -> None:
        self._refused = refused
        if problem[:500] != self.problem:
            log.error("%s; the present one goes on", problem)
        self.problem = problem[:500]
