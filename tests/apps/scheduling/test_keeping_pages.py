"""The operators' pages of reservations and of hooks, and what the API says of hooks."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from apps.kernel.actor import SYSTEM
from apps.scheduling import hooks
from apps.scheduling.hooks import TRIES_MAX, hook
from apps.scheduling.models import HookCall, Reservation
from apps.scheduling.services.queues.queue_settings import queue_ensure
from apps.scheduling.services.queues.reservations import reservation_make
from apps.scheduling.states import HookCallState, HookKind
from apps.scheduling.tasks import hooks_call
from tests.apps.scheduling.pool import node_make
from tests.apps.scheduling.test_pages import text

HOUR = timedelta(hours=1)


@pytest.fixture
def ops(db, acme, operator):
    node_make("n1", devices=4)
    return operator("cluster_administrator")


def clock(at):
    return timezone.localtime(at).strftime("%Y-%m-%dT%H:%M")


def wish(**more):
    now = timezone.now()
    return {
        "name": "course", "tenant": "acme", "from_at": clock(now + HOUR), "to_at": clock(now + 3 * HOUR), "count": 2,
        "compute_percent": 50, **more,
    }  # fmt: skip


@pytest.mark.req("ELA-305")
def test_a_reservation_is_made_shown_and_given_back_on_its_page(ops, acme):
    page = ops.page()
    assert "Nothing is reserved" in text(page.get("/scheduling/reservations/"))
    assert page.post("/scheduling/reservations/", wish()).status_code == 302
    row = Reservation.objects.get()
    assert (row.tenant, row.count, row.compute_percent, row.phase) == (acme, 2, 50, "coming")
    shown = text(page.get("/scheduling/reservations/"))
    assert 'data-name="course"' in shown
    assert "2 × 50 %" in shown
    assert page.post(f"/scheduling/reservations/{row.uid}/cancel/").status_code == 302
    row.refresh_from_db()
    assert row.cancelled_at is not None
    assert 'data-name="course"' not in text(page.get("/scheduling/reservations/"))


@pytest.mark.req("ELA-305")
@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"tenant": ""}, 400),
        ({"count": ""}, 400),
        ({"count": "", "device_uids": "n1-d0, n1-d9"}, 400),
        ({"to_at": "2020-01-01T00:00"}, 400),
        ({"count": 5}, 409),
        ({"count": "", "device_uids": "n1-d0, n1-d1"}, 302),
        ({"tenant": "", "queue": "default"}, 302),
    ],
)
def test_what_cannot_be_kept_is_refused_on_the_page(ops, more, status):
    queue_ensure(actor=SYSTEM)
    assert ops.page().post("/scheduling/reservations/", wish(**more)).status_code == status
    assert Reservation.objects.count() == (status == 302)


@pytest.mark.req("ELA-305", "PLAT-GEN-11")
def test_who_may_not_manage_makes_and_gives_back_nothing(ops, acme, member, operator):
    now = timezone.now()
    row = reservation_make(actor=SYSTEM, name="kept", tenant=acme, from_at=now, to_at=now + HOUR, count=1)
    alice = member("acme", "tenant_front_line")
    assert alice.page().get("/scheduling/reservations/").status_code == 404
    assert row.phase == "now"
    assert ops.page().get(f"/scheduling/reservations/{row.uid}/cancel/").status_code == 405
    assert ops.page().post(f"/scheduling/reservations/{uuid4()}/cancel/").status_code == 404


# --- hooks ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def given_up(ops):
    """A call of a hook that was tried as often as any is."""
    known = dict(hooks.hooks)
    hooks.hooks.clear()
    heard = []
    hook("cleans-up", heard.append, HookKind.ENDED)
    row = HookCall.objects.create(
        hook="cleans-up", kind=HookKind.ENDED, schema="acme", workload_uid=uuid4(), at=timezone.now(),
        state=HookCallState.FAILED, tries=TRIES_MAX, error="OSError: the disk is full",
    )  # fmt: skip
    yield row, heard
    hooks.hooks.clear()
    hooks.hooks.update(known)


@pytest.mark.req("ELA-1102", "ELA-1103")
def test_a_call_that_was_given_up_is_seen_and_tried_again(ops, given_up):
    row, heard = given_up
    page = ops.page()
    shown = text(page.get("/scheduling/hooks/"))
    assert "the disk is full" in shown
    assert 'data-hook="cleans-up"' in shown
    assert page.post(f"/scheduling/hooks/{row.uid}/retry/").status_code == 302
    assert page.post(f"/scheduling/hooks/{row.uid}/retry/").status_code == 409, "it is being tried already"
    assert hooks_call() == 1
    row.refresh_from_db()
    assert (row.state, row.tries, len(heard)) == ("done", 1, 1)
    assert "All calls were made" in text(page.get("/scheduling/hooks/"))


@pytest.mark.req("ELA-1103")
def test_calls_are_listed_and_tried_again_over_the_api(ops, given_up, member):
    row, _heard = given_up
    HookCall.objects.create(
        hook="waits", kind=HookKind.STARTED, schema="acme", workload_uid=uuid4(), at=timezone.now()
    )
    HookCall.objects.create(
        hook="made",
        kind=HookKind.STARTED,
        schema="acme",
        workload_uid=uuid4(),
        at=timezone.now(),
        state="done",
    )
    api = ops.api()
    assert [each["hook"] for each in api.get("/api/v1/hook-calls").json()["results"]] == [
        "waits",
        "cleans-up",
    ]
    assert api.post(f"/api/v1/hook-calls/{row.uid}/retry").json()["state"] == "pending"
    assert api.post(f"/api/v1/hook-calls/{row.uid}/retry").status_code == 409
    assert api.post(f"/api/v1/hook-calls/{uuid4()}/retry").status_code == 404
    assert member("acme", "tenant_front_line").api().get("/api/v1/hook-calls").status_code in (403, 404)
