"""The scheduler: one leads, any number stand by (ELA-708, POOL-8.1a).

python -m portal.scheduler

Who holds the lock leads. The lock belongs to the connection that also writes: when the process or its connection
dies the lock is free and nothing of it can be written any more, so that there are never two leaders. Each change
that a decision depends on wakes the leader as it commits; a timer runs it anyway.
"""

import gc
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

from apps.kernel.actor import SYSTEM  # noqa: E402
from apps.scheduling.services.cycle.cluster_cache import ClusterCache  # noqa: E402
from apps.scheduling.services.cycle.cycle_runner import LEADER_LOCK, CycleRunner  # noqa: E402
from apps.scheduling.services.cycle.usage_decay import past_use_account  # noqa: E402
from portal import wiring  # noqa: E402, F401
from portal.heartbeat import Heartbeat  # noqa: E402

log = logging.getLogger(__name__)
CHANNEL = "weir_schedule"
# How soon a stand-by sees that the leader is gone.
STANDBY_S = 0.5
# After a pass that follows so soon upon another, what arrives within DEBOUNCE_S is taken together: a calm pool is
# served at once, a busy one in batches.
BUSY_S = 0.01
DEBOUNCE_S = 0.003
TIMER_S = 1.0
ACCOUNT_S = 10.0
_CALM_S = 1.0


class Scheduler:
    """Stands by, leads, and stands by again after trouble, until it is told to stop."""

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self._wakes: psycopg.Connection | None = None

    def stop(self) -> None:
        """Finish the present pass and leave."""
        self.stopping.set()

    def run(self) -> None:
        """Until `stop`. Whatever the database does, the process goes on."""
        while not self.stopping.is_set():
            try:
                self._stand_by()
                self._lead()
            except (DatabaseError, psycopg.Error) as error:
                log.warning("the lead is given up: %s", error)
                self.stopping.wait(_CALM_S)
            except Exception:
                # The pass was undone as a whole; the cache is read anew.
                log.exception("a pass failed")
                self.stopping.wait(_CALM_S)
            finally:
                self._let_go()

    def _stand_by(self) -> None:
        while not self.stopping.is_set():
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_try_advisory_lock(%s)", [LEADER_LOCK])
                if cursor.fetchone()[0]:
                    return
            self.stopping.wait(STANDBY_S)

    def _lead(self) -> None:
        if self.stopping.is_set():
            return
        # Before the cache is read: what changes from now on wakes us.
        self._wakes = self._listen()
        # What the cache holds stays: the search for circles of objects need not go through it again and again.
        cache = ClusterCache()
        cache.begin()
        gc.collect()
        gc.freeze()
        runner = CycleRunner(cache, actor=SYSTEM)
        log.info("this scheduler leads now: %s wait, %s run", len(cache.waiting), len(cache.running))
        account_at_s, passed_at_s, is_due = 0.0, 0.0, True
        session = connection.connection
        while not self.stopping.is_set():
            if connection.connection is not session:
                # Django opens another where a failed transaction closed it: the lock went with the old one.
                raise DatabaseError("the connection that held the lock is gone")
            if monotonic() >= account_at_s:
                past_use_account(actor=SYSTEM)
                cache.rules_read()
                account_at_s, is_due = monotonic() + ACCOUNT_S, True
            is_due = cache.follow() or is_due
            report = runner.run() if is_due else None
            # What was placed may have made room in a queue for what is behind it: until a pass places nothing.
            is_due = bool(report and report.placed)
            if report is not None:
                passed_at_s = monotonic()
            if not is_due:
                is_due = not self._wait(passed_at_s)

    def _wait(self, passed_at_s: float) -> bool:
        """Whether a change woke us, rather than the timer; changes that come together are taken together."""
        assert self._wakes is not None
        woken = any(True for _each in self._wakes.notifies(timeout=TIMER_S, stop_after=1))
        if woken and monotonic() - passed_at_s < BUSY_S:
            for _each in self._wakes.notifies(timeout=DEBOUNCE_S):
                pass
        return woken

    def _listen(self) -> psycopg.Connection:
        wakes = psycopg.connect(**connection.get_connection_params(), autocommit=True)
        wakes.execute(f"LISTEN {CHANNEL}")
        return wakes

    def _let_go(self) -> None:
        """Free the lock by ending the connection that holds it, and the cache for the search for circles."""
        gc.unfreeze()
        for each in (self._wakes, connection):
            with suppress(DatabaseError, psycopg.Error):
                if each is not None:
                    each.close()
        self._wakes = None


def main() -> None:
    """Run until SIGTERM or SIGINT."""
    scheduler = Scheduler()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: scheduler.stop())
    heartbeat = Heartbeat("scheduler", scheduler.stop)
    heartbeat.start()
    scheduler.run()
    heartbeat.end()


if __name__ == "__main__":
    main()
