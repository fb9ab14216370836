"""The centre watcher: asks each centre every few seconds what it holds (JC-6.1.3-1), and brings it its work.

python -m portal.centers

Any number of these run. Each takes the lock of every centre that it can get, and has a thread for it; the locks belong
to one connection of its own, so that they are free the moment the process ends. While a centre is asked no transaction
is open: a centre that does not answer holds up nothing but its thread. The thread also sends what is asked for there
and follows it; before each sending it makes sure in the database that the lock is still this process's.
"""

import logging
import os
import signal
import threading
from contextlib import suppress
from time import monotonic

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings.prod")
django.setup()

import psycopg  # noqa: E402
from django.db import DatabaseError, connection  # noqa: E402

from apps.centers.runner import POLL_S, CenterWatch  # noqa: E402
from apps.centers.selectors import center_keys  # noqa: E402
from apps.centers.services.remote_tasks import CHANNEL  # noqa: E402
from portal import wiring  # noqa: E402, F401
from portal.heartbeat import Heartbeat  # noqa: E402

log = logging.getLogger(__name__)
_LOCK = 0x5765696D
# Of two numbers the first is the class and the second the object; those of a whole number have another `objsubid`.
_HELD = """SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND classid = %s AND objid = %s AND pid = %s"""
# How soon a centre that joined, or that another process let go, is found.
LOOK_S = 2.0
# How soon it is seen that the process is to end.
_HEAR_S = 0.5
# How long calls that are out are waited for, all together.
_LEAVE_S = 5.0


class Watcher(threading.Thread):
    """The thread of one centre, until `stop` or until the centre is gone."""

    def __init__(self, center_id: int, lock_pid: int) -> None:
        super().__init__(name=f"centre-{center_id}", daemon=True)
        self.center_id = center_id
        self._lock_pid = lock_pid
        self._stopping = threading.Event()
        self._woken = threading.Event()

    def stop(self) -> None:
        """Ask it to end after the present call."""
        self._stopping.set()
        self._woken.set()

    def wake(self) -> None:
        """There is something new for it."""
        self._woken.set()

    def holds(self) -> bool:
        """Whether the lock of the centre is still that of our connection: in the database's own words, by the asking
        thread's connection, so that it can be asked in the transaction that depends on it."""
        if self._stopping.is_set():
            return False
        with connection.cursor() as cursor:
            cursor.execute(_HELD, [_LOCK, self.center_id, self._lock_pid])
            return cursor.fetchone() is not None

    def run(self) -> None:
        watch = CenterWatch(self.center_id, self.holds)
        try:
            while not self._stopping.is_set():
                self._woken.clear()
                pause_s = self._once(watch)
                if pause_s is None:
                    return
                if not self._stopping.is_set():
                    self._woken.wait(pause_s)
        finally:
            watch.close()

    def _once(self, watch: CenterWatch) -> float | None:
        try:
            return watch.turn()
        except (DatabaseError, psycopg.Error) as error:
            log.warning("centre %s is asked again later: %s", self.center_id, error)
        except Exception:
            log.exception("centre %s is asked again later", self.center_id)
        finally:
            # Between two calls a thread holds no connection: there may be hundreds of centres.
            connection.close()
        return POLL_S


class Centers:
    """Watches what it has the locks of, until it is told to stop."""

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self.watchers: dict[int, Watcher] = {}
        self._locks: psycopg.Connection | None = None
        self._hints: psycopg.Connection | None = None

    def stop(self) -> None:
        """Leave once the present calls have come back."""
        self.stopping.set()

    def run(self) -> None:
        """Until `stop`. Whatever the database does, the process goes on."""
        while not self.stopping.is_set():
            try:
                self._look()
                connection.close()
                self._hear()
            except (DatabaseError, psycopg.Error) as error:
                log.warning("the watch of centres is given up: %s", error)
                self._let_go()
                self.stopping.wait(LOOK_S)
            finally:
                connection.close()
        self._let_go()

    def _look(self) -> None:
        """Begin with centres that nobody watches, and end with those that are gone."""
        there = center_keys()
        if self._locks is None:
            self._locks = psycopg.connect(**connection.get_connection_params(), autocommit=True)
        # That the connection lives is asked each time: with it the locks are gone.
        self._locks.execute("SELECT 1")
        for center_id, watcher in list(self.watchers.items()):
            if center_id not in there or not watcher.is_alive():
                self._end(center_id)
        for center_id in sorted(there - set(self.watchers)):
            if self._is_ours(center_id):
                self.watchers[center_id] = Watcher(center_id, self._locks.info.backend_pid)
                self.watchers[center_id].start()

    def _hear(self) -> None:
        """Wake the threads of centres for which there is something new, until it is time to look again."""
        if self._hints is None:
            self._hints = psycopg.connect(**connection.get_connection_params(), autocommit=True)
            self._hints.execute(f"LISTEN {CHANNEL}")
            # What was asked for before we listened.
            for watcher in self.watchers.values():
                watcher.wake()
        until_s = monotonic() + LOOK_S
        while not self.stopping.is_set() and (left_s := until_s - monotonic()) > 0:
            for hint in self._hints.notifies(timeout=min(left_s, _HEAR_S), stop_after=1):
                found = self.watchers.get(int(hint.payload)) if hint.payload.isdecimal() else None
                if found is not None:
                    found.wake()

    def _is_ours(self, center_id: int) -> bool:
        assert self._locks is not None
        found = self._locks.execute("SELECT pg_try_advisory_lock(%s, %s)", [_LOCK, center_id]).fetchone()
        return bool(found and found[0])

    def _end(self, center_id: int) -> None:
        """A thread that still waits for its centre keeps the lock until it has ended."""
        self.watchers[center_id].stop()
        if self.watchers[center_id].is_alive():
            return
        del self.watchers[center_id]
        assert self._locks is not None
        self._locks.execute("SELECT pg_advisory_unlock(%s, %s)", [_LOCK, center_id])

    def _let_go(self) -> None:
        for watcher in self.watchers.values():
            watcher.stop()
        # What is still out is bounded by the adapter; what it brings is dropped if somebody else was quicker.
        deadline_s = monotonic() + _LEAVE_S
        for watcher in self.watchers.values():
            watcher.join(max(0.0, deadline_s - monotonic()))
        self.watchers = {}
        ours = (self._locks, self._hints)
        self._locks = self._hints = None
        for each in ours:
            if each is not None:
                with suppress(psycopg.Error):
                    each.close()


def main() -> None:
    """Run until SIGTERM or SIGINT."""
    centers = Centers()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: centers.stop())
    heartbeat = Heartbeat("centers", centers.stop)
    heartbeat.start()
    centers.run()
    heartbeat.end()


if __name__ == "__main__":
    main()
