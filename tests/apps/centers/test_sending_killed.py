"""Watchers are killed while they send, and there are two at once: no job is doubled and none is lost (JC-6.5-2)."""

import random
import time

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from apps.centers.adapters.base import JobMessage, Quantities
from apps.centers.models import RemoteTask
from apps.centers.services.remote_tasks import remote_task_request
from apps.kernel.actor import SYSTEM
from tests.apps.centers.telling import until

pytestmark = pytest.mark.req("JC-6.5-2")
JOBS = 24


def ask(center, count, first=0):
    for number in range(first, first + count):
        remote_task_request(
            actor=SYSTEM,
            center=center,
            key=f"weir-{number}",
            message=JobMessage("x", Quantities(cpu=1)),
            owner="",
        )


def states():
    return dict(RemoteTask.objects.values_list("key", "state"))


def are_all(state):
    return lambda: set(states().values()) == {state}


def test_watchers_that_are_killed_while_they_send_double_and_lose_nothing(crew, join, telling):
    """Killed in the call, before and after the job is made, and between the call and the commit."""
    center = join()
    telling.say(create_s=0.15)
    ask(center, JOBS)
    dice = random.Random(7)
    for _time in range(4):
        # It waits less long for what may be under way: calls are answered within half a second here.
        process, begun = crew("1"), len(telling.made)
        until(lambda begun=begun: len(telling.made) > begun or are_all("waiting")())
        time.sleep(dice.random())
        process.kill()
        process.wait()
    crew("1")
    until(are_all("waiting"))
    telling.say(job_state="succeeded")
    until(are_all("succeeded"))
    assert sorted(telling.made) == sorted(states())
    assert len(telling.made) == JOBS


def test_two_watchers_at_once_send_each_job_once(crew, join, telling):
    center = join()
    telling.say(create_s=0.05)
    crew()
    crew()
    ask(center, JOBS)
    until(are_all("waiting"))
    assert sorted(telling.made) == sorted(states())


def test_a_watcher_that_has_lost_its_lock_sends_nothing_more(crew, join, telling):
    center = join()
    telling.say(create_s=0.1)
    crew()
    ask(center, JOBS)
    until(lambda: len(telling.made) > 2)
    # Another connection takes the lock before the watcher, or any other, has noticed.
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as asking:
        asking.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = %s "
            "AND objid = %s AND pid <> pg_backend_pid()",
            [0x5765696D, center.pk],
        )
        asking.execute("SELECT pg_advisory_lock(%s, %s)", [0x5765696D, center.pk])
        made = len(telling.made)
        time.sleep(3)
        assert len(telling.made) <= made + 1 < JOBS
    until(are_all("waiting"), 90)
    assert sorted(telling.made) == sorted(states())


def test_what_is_asked_for_is_sent_within_a_second_and_its_end_seen_within_five(crew, join, telling):
    center = join()
    crew()
    until(lambda: len(telling.calls) > 2)
    took_s = []
    for number in range(3):
        time.sleep(1.3)
        began_s = time.monotonic()
        ask(center, 1, first=number)
        until(lambda number=number: len(telling.made) > number)
        took_s.append(time.monotonic() - began_s)
    # Half of them: one may come while its centre is asked something on a busy machine.
    assert sorted(took_s)[1] < 1, took_s
    began = timezone.now()
    telling.say(job_state="succeeded")
    until(are_all("succeeded"))
    assert (timezone.now() - began).total_seconds() < 5
