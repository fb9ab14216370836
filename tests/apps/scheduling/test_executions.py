"""Who may run something beside work, for how long it holds, and what of it is written down."""

import json

import pytest
from django.core.cache import cache

from apps.audit.models import Record
from apps.identity.models import ApiToken
from apps.identity.services.users import membership_remove, user_disable
from apps.kernel.actor import SYSTEM
from apps.kernel.planes import in_tenant
from apps.orgs.models import RoleBinding
from apps.scheduling.models import Workload
from apps.scheduling.selectors.executions import execution_place_get
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.executions import execution_take
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.types import WorkloadRequest
from node_agent.protocol.execution import ARGUMENTS_BYTES
from portal.gateway.executions import _holds, _place, _taken
from tests.apps.scheduling.test_shell import ends, parts, runs

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-CMP-10")]
SECRET_WORD = "hunter2-is-the-password"


@pytest.fixture
def work(alice, acme):
    """Alice's work of two shares, which runs."""
    asked = WorkloadRequest(name="job", argv=("true",), compute_percent=50, memory_mib=1, shares=2)
    row = workload_request(actor=alice.actor, tenant=acme, asked=asked)
    cycle_run(actor=SYSTEM)
    row.refresh_from_db()
    runs(row)
    return row


def opened(person, row, what="exec", **body):
    return person.api().post(f"/api/v1/workloads/{row.uid}/{what}", body, format="json")


def test_its_owner_gets_a_ticket_that_holds_once(alice, work):
    answer = opened(alice, work, argv=["nvidia-smi", "-L"], tty=True, share=1)
    assert answer.status_code == 200, answer.json()
    assert answer.headers["Cache-Control"] == "no-store"
    access = execution_take(answer.json()["ticket"])
    assert access is not None
    assert (access.argv, access.tty, access.share, access.port) == (["nvidia-smi", "-L"], True, 1, None)
    assert execution_take(answer.json()["ticket"]) is None


def test_a_way_to_a_port_holds_for_many_connections(alice, work):
    key = opened(alice, work, "port-forward", port=8888).json()["ticket"]
    assert [execution_take(key).port for _ in range(3)] == [8888] * 3


def test_nobody_else_gets_one(alice, work, member, operator):
    colleague, stranger = member("acme", "tenant_front_line"), member("globex", "tenant_front_line")
    manager, ops = member("acme", "tenant_system_administrator"), operator("cluster_administrator")
    for person in (colleague, stranger, manager, ops):
        for what, body in (("exec", {}), ("port-forward", {"port": 1})):
            assert opened(person, work, what, **body).status_code in (400, 403, 404), (person.user, what)


def test_a_colleague_who_sees_the_work_opens_no_page_either(work, member, alice):
    colleague = member("acme", "tenant_system_administrator")
    assert colleague.page().get(f"/resources/{work.uid}/").status_code == 200
    assert colleague.page().get(f"/resources/{work.uid}/terminal/").status_code in (403, 404)
    assert "open-terminal" not in colleague.page().get(f"/resources/{work.uid}/").content.decode()
    assert "open-terminal" in alice.page().get(f"/resources/{work.uid}/").content.decode()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"argv": ["x" * (ARGUMENTS_BYTES // 2)] * 3}, "argv"),
        ({"argv": "ls"}, "argv"),
        ({"share": 2}, "share"),
        ({"share": -1}, "share"),
        ({"user": "root"}, "user"),
    ],
)
def test_what_cannot_be_run_is_refused_by_its_field(alice, work, body, field):
    answer = opened(alice, work, **body)
    assert answer.status_code == 400, answer.json()
    assert any(name.startswith(field) for name in answer.json()["error"]["fields"])


def test_work_that_does_not_run_has_no_terminal(alice, work):
    for part in parts(work):
        ends(part)
    assert opened(alice, work).status_code == 409
    assert execution_place_get(work.uid, 0) is None
    assert "open-terminal" not in alice.page().get(f"/resources/{work.uid}/").content.decode()


def test_beside_a_session_nothing_is_run(alice, work):
    Workload.plain.filter(pk=work.pk).update(kind="session")
    assert opened(alice, work).status_code == 409
    assert execution_place_get(work.uid, 0) is None


def test_who_opened_what_when_is_in_the_record_and_no_secret(alice, work):
    opened(alice, work, argv=["mysql", f"-p{SECRET_WORD}"])
    opened(alice, work)
    opened(alice, work, "port-forward", port=8888)
    rows = list(Record.objects.filter(name__in=("execution_open", "port_open")).order_by("pk"))
    assert [row.actor_name for row in rows] == [alice.user.username] * 3
    assert [row.detail.get("program") for row in rows] == ["mysql", "shell", None]
    assert rows[2].detail["port"] == 8888
    assert {row.subject_id for row in rows} == {str(work.uid)}
    kept = json.dumps([row.detail for row in rows])
    assert SECRET_WORD not in kept


def logout(alice, _acme):
    ApiToken.objects.filter(user=alice.user).update(revoked_at="2026-01-01T00:00:00Z")


def disabled(alice, _acme):
    user_disable(actor=SYSTEM, user=alice.user)


def left(alice, acme):
    membership_remove(actor=SYSTEM, user=alice.user, tenant=acme)


def role_taken(alice, acme):
    with in_tenant(acme.schema_name):
        RoleBinding.objects.filter(user_id=alice.user.pk).delete()


@pytest.mark.parametrize("ended_by", [logout, disabled, left, role_taken])
def test_what_is_open_ends_with_whoever_opened_it(alice, acme, work, ended_by):
    access = _taken(opened(alice, work).json()["ticket"])
    ticket = opened(alice, work).json()["ticket"]
    assert access is not None
    assert _holds(access)
    ended_by(alice, acme)
    assert not _holds(access)
    assert _taken(ticket) is None


def test_it_leads_to_the_share_that_was_named_and_to_nobody_elses(alice, work):
    places = [_place(_taken(opened(alice, work, share=share).json()["ticket"])) for share in (0, 1)]
    assert len({place.slice_uid for place in places}) == 2
    access = _taken(opened(alice, work).json()["ticket"])
    Workload.plain.filter(pk=work.pk).update(submitted_by=None)
    assert _place(access) is None


def test_who_reads_the_cache_cannot_use_what_is_in_it(alice, work):
    ticket = opened(alice, work).json()["ticket"]
    assert cache.get(f"work-exec.{ticket}") is None
    assert execution_take("no-such-ticket") is None
