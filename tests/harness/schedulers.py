"""Scheduler processes on a test's database."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

import psycopg
from django.db import connection

from apps.scheduling.services.cycle.cycle_runner import LEADER_LOCK
from tests.plugin import ENVIRONMENT

_START_S = 120
_LEADER = """SELECT a.pid FROM pg_locks l JOIN pg_stat_activity a USING (pid)
    WHERE l.locktype = 'advisory' AND l.objid = %s AND l.granted AND a.datname = current_database()"""


def leader_pid() -> int | None:
    """The database's process of the scheduler that leads; None while nobody does."""
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as asking:
        found = asking.execute(_LEADER, [LEADER_LOCK]).fetchone()
    return found[0] if found else None


def leads_wait(*, but: int | None = None, timeout_s: float = _START_S) -> float:
    """Wait for a leader whose process in the database is another than `but`; the seconds that took."""
    began_s = time.monotonic()
    while (pid := leader_pid()) is None or pid == but:
        if time.monotonic() - began_s > timeout_s:
            raise TimeoutError("no scheduler leads")
        time.sleep(0.02)
    return time.monotonic() - began_s


def stand_by_wait() -> None:
    """Wait until somebody stands by: asks for the lock and does not get it."""
    asks = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE %s"
    began_s = time.monotonic()
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as asking:
        while not asking.execute(asks, ["SELECT pg_try_advisory_lock%"]).fetchone()[0]:
            if time.monotonic() - began_s > _START_S:
                raise TimeoutError("no scheduler stands by")
            time.sleep(0.05)


def database_url() -> str:
    """Where the test's database is, as `WEIR_DATABASE_URL` names it."""
    settings = connection.settings_dict
    who = f"{quote(settings['USER'])}:{quote(settings['PASSWORD'])}"
    host = quote(str(settings["HOST"]), safe="")
    place = f"@localhost:5432/{settings['NAME']}?host={host}" if settings["HOST"].startswith("/") else (
        f"@{settings['HOST']}:{settings['PORT']}/{settings['NAME']}"
    )  # fmt: skip
    return f"postgresql://{who}{place}"


def environment() -> dict[str, str]:
    """What a server process of a test runs in."""
    # Not what is set now: while a portal of the stories stands, the tests' own variables are taken away.
    return {**os.environ, **ENVIRONMENT, "WEIR_DATABASE_URL": database_url()}


def start() -> subprocess.Popen:
    """A scheduler process, which leads or stands by."""
    return subprocess.Popen([sys.executable, "-m", "portal.scheduler"], env=environment())


@contextmanager
def scheduler() -> Iterator[subprocess.Popen]:
    """A scheduler process that leads; it is stopped in good order."""
    process = start()
    try:
        leads_wait()
        yield process
    finally:
        process.terminate()
        process.wait(timeout=30)
