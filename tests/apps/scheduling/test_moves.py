"""A session that moves, as scheduling sees it: where to, what both devices hold, and who serves the share."""

import pytest

from apps.fleet.models import Device, Slice
from apps.fleet.states import MoveState
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import WeirError
from apps.scheduling.errors import NotMovable
from apps.scheduling.models import Allocation, Workload
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.quota.quotas import quota_defaults
from apps.scheduling.services.workloads.resizing.session_moves import move_done, move_failed, workload_migrate
from apps.scheduling.services.workloads.slice_reports import slice_ended
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.types import WorkloadRequest
from tests.apps.scheduling.pool import node_make
from tests.apps.scheduling.test_cycles import ended, started
from tests.harness.money import account_ready

ASKED = {"name": "lab", "kind": "session", "compute_percent": 40, "memory_mib": 1000}


@pytest.fixture
def pool(db, acme, globex):
    quota_defaults(actor=SYSTEM, tenant=acme)
    account_ready(acme)
    for name in ("n1", "n2"):
        node_make(name)


@pytest.fixture
def session(pool, acme, member):
    """A running session on n1."""
    actor = member("acme", "tenant_front_line").actor
    row = workload_request(actor=actor, tenant=acme, asked=WorkloadRequest(**ASKED, device="n1-d0"))
    cycle_run(actor=SYSTEM)
    started(row)
    Slice.plain.update(session={"host": "n1", "port": 4000, "fingerprint": "0" * 64})
    row.refresh_from_db()
    return row


def migrate(row, **where):
    workload_migrate(actor=SYSTEM, tenant=row.tenant, workload_uid=row.uid, **where)
    return Slice.plain.get(moves_from__isnull=False)


def held(row):
    """(device, whether it is beside) of what the workload holds."""
    rows = Allocation.objects.filter(workload=row, state="active").order_by("pk")
    return [(part.device.uid, part.is_beside) for part in rows]


def end(row, slice_uid, **more):
    slice_ended(
        actor=SYSTEM, workload_uid=row.uid, slice_uid=str(slice_uid), at=row.started_at, failed=False,
        reason_code=more.pop("code", "migrated"), reason="", **more,
    )  # fmt: skip


@pytest.mark.req("POOL-12.23")
def test_both_devices_hold_the_share_until_the_move_is_done(session):
    source = Allocation.objects.get(workload=session).slice_uid
    target = migrate(session)
    assert held(session) == [("n1-d0", False), ("n2-d0", True)]
    assert [device.held_percent for device in Device.objects.order_by("uid")] == [40, 40]
    move_done(actor=SYSTEM, workload_uid=session.uid, source_uid=str(source), target_uid=str(target.uid))
    assert held(session) == [("n1-d0", True), ("n2-d0", False)]
    end(session, source, goes_on=True)
    assert held(session) == [("n2-d0", False)]
    session.refresh_from_db()
    assert (session.state, session.reason_code) == ("running", "")


@pytest.mark.req("POOL-12.23")
def test_a_move_that_fails_leaves_the_session_where_it_is(session):
    source = Allocation.objects.get(workload=session).slice_uid
    target = migrate(session, node="n2")
    Slice.plain.filter(pk=target.pk).update(move_state=MoveState.FAILED)
    move_failed(actor=SYSTEM, workload_uid=session.uid, source_uid=str(source))
    end(session, target.uid, goes_on=True)
    assert held(session) == [("n1-d0", False)]
    session.refresh_from_db()
    assert session.state == "running"
    ended(session)
    session.refresh_from_db()
    assert session.state == "finished"


def test_a_session_that_ends_on_the_move_gives_both_holds_back(session):
    source = Allocation.objects.get(workload=session).slice_uid
    migrate(session)
    end(session, source, code="crashed")
    session.refresh_from_db()
    assert (session.state, session.reason_code) == ("finished", "crashed")
    assert held(session) == []
    assert Device.objects.get(uid="n2-d0").held_percent == 0


@pytest.mark.req("POOL-12.23")
def test_what_cannot_move_is_refused_and_nothing_is_held(session, acme):
    program = Workload.plain.create(
        tenant=acme, no="W-1", name_en="x", name_zh="x", queue=session.queue, compute_percent=1, memory_mib=1
    )
    with pytest.raises(NotMovable, match="no running session"):
        migrate(program)
    Device.objects.filter(uid="n2-d0").update(is_enabled=False)
    with pytest.raises(NotMovable, match="disabled"):
        migrate(session)
    for where in ({"device": "n2-d0"}, {"device": "n1-d0"}, {"node": "n9"}, {"share": 1}):
        with pytest.raises(WeirError):
            migrate(session, **where)
    Device.objects.filter(uid="n2-d0").update(is_enabled=True, model="Other")
    with pytest.raises(NotMovable, match="model"):
        migrate(session)
    Device.objects.filter(uid="n2-d0").update(model="CPU", driver_version="2")
    with pytest.raises(WeirError, match="driver"):
        migrate(session)
    assert held(session) == [("n1-d0", False)]
    assert Device.objects.get(uid="n2-d0").held_percent == 0


@pytest.mark.req("POOL-12.23")
def test_it_moves_once_at_a_time(session):
    migrate(session)
    with pytest.raises(NotMovable, match="on the move"):
        migrate(session)
