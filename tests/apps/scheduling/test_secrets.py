"""Secrets: set and never shown again, given to the node that starts the work, and written down nowhere else."""

import json
import zipfile
from dataclasses import replace

import pytest
from django.core import serializers as dump

from apps.audit.models import Record
from apps.console.tenants.archive import tenant_archive
from apps.fleet.models import Secret, Slice
from apps.fleet.services.secrets import secret_delete, secret_set
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Forbidden, InvalidInput
from apps.scheduling.models import Workload
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.queues.queue_settings import queue_ensure
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.types import WorkloadRequest
from tests.apps.scheduling.pool import tenant_ready
from tests.apps.scheduling.working_node import WorkingNode

pytestmark = pytest.mark.req("PLAT-SEC-4", "ELA-501")
VALUE, NEXT = "hunter2 = s3cr3t-9f", "another-7b1e"
JOB = WorkloadRequest(
    name="train", argv=("true",), compute_percent=10, memory_mib=10, secrets=("HF_TOKEN",), env={"LR": "1"}
)
API = "/api/v1/secrets"


class HearingNode(WorkingNode):
    """Keeps what it was told of each slice, as it came over the wire."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.heard = []

    def hear(self, reply):
        self.heard += [json.loads(wish.model_dump_json()) for wish in reply.desired]
        super().hear(reply)

    def secrets(self):
        return [wish.get("secrets") for wish in self.heard]


@pytest.fixture
def ready(db, acme, globex):
    queue_ensure(actor=SYSTEM)
    return tenant_ready(acme)


@pytest.fixture
def alice(ready, member):
    return member("acme", "tenant_front_line")


def put(person, name="HF_TOKEN", value=VALUE, **more):
    return person.api().post(API, {"name": name, "value": value, **more}, format="json")


def everything():
    """All that the database holds of this, as text."""
    tables = (Secret.plain, Workload.plain, Slice.plain, Record.objects)
    return "".join(dump.serialize("json", table.all()) for table in tables)


def test_what_is_set_is_sealed_and_no_answer_page_or_record_has_it(ready, alice, member):
    made = put(alice)
    assert made.status_code == 201
    assert made.json().keys() == {"uid", "name", "is_shared", "changed_by", "changed_at", "used_at"}
    listed = alice.api().get(API)
    page = alice.page().get("/resources/secrets/")
    said = alice.page().post("/resources/secrets/", {"name": "OTHER", "value": VALUE}, follow=True)
    assert [row["name"] for row in alice.api().get(API).json()["results"]] == ["HF_TOKEN", "OTHER"]
    for text in (made, listed, page, said):
        assert VALUE not in text.content.decode()
    assert "HF_TOKEN" in page.content.decode()
    assert VALUE not in everything()
    told = [record.detail["name"] for record in Record.objects.filter(name="secret_set").order_by("pk")]
    assert told == ["HF_TOKEN", "OTHER"]
    with zipfile.ZipFile(tenant_archive(ready)) as archive:
        taken = b"".join(archive.read(name) for name in archive.namelist()).decode()
    assert "HF_TOKEN" in taken
    assert not [row.name for row in Secret.plain.all() if row.sealed in taken or VALUE in taken]
    put(alice, value=NEXT)
    assert Secret.plain.filter(name="HF_TOKEN").count() == 1, "replaced"
    for stranger in (member("acme", "tenant_front_line"), member("globex", "tenant_front_line")):
        assert stranger.api().get(API).json()["results"] == []
        assert stranger.api().delete(f"{API}/{made.json()['uid']}").status_code == 404
        assert stranger.page().post(f"/resources/secrets/{made.json()['uid']}/remove/").status_code == 404
        body = {"name": "x", "argv": ["true"], "compute_percent": 1, "memory_mib": 1, "secrets": ["HF_TOKEN"]}
        assert stranger.api().post("/api/v1/workloads", body, format="json").status_code == 400
    assert alice.api().delete(f"{API}/{made.json()['uid']}").status_code == 204


@pytest.mark.parametrize(
    "name", ["1A", "A-B", "A B", "", "A=B", "É", "WEIR_SHARE", "SLURM_JOB_ID", "PATH", "A" * 129]
)
def test_a_name_that_is_no_variables_or_the_nodes_own_is_refused(alice, name):
    answer = put(alice, name=name)
    assert answer.status_code == 400
    assert VALUE not in answer.content.decode()
    assert not Secret.plain.exists()


@pytest.mark.parametrize("value", ["", "a\0b", "x" * 32_769])
def test_a_value_that_no_variable_can_have_is_refused_without_repeating_it(alice, value):
    answer = put(alice, value=value)
    assert answer.status_code == 400
    assert not value or value not in answer.content.decode()


def test_one_of_all_is_set_by_who_manages_the_organization_and_ones_own_goes_before_it(ready, alice, member):
    with pytest.raises(Forbidden):
        secret_set(actor=alice.actor, tenant=ready, name="HF_TOKEN", secret_value=VALUE, is_shared=True)
    shared = secret_set(actor=SYSTEM, tenant=ready, name="HF_TOKEN", secret_value=VALUE, is_shared=True)
    row = workload_request(actor=alice.actor, tenant=ready, asked=JOB)
    assert row.secrets == {"HF_TOKEN": str(shared.uid)}
    own = secret_set(actor=alice.actor, tenant=ready, name="HF_TOKEN", secret_value=NEXT)
    assert workload_request(actor=alice.actor, tenant=ready, asked=JOB).secrets == {"HF_TOKEN": str(own.uid)}
    other = member("acme", "tenant_front_line")
    assert workload_request(actor=other.actor, tenant=ready, asked=JOB).secrets == {
        "HF_TOKEN": str(shared.uid)
    }
    with pytest.raises(Forbidden):
        secret_delete(actor=other.actor, tenant=ready, secret_uid=shared.uid)


@pytest.mark.parametrize(
    ("more", "part"),
    [
        ({"secrets": ("NONE",)}, "NONE"),
        ({"secrets": ("A-B",)}, "no variable"),
        ({"env": {"HF_TOKEN": "x"}}, "plain variable too"),
        ({"kind": "session", "argv": (), "env": {}}, "no program"),
    ],
)
def test_work_that_names_what_it_cannot_be_given_is_refused(ready, alice, more, part):
    put(alice)
    with pytest.raises(InvalidInput) as refused:
        workload_request(actor=alice.actor, tenant=ready, asked=replace(JOB, **more))
    assert part in str(refused.value.fields["secrets"])


def test_only_the_node_that_starts_it_is_told_and_only_until_it_runs(ready, alice):
    node, other = HearingNode("n1"), HearingNode("n2")
    put(alice)
    row = workload_request(actor=alice.actor, tenant=ready, asked=replace(JOB, node="n1"))
    assert VALUE not in everything()
    cycle_run(actor=SYSTEM)
    assert Secret.plain.get().used_at is None
    put(alice, value=NEXT)
    node.turn()
    other.turn()
    assert node.secrets()[0] == {"HF_TOKEN": NEXT}, "what it is when it starts"
    assert not any(node.secrets()[-1:]), "never again once it runs"
    assert other.heard == []
    assert Secret.plain.get().used_at is not None
    row.refresh_from_db()
    assert row.state == "running"
    assert row.work["env"] == {"LR": "1"}
    told = alice.api().get(f"/api/v1/workloads/{row.uid}")
    assert told.json()["secrets"] == ["HF_TOKEN"]
    for text in (
        everything(),
        told.content.decode(),
        alice.page().get(f"/resources/{row.uid}/").content.decode(),
    ):
        assert VALUE not in text
        assert NEXT not in text


def test_deleted_while_work_waits_with_it_the_work_ends_with_its_reason(ready, alice):
    WorkingNode("n1")
    uid = put(alice).json()["uid"]
    row = workload_request(actor=alice.actor, tenant=ready, asked=JOB)
    secret_delete(actor=alice.actor, tenant=ready, secret_uid=uid)
    cycle_run(actor=SYSTEM)
    row.refresh_from_db()
    assert (row.state, row.reason_code) == ("failed", "secret_gone")
    assert not Slice.plain.exists()
