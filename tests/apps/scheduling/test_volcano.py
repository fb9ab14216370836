"""Our queues as Volcano's and Volcano's as ours."""

from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from apps.fleet.models import ResourceGroup
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import WeirError
from apps.scheduling.errors import InvalidQueueFile
from apps.scheduling.models import Queue, Workload
from apps.scheduling.selectors.queues.queue_state import volcano_text
from apps.scheduling.selectors.workloads import queue_get
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.queues.queue_settings import queue_change, queue_close, queue_open
from tests.apps.scheduling.pool import node_make, submit
from tests.apps.scheduling.test_queue_files import apply, make

pytestmark = pytest.mark.django_db
SCHEMA = yaml.safe_load((Path(__file__).parent / "volcano_queue_schema.yaml").read_text())
VOLCANO = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: training-queue}
spec:
  weight: 1
  capability: {nvidia.com/gpu: 32}
  guarantee: {resource: {nvidia.com/gpu: 2}}
  reclaimable: true
  affinity:
    nodeGroupAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [gpu-training]}
    nodeGroupAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [inference-only]}
"""


def manifests(**more):
    return {each["metadata"]["name"]: each for each in yaml.safe_load_all(volcano_text(**more))}


@pytest.mark.req("ELA-1703", "ELA-1704", "ELA-1705")
def test_manifests_are_of_the_shape_that_volcano_documents(acme):
    node_make("n1", devices=8)
    for code in ("gpu-training", "inference-only"):
        ResourceGroup.objects.create(code=code, name_en=code, name_zh=code)
    top = make("top", weight=5, max_compute_percent=600, guaranteed_compute_percent=400, priority=9)
    make("Half_card", parent=top, max_compute_percent=250, borrow_compute_percent=50, guaranteed_compute_percent=50,
         max_memory_mib=4096, resource_group="gpu-training")  # fmt: skip
    found = manifests()
    for each in found.values():
        Draft202012Validator(SCHEMA).validate(each)
        assert "state" not in each["spec"]
    assert found["top"]["spec"] == {
        "weight": 5,
        "capability": {"nvidia.com/gpu": 6},
        "guarantee": {"resource": {"nvidia.com/gpu": 4}},
        "reclaimable": True,
        "affinity": {"nodeGroupAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": ["gpu-training", "inference-only"]}},
        "priority": 9,
    }  # fmt: skip
    half = found["half-card"]["spec"]
    assert half["capability"] == {"nvidia.com/gpu": 3, "volcano.sh/vgpu-memory": 4096}
    assert half["deserved"] == {"volcano.sh/vgpu-cores": 250, "volcano.sh/vgpu-memory": 4096}
    assert half["guarantee"] == {"resource": {"volcano.sh/vgpu-cores": 50}}
    assert half["parent"] == "top"
    assert half["affinity"]["nodeGroupAffinity"] == {
        "requiredDuringSchedulingIgnoredDuringExecution": ["gpu-training"]
    }
    assert manifests(resource="huawei.com/Ascend910")["top"]["spec"]["capability"] == {
        "huawei.com/Ascend910": 6
    }


@pytest.mark.req("ELA-1703", "ELA-1705")
def test_a_manifest_becomes_a_queue_with_its_guarantee(acme):
    node_make("n1", devices=8)
    ResourceGroup.objects.create(code="gpu-training", name_en="Training", name_zh="训练")
    apply(VOLCANO)
    row = queue_get("training-queue")
    bounds = (row.max_compute_percent, row.borrow_compute_percent, row.guaranteed_compute_percent)
    assert (row.weight, row.resource_group, bounds) == (1, "gpu-training", (3200, 0, 200))
    assert manifests()["training-queue"]["spec"]["guarantee"] == {"resource": {"nvidia.com/gpu": 2}}
    apply(VOLCANO.replace("  reclaimable", "  deserved: {nvidia.com/gpu: 20}\n  reclaimable"))
    row.refresh_from_db()
    assert (row.max_compute_percent, row.borrow_compute_percent) == (2000, 1200)


@pytest.mark.req("ELA-1704")
def test_a_state_in_the_spec_is_not_obeyed_and_said_so(acme):
    node_make("n1", devices=8)
    ResourceGroup.objects.create(code="gpu-training", name_en="Training", name_zh="训练")
    found = apply(VOLCANO + "  state: Closed\nstatus: {state: Closing, pending: 1}\n")
    assert queue_get("training-queue").state == "up"
    assert [note.partition(": ")[2][:22] for note in found.notes[:2]] == [
        "spec.state is not read", "it is Closing there: c"
    ]  # fmt: skip


@pytest.mark.req("ELA-1703")
@pytest.mark.parametrize(
    ("old", "new", "line", "cause"),
    [
        ("reclaimable: true", "reclaimable: false", 9, "taken back"),
        ("gpu: 32", "gpu: 32, amd.com/gpu: 1", 7, "bounded apart"),
        ("[inference-only]", "[gpu-training]", 10, "kept away from"),
        ("[gpu-training]", "[gpu-training, b]", 10, "one node group"),
        ("gpu: 32", "gpu: 500m", 7, "no whole number"),
        ("weight: 1", "weight: 2000", 6, "weight"),
        ("weight: 1", "wieght: 1", 6, "no setting wieght"),
        ("v1beta1", "v1alpha1", 2, "apiVersion cannot be"),
        ("name: training-queue", "name: Training_Queue", 4, "name cannot be"),
        ("{nvidia.com/gpu: 2}", "{nvidia.com/gpu: 99}", 8, "guaranteed 9900"),
    ],
)
def test_a_manifest_that_cannot_be_kept_as_it_is_meant_is_refused(acme, old, new, line, cause):
    node_make("n1", devices=8)
    ResourceGroup.objects.create(code="gpu-training", name_en="Training", name_zh="训练")
    assert old in VOLCANO
    with pytest.raises(InvalidQueueFile, match=cause) as refused:
        apply(VOLCANO.replace(old, new, 1))
    assert str(refused.value.message).startswith(f"Line {line}: ")
    assert not Queue.objects.filter(code="training-queue").exists()


@pytest.mark.req("ELA-1704")
def test_queues_are_opened_and_closed_by_command_and_their_state_is_observed(acme):
    node_make("n1")
    queue = make("q")
    row = submit(acme, percent=50, queue="q")

    def observed():
        return manifests()["q"]["status"]["state"]

    assert observed() == "Open"
    queue_close(actor=SYSTEM, queue=queue)
    assert observed() == "Closing"
    with pytest.raises(WeirError, match="q"):
        submit(acme, queue="q")
    cycle_run(actor=SYSTEM)
    row.refresh_from_db()
    assert row.state == "placed", "a queue that closes starts what waits"
    Workload.plain.filter(pk=row.pk).update(state="finished")
    assert observed() == "Closed"
    queue_change(actor=SYSTEM, queue=queue, changes={"state": "down"})
    assert observed() == "Unknown"
    queue_open(actor=SYSTEM, queue=queue)
    assert observed() == "Open"


@pytest.mark.req("ELA-1703", "ELA-1706")
def test_what_a_cluster_answers_is_read_with_all_that_it_adds(acme):
    """As `kubectl get queues -o yaml` prints it: a list, the root queue, fields of the cluster's own, a tree."""
    node_make("n1", devices=8)
    ResourceGroup.objects.create(code="gpu-training", name_en="Training", name_zh="训练")
    ours = yaml.safe_load(VOLCANO)
    ours["metadata"] |= {
        "uid": "5b1c",
        "resourceVersion": "7",
        "managedFields": [{"manager": "x"}],
        "generation": 2,
    }
    ours["spec"] |= {"parent": "department", "dequeueStrategy": "traverse", "type": ""}
    ours["status"] = {"state": "Open", "allocated": {"nvidia.com/gpu": "3"}, "pending": 1, "reservation": {}}
    head = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}
    department = {**head, "metadata": {"name": "department"}, "spec": {"weight": 4, "parent": "root",
                  "guarantee": {"resource": {"nvidia.com/gpu": "2"}}}}  # fmt: skip
    root = {**head, "metadata": {"name": "root"}, "spec": {"weight": 1}}
    found = apply(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [root, ours, department]}))
    assert [(each.name, each.act) for each in found.changes] == [
        ("department", "make"),
        ("training-queue", "make"),
    ]
    assert queue_get("training-queue").parent.code == "department"
    assert not Queue.objects.filter(code="root").exists()
    assert apply(volcano_text()).changes == ()
