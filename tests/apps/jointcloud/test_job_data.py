"""A task reads data: it goes where that lies and finds it by a variable; what it may not see is not there for it."""

import pytest
from django.utils import timezone

from apps.centers.models import RemoteTask
from apps.centers.services.messages import message_open
from apps.centers.states import RemoteState
from apps.jointcloud.errors import DatasetInUse
from apps.jointcloud.models import Dataset, DatasetCopy, Decision, Job, TaskData
from apps.jointcloud.selectors.data import data_read
from apps.jointcloud.selectors.jobs import jobs_waiting
from apps.jointcloud.services import placing
from apps.jointcloud.services.data import (
    dataset_change,
    dataset_copy_remove,
    dataset_copy_set,
    dataset_make,
    dataset_remove,
)
from apps.jointcloud.services.placing import cycle_run
from apps.jointcloud.services.submission import job_submit
from apps.jointcloud.states import DecisionKind
from apps.jointcloud.types import CopyFacts, DatasetFacts
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput
from apps.tenancy.events import TenantDataDeleted
from portal.subscribers.tenants import data_deleted
from tests.apps.jointcloud.jobs import asked, attempts, cycle, other, say

pytestmark = pytest.mark.django_db
TRY = "/api/v1/placements/try"


@pytest.fixture
def alice(acme, globex, member):
    return member("acme", "tenant_front_line")


@pytest.fixture
def submit(alice, acme):
    """Submit a job of alice's of one task that reads this data."""

    def make(*data, **more):
        return job_submit(actor=alice.actor, tenant=acme, asked=asked(other("train", data=data, **more)))

    return make


@pytest.fixture
def dataset(acme):
    """Enter data of acme's, with copies at these centres."""

    def make(name="imagenet", *places, version="1", tenant=acme, digest="", **facts):
        return dataset_make(
            actor=SYSTEM,
            tenant=tenant,
            data_name=name,
            data_version=version,
            facts=DatasetFacts(**{"size_bytes": 1000, "files": 1, "digest": digest} | facts),
            copies=[CopyFacts(code, f"/share/{code}/{name}") for code in places],
        )

    return make


@pytest.fixture
def network(spec, centre):
    """Two centres: work would go to the cheap one."""
    one = spec()
    centre("cheap", one, prices={"gpu1": 1})
    centre("dear", one, prices={"gpu1": 9000})


def environment(job):
    (row,) = attempts(job)
    return dict(message_open(RemoteTask.objects.get(key=row.key)).environment)


@pytest.mark.req("JC-5f7", "JC-6.3.1-2", "JC-6.3.2-1", "JC-6.5-1")
def test_a_job_goes_to_where_its_data_lies_and_finds_it_by_a_variable(submit, network, dataset):
    dataset("imagenet", "dear")
    dataset("bert.base-v2", "dear", "cheap", tenant=None)
    job = submit("imagenet", "bert.base-v2:1")
    assert cycle().placed == 1
    assert [row.ai_center_id for row in attempts(job)] == ["dear"]
    told = environment(job)
    assert told["WEIR_DATA_IMAGENET"] == "/share/dear/imagenet"
    assert told["WEIR_DATA_BERT_BASE_V2"] == "/share/dear/bert.base-v2"
    placed = Decision.objects.get(task__job=job, kind=DecisionKind.PLACED)
    assert [code for code, _ in placed.reasons][-2:] == ["data_there", "data_there"]
    (cheap,) = [each for each in placed.standings if each["center"] == "cheap"]
    assert [code for code, _ in cheap["refused"]] == ["data_stays"]
    # Without data the same task goes to the cheap one.
    assert cycle().placed == 0
    free = submit()
    cycle()
    assert [row.ai_center_id for row in attempts(free)] == ["cheap"]
    assert not [name for name in environment(free) if name.startswith("WEIR_DATA")]


@pytest.mark.req("JC-5f7")
@pytest.mark.parametrize("may_move", [False, True])
def test_a_job_waits_in_words_until_a_copy_lies_somewhere_and_nothing_moves(
    alice, acme, submit, network, dataset, may_move
):
    row = dataset("imagenet", may_move=may_move)
    job = submit("imagenet:1")
    assert cycle().placed == 0
    client = alice.api()
    told = client.get(f"/api/v1/jobs/{job.job_id}").json()
    assert told["tasks"][0]["data"] == ["imagenet:1"]
    assert "Without the data, which stays where it is: 2 centres." in told["tasks"][0]["waits_for"]
    copy = CopyFacts("dear", "s3://shared/imagenet")
    dataset_copy_set(actor=SYSTEM, tenant=acme, data_id=row.data_id, copy=copy)
    assert cycle().placed == 1
    assert environment(job)["WEIR_DATA_IMAGENET"] == "s3://shared/imagenet"
    said = [each["text"] for each in client.get(f"/api/v1/jobs/{job.job_id}").json()["decisions"]]
    assert any("The data imagenet:1 is there." in text for text in said), said
    assert DatasetCopy.objects.count() == 1


@pytest.mark.req("JC-6.3.1-1")
def test_a_copy_of_another_digest_is_none(acme, submit, network, dataset):
    row = dataset("imagenet", "cheap", "dear", digest="sha256:" + "a" * 64)
    DatasetCopy.objects.filter(center__ai_center_id="cheap").update(digest="sha256:" + "b" * 64)
    job = submit("imagenet")
    cycle()
    assert [each.ai_center_id for each in attempts(job)] == ["dear"]
    dataset_change(actor=SYSTEM, tenant=acme, data_id=row.data_id, digest="sha256:" + "b" * 64)
    DatasetCopy.objects.filter(center__ai_center_id="dear").update(digest="sha256:" + "a" * 64)
    again = submit("imagenet")
    cycle()
    assert [each.ai_center_id for each in attempts(again)] == ["cheap"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (("nobody-s",), "There is no data nobody-s."),
        (("theirs",), "There is no data theirs."),
        (("imagenet:9",), "There is no data imagenet:9."),
        (("imagenet:",), "There is no data imagenet:."),
        (("\0",), "There is no data \0."),
        (("coco",), "There are several versions of coco: 1, 2. Name one, as coco:2."),
        (("imagenet", "imagenet:1"), "Both imagenet and imagenet:1 would lie in WEIR_DATA_IMAGENET."),
        (("a.b", "a-b"), "Both a.b and a-b would lie in WEIR_DATA_A_B."),
        (tuple(f"d{n}" for n in range(17)), "A task reads at most 16 datasets."),
    ],
)
def test_data_that_cannot_be_meant_is_refused_by_its_field(submit, spec, dataset, globex, data, said):
    spec()
    for name in ("imagenet", "a.b", "a-b"):
        dataset(name)
    dataset("theirs", tenant=globex)
    dataset("coco")
    dataset("coco", version="2")
    with pytest.raises(InvalidInput) as error:
        submit(*data)
    assert said in str(error.value.fields["tasks[0].data"])
    assert Job.plain.count() == TaskData.objects.count() == 0


def test_a_tenant_s_own_data_is_meant_before_the_centre_s_of_that_name(submit, network, dataset):
    dataset("imagenet", "cheap", tenant=None)
    dataset("imagenet", "dear")
    job = submit("imagenet")
    cycle()
    assert [row.ai_center_id for row in attempts(job)] == ["dear"]


def test_what_an_open_job_reads_is_not_removed_and_a_job_is_read_after_its_data(
    alice, acme, submit, network, dataset
):
    row = dataset("imagenet", "cheap", "dear")
    job = submit("imagenet")
    given = {"actor": SYSTEM, "tenant": acme, "data_id": row.data_id}
    with pytest.raises(DatasetInUse, match="night run"):
        dataset_remove(**given)
    cycle()
    with pytest.raises(DatasetInUse, match="night run"):
        dataset_copy_remove(**given, ai_center_id="cheap")
    dataset_copy_remove(**given, ai_center_id="dear")
    say(attempts(job)[0], RemoteState.SUCCEEDED)
    dataset_copy_remove(**given, ai_center_id="cheap")
    dataset_remove(**given)
    told = alice.api().get(f"/api/v1/jobs/{job.job_id}").json()
    assert told["tasks"][0]["data"] == ["imagenet:1"]


def test_a_copy_that_goes_while_the_cycle_plans_sends_the_task_to_the_next_best(
    submit, network, dataset, monkeypatch
):
    dataset("imagenet", "cheap", "dear")
    job = submit("imagenet")
    carry_out = placing._carry_out

    def later(snapshot, decided, *, actor):
        DatasetCopy.objects.filter(center__ai_center_id="cheap").delete()
        return carry_out(snapshot, decided, actor=actor)

    monkeypatch.setattr(placing, "_carry_out", later)
    assert cycle_run(actor=SYSTEM).placed == 1
    assert [row.ai_center_id for row in attempts(job)] == ["dear"]
    refused = Decision.objects.get(task__job=job, kind=DecisionKind.REFUSED)
    assert (refused.ai_center_id, refused.message) == ("cheap", "The data imagenet:1 is not there any more.")


@pytest.mark.req("JC-5f7", "JC-6.5-1")
def test_the_dry_run_says_where_the_data_lies_and_where_not(alice, network, dataset, operator, globex):
    dataset("imagenet", "dear")
    dataset("coco", "dear")
    dataset("coco", "dear", version="2")
    dataset("theirs", "dear", tenant=globex)
    client = alice.api()

    def tried(data, who=client):
        return who.post(TRY, {"tasks": [{"resource_spec_id": "gpu1", "data": data}]}, format="json")

    (task,) = tried(["imagenet"]).json()["tasks"]
    assert [each["ai_center_id"] for each in task["placed"]] == ["dear"]
    assert task["sentences"][-1]["message"] == "The data imagenet:1 is there."
    (cheap,) = [row for row in task["centers"] if row["ai_center_id"] == "cheap"]
    assert [each["message"] for each in cheap["reasons"]] == [
        "The data imagenet:1 is not at the centre, and stays where it is."
    ]
    for name in ("theirs", "nobody-s"):
        (task,) = tried([name]).json()["tasks"]
        assert task["centers"][0]["reasons"][0]["message"] == f"The data {name} is at no centre."
    refused = tried(["coco"])
    assert refused.status_code == 400
    assert "Name one" in refused.json()["error"]["fields"]["tasks.0.data"]
    # Without a tenant an operator tries with the centre's data alone.
    ops = operator("cluster_administrator").api()
    (task,) = tried(["imagenet"], ops).json()["tasks"]
    assert task["placed"] == []
    # For a tenant he tries with what that tenant's jobs would read.
    body = {"tenant": "acme", "tasks": [{"resource_spec_id": "gpu1", "data": ["imagenet"]}]}
    (task,) = ops.post(TRY, body, format="json").json()["tasks"]
    assert [each["ai_center_id"] for each in task["placed"]] == ["dear"]


def test_a_tenant_s_data_goes_with_the_tenant_and_the_centre_s_stays(submit, network, dataset):
    dataset("imagenet", "dear")
    dataset("public", "dear", tenant=None)
    submit("imagenet", "public")
    data_deleted(TenantDataDeleted("acme"), actor=SYSTEM)
    assert [row.data_name for row in Dataset.objects.all()] == ["public"]
    assert not TaskData.objects.exists()


def test_data_of_many_jobs_takes_two_queries(submit, network, dataset, django_assert_num_queries):
    dataset("imagenet", "dear")
    dataset("public", "dear", tenant=None)
    for _each in range(3):
        submit("imagenet", "public")
    waiting = jobs_waiting(timezone.now())
    with django_assert_num_queries(2):
        found = data_read(waiting)
    assert sorted((row.id.partition("@")[0], row.centre_ids, row.is_private) for row in found) == [
        ("imagenet:1", {"dear"}, True),
        ("public:1", {"dear"}, True),
    ]
