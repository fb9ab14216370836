"""Hooks on start, end and preemption of a job: at least once, after commit, outside locks, failures harmless."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.utils import timezone

from apps.kernel.actor import SYSTEM
from apps.scheduling import hooks
from apps.scheduling.engine.model.types import Preemption
from apps.scheduling.hooks import TRIES_MAX, hook
from apps.scheduling.models import HookCall, Workload
from apps.scheduling.services.cycle.apply_changes import workload_preempt
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.hooks import hook_call_claim
from apps.scheduling.services.workloads.stopping import workload_stop
from apps.scheduling.states import HookKind
from apps.scheduling.tasks import hooks_call, past_sizes_and_calls_forget
from tests.apps.scheduling.pool import node_make, submit
from tests.apps.scheduling.test_shell import ends, parts, runs

pytestmark = pytest.mark.req("ELA-1102")


@pytest.fixture
def registered():
    """No hooks but the test's own."""
    known = dict(hooks.hooks)
    hooks.hooks.clear()
    yield hook
    hooks.hooks.clear()
    hooks.hooks.update(known)


def running(tenant, **more):
    row = submit(tenant, percent=100, **more)
    cycle_run(actor=SYSTEM)
    runs(row)
    return row


def again():
    """As if the pause before the next try were over."""
    HookCall.objects.update(next_try_at=timezone.now() - timedelta(seconds=1))
    return hooks_call()


def test_a_hook_is_told_of_start_preemption_and_end(db, acme, registered):
    heard = []
    registered("listens", heard.append)
    node_make()
    row = running(acme)
    Workload.plain.filter(pk=row.pk).update(preemptible=True)
    workload_preempt(actor=SYSTEM, preemption=Preemption(str(row.uid), str(uuid4()), "priority", 10, 0))
    ends(parts(row)[0], code="preempted")
    cycle_run(actor=SYSTEM)
    runs(row)
    ends(parts(row)[0], code="completed")
    assert hooks_call() == 4
    assert [event.kind for event in heard] == ["started", "preempted", "started", "ended"]
    assert {(event.schema, event.workload_uid) for event in heard} == {(acme.schema_name, row.uid)}
    assert heard[1].params["card_seconds"] >= 60
    assert (heard[3].params["failed"], heard[3].params["reason_code"]) == (False, "completed")
    assert hooks_call() == 0


def test_a_hook_hears_of_what_it_asked_for_alone(db, acme, registered):
    registered("ends", lambda event: None, HookKind.ENDED)
    node_make()
    running(acme)
    assert not HookCall.objects.exists()


def test_what_is_undone_is_never_told(db, acme, registered):
    registered("listens", lambda event: None)
    node_make()
    row = submit(acme, percent=100)
    cycle_run(actor=SYSTEM)
    with transaction.atomic():
        runs(row)
        assert HookCall.objects.exists()
        transaction.set_rollback(True)
    assert not HookCall.objects.exists()


@pytest.mark.req("ELA-1103")
def test_a_hook_may_complete_a_job(committed, acme, registered):
    depths = []

    def completes(event):
        depths.append((connection.in_atomic_block, event.kind))
        workload_stop(actor=SYSTEM, tenant=acme, workload_uid=event.workload_uid, reason="hook")

    registered("completes", completes, HookKind.STARTED)
    node_make()
    row = running(acme)
    assert hooks_call() == 1
    row.refresh_from_db()
    assert (row.state, depths) == ("stopping", [(False, "started")])
    ends(parts(row)[0])
    row.refresh_from_db()
    assert row.state == "finished"


@pytest.mark.req("ELA-1103")
def test_a_hook_that_raises_harms_nothing_and_is_tried_again(db, acme, registered):
    tries = []

    def raises(event):
        tries.append(event.call_uid)
        if len(tries) < 3:
            raise RuntimeError("not\nyet")

    registered("raises", raises, HookKind.STARTED)
    heard = []
    registered("listens", heard.append, HookKind.STARTED)
    node_make()
    row = running(acme)
    assert hooks_call() == 2
    row.refresh_from_db()
    assert (row.state, len(heard)) == ("running", 1)
    call = HookCall.objects.get(hook="raises")
    assert (call.state, call.tries, call.error) == ("pending", 1, "RuntimeError: not yet")
    assert call.next_try_at > timezone.now()
    assert (again(), again(), again()) == (1, 1, 0)
    call.refresh_from_db()
    assert (call.state, call.error, len(set(tries))) == ("done", "", 1)


@pytest.mark.req("ELA-1103")
def test_a_hook_that_always_raises_is_given_up_and_kept(db, acme, registered):
    registered("raises", lambda event: 1 / 0, HookKind.STARTED)
    node_make()
    running(acme)
    for _try in range(TRIES_MAX + 2):
        again()
    call = HookCall.objects.get()
    assert (call.state, call.tries) == ("failed", TRIES_MAX)


def test_a_call_whose_worker_died_is_made_again(db, acme, registered):
    heard = []
    registered("listens", heard.append, HookKind.STARTED)
    node_make()
    running(acme)
    assert hook_call_claim(actor=SYSTEM).tries == 1
    assert hooks_call() == 0
    assert again() == 1
    assert len(heard) == 1


def test_a_hook_that_is_registered_no_more_is_named(db, acme, registered):
    registered("gone", lambda event: None, HookKind.STARTED)
    node_make()
    running(acme)
    hooks.hooks.clear()
    hooks_call()
    assert "No hook" in HookCall.objects.get().error


def test_calls_that_were_settled_long_ago_are_forgotten(db, acme, registered):
    registered("listens", lambda event: None, HookKind.STARTED)
    node_make(devices=3)
    for _number in range(3):
        running(acme)
    first, second, _third = HookCall.objects.order_by("pk")
    HookCall.objects.filter(pk__in=[first.pk, second.pk]).update(
        updated_at=timezone.now() - timedelta(days=31)
    )
    HookCall.objects.filter(pk=first.pk).update(state="done")
    assert past_sizes_and_calls_forget() == 1
    assert not HookCall.objects.filter(pk=first.pk).exists()
