"""Server processes tell of themselves, restart in turn, and one leads."""

from dataclasses import replace
from datetime import timedelta
from unittest.mock import patch

import pytest
from django.utils import timezone

from apps.kernel.actor import SYSTEM
from apps.rollouts.models import Lease, Rollout, ServerProcess
from apps.rollouts.selectors import component_list
from apps.rollouts.services.rollouts import rollout_start, rollouts_advance
from apps.rollouts.services.server_processes import (
    RESTART_MAX_S,
    Self,
    lease_hold,
    lease_leave,
    process_beat,
    process_leave,
    processes_prune,
)

pytestmark = [pytest.mark.django_db, pytest.mark.req("POOL-8.1a"), pytest.mark.req("POOL-12.20")]


def a(kind, name, pid=1):
    return Self(kind=kind, name=name, host="h", pid=pid, version="1", started_at=timezone.now())


def beat(process):
    return process_beat(actor=SYSTEM, process=process)


def silent(name, seconds=60):
    past = timezone.now() - timedelta(seconds=seconds)
    ServerProcess.objects.filter(name=name).update(seen_at=past, restart_at=past)


def parts():
    return {part.name: part for part in component_list()}


@pytest.fixture
def still_clock():
    """No time passes, however busy the machine is: what is silent is so because the test says so."""
    with patch("django.utils.timezone.now", return_value=timezone.now()):
        yield


@pytest.fixture
def crew(db):
    found = {
        name: a(name.partition("-")[0], name) for name in ("web", "web-2", "worker", "beat", "scheduler")
    }
    for process in found.values():
        assert not beat(process)
    return found


def test_what_beats_is_shown_and_what_is_silent_is_lost(still_clock, crew):
    silent("web-2")
    process_leave(actor=SYSTEM, process=crew["beat"])
    shown = parts()
    assert (shown["web"].state, shown["web-2"].state, shown["beat"].state) == ("running", "lost", "stopped")
    assert shown["PostgreSQL"].version
    silent("web-2", 2 * 86400)
    assert processes_prune(actor=SYSTEM) == 1


def test_of_each_kind_one_restarts_at_a_time_and_keeps_its_turn_until_it_is_back(crew):
    rollout = rollout_start(actor=SYSTEM, with_server=True, gate_s=60)
    rollouts_advance(actor=SYSTEM)
    assert beat(crew["web"])
    assert not beat(crew["web-2"])
    assert beat(crew["worker"])
    assert beat(crew["scheduler"])
    process_leave(actor=SYSTEM, process=crew["web"])
    assert not beat(crew["web-2"])
    rollouts_advance(actor=SYSTEM)
    assert Rollout.objects.get().state == "running"
    for name in ("web", "worker", "scheduler"):
        assert not beat(replace(crew[name], pid=2, started_at=timezone.now()))
    assert beat(crew["web-2"])
    assert beat(crew["beat"])
    # However long they are away: nobody takes them for done.
    silent("web-2", 30)
    beat(replace(crew["beat"], pid=2, started_at=timezone.now()))
    rollouts_advance(actor=SYSTEM)
    assert Rollout.objects.get().state == "running"
    beat(replace(crew["web-2"], pid=2, started_at=timezone.now()))
    rollouts_advance(actor=SYSTEM)
    assert [step.state for step in rollout.steps.all()] == ["done"]
    rollouts_advance(actor=SYSTEM)
    assert Rollout.objects.get().state == "done"
    assert {row.config_generation for row in component_list() if row.component == "web"} == {1}


def test_one_that_does_not_come_back_fails_the_step_and_lets_the_others_be(crew):
    rollout_start(actor=SYSTEM, with_server=True, gate_s=600)
    rollouts_advance(actor=SYSTEM)
    assert beat(crew["web"])
    silent("web", RESTART_MAX_S + 1)
    rollouts_advance(actor=SYSTEM)
    assert "web on h did not come back" in Rollout.objects.get().reason


def test_the_lead_goes_on_only_when_it_was_left_or_ran_out():
    assert lease_hold(actor=SYSTEM, name="beat", holder="one", ttl_s=30)
    assert not lease_hold(actor=SYSTEM, name="beat", holder="two", ttl_s=30)
    assert lease_hold(actor=SYSTEM, name="beat", holder="one", ttl_s=30)
    lease_leave(actor=SYSTEM, name="beat", holder="two")
    assert not lease_hold(actor=SYSTEM, name="beat", holder="two", ttl_s=30)
    Lease.objects.update(until_at=timezone.now() - timedelta(seconds=1))
    assert lease_hold(actor=SYSTEM, name="beat", holder="two", ttl_s=30)
    lease_leave(actor=SYSTEM, name="beat", holder="two")
    assert lease_hold(actor=SYSTEM, name="beat", holder="one", ttl_s=30)
