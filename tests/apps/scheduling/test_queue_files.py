"""The queues as a file: read, planned, applied at once or not at all, and exported."""

from collections import Counter
from pathlib import Path

import pytest
import yaml

from apps.audit.models import Record
from apps.fleet.models import ResourceGroup
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict
from apps.scheduling.engine.model.types import Ordering
from apps.scheduling.errors import InvalidQueueFile, QueueInUse
from apps.scheduling.models import Allocation, Queue, Workload
from apps.scheduling.selectors.queues.queue_state import queue_state, volcano_text
from apps.scheduling.selectors.workloads import policy_get, queue_get
from apps.scheduling.services.cycle.cluster_cache import ClusterCache
from apps.scheduling.services.cycle.cycle_runner import CycleRunner, cycle_run
from apps.scheduling.services.queues.files import queue_file_apply, queue_file_plan
from apps.scheduling.services.queues.queue_settings import policy_set, queue_change, queue_make
from apps.scheduling.services.quota.quotas import quota_set
from apps.scheduling.services.workloads.stopping import workload_stop
from apps.scheduling.snapshot.workloads import snapshot_get
from tests.apps.scheduling.pool import node_make, submit

pytestmark = pytest.mark.django_db
SAMPLE = (Path(__file__).parent / "queues.yaml").read_text()


def apply(text, **more):
    return queue_file_apply(actor=SYSTEM, text=text, **more)


def plan(text, **more):
    return queue_file_plan(actor=SYSTEM, text=text, **more)


def make(code, **changes):
    return queue_make(actor=SYSTEM, code=code, name_en=code, name_zh=code, changes=changes)


@pytest.mark.req("ELA-1701", "ELA-1702")
def test_the_sample_is_taken_as_it_is_written(acme):
    node_make("n1", devices=96)
    policy_set(actor=SYSTEM, changes={"has_preemption": True, "has_reclaim": True})
    found = apply(SAMPLE)
    assert [(each.name, each.act) for each in found.changes] == [
        ("high-priority", "make"), ("normal", "make"), ("preemptible", "make"), ("fairShare", "change"),
    ]  # fmt: skip
    assert (found.kept, found.notes) == (("default",), ())
    rows = {row.id: row for row in snapshot_get(with_work=False).queues}
    told = {
        code: (
            row.weight,
            row.quota.nominal.compute_percent,
            row.quota.guaranteed.compute_percent,
            row.preempts,
        )
        for code, row in rows.items()
        if code != "default"
    }
    assert told == {
        "high-priority": (100, 4800, 3200, True),
        "normal": (50, 6400, 1600, True),
        "preemptible": (10, 6400, 0, False),
    }
    assert snapshot_get(with_work=False).policy.ordering is Ordering.FAIR_SHARE
    assert apply(SAMPLE).changes == ()


@pytest.mark.req("ELA-1701")
def test_a_changed_file_steers_the_scheduler_that_runs(db, acme):
    node_make("n1", devices=2)
    cache = ClusterCache()
    cache.begin()
    runner = CycleRunner(cache, actor=SYSTEM)
    apply("queues: [{name: night, maxCapacity: 1}]")
    rows = [submit(acme, percent=100, queue="night") for _ in range(2)]

    def placed():
        cache.follow()
        runner.run()
        return Allocation.objects.filter(workload__in=rows, state="active").count()

    assert placed() == 1
    apply("queues: [{name: night, maxCapacity: 2}]")
    assert placed() == 2


@pytest.mark.req("ELA-1701")
@pytest.mark.parametrize(
    ("lines", "line", "cause", "cure"),
    [
        ("- name: b\n  weight: 0", 4, "weight cannot be 0", "at least 1"),
        ("- name: a\n  guaranteedCapacity: 3", 4, "the pool can guarantee 200", "Guarantee less"),
        ("- name: a\n  maxCapacity: 1\n  guaranteedCapacity: 2", 5, "may use only 100", "Guarantee less"),
        ("- name: a\n  parent: b\n- {name: b, parent: a}", 4, "part of itself: a → b → a", "another queue"),
        ("- name: a\n  parent: nowhere", 4, "no queue nowhere", "List it too"),
        ("- name: a\n  resourceGroup: none-such", 4, "no resource group none-such", "Choose one"),
        ("- name: a\n  tenants: [acme, nobody]", 4, "no tenant nobody", "by their codes"),
        ("- name: a\n  ordering: lottery", 4, "ordering: one of", "Correct"),
        ("- name: a\n  windows: [never]", 4, "never is no window", "Mon-Fri"),
        ("- name: a\n- name: a", 4, "stands on line 3 already", "Take one away"),
        ("- name: a\n  maxCapacity: 1.005", 4, "cannot be 1.005", "at most 2 decimal places"),
        ("- name: a\n  maxCapacity: 99999999", 4, "cannot be 99999999", "at most 21474836"),
        ("- name: no", 3, "name cannot be False", "quotation marks"),
        ("- name: a\n  preemptionPolicy: Sometimes", 4, "cannot be Sometimes", "PreemptLowerPriority"),
        ("- name: a\nfairshare: {}", 4, "no setting fairshare", "Correct its name"),
        ("- name: a\nfairShare: {preemptionPolicy: Never}", 4, "enabled is missing", "Name it"),
        ("- {name: a", 4, "did not find expected", "YAML"),
        ("- &a {name: a}\n- *a", 4, "Aliases", "Write each queue out"),
        ("- name: !!python/name:os.system a", 3, "is a tag", "plain value"),
        ("- name: a\n  name: b", 4, "given twice", "Take one away"),
    ],
)
def test_an_invalid_file_leaves_all_as_it_was_and_names_the_line(acme, lines, line, cause, cure):
    node_make("n1", devices=2)
    make("standing", weight=7)
    before = queue_state()
    with pytest.raises(InvalidQueueFile, match=cause) as refused:
        apply(f"queues:\n- {{name: standing, weight: 9}}\n{lines}\n")
    assert str(refused.value.message).startswith(f"Line {line}: ")
    assert cure in str(refused.value.cure)
    assert next(iter(refused.value.fields)) == f"line {line}"
    assert queue_state() == before


@pytest.mark.req("ELA-1701")
def test_what_holds_only_of_the_whole_file_is_no_reason_to_refuse_it(acme):
    """The pool has 2 cards: that one queue gives its guarantee to another is seen at the end, in either order."""
    node_make("n1", devices=2)
    apply("queues: [{name: a, guaranteedCapacity: 2}, {name: b}]")
    apply("queues: [{name: b, guaranteedCapacity: 2}, {name: a}]")
    apply("queues: [{name: a, parent: b, guaranteedCapacity: 2}, {name: b, guaranteedCapacity: 2}]")
    apply(
        "queues: [{name: b, parent: a, guaranteedCapacity: 2}, {name: a, parent: null, guaranteedCapacity: 2}]"
    )
    assert queue_get("b").parent.code == "a"


@pytest.mark.req("ELA-1701")
def test_a_plan_tells_what_an_application_does_and_keeps_nothing(acme):
    node_make("n1")
    make("day", weight=2, state="drain")
    text = "queues:\n- {name: day, weight: 3, tenants: [acme]}\n- {name: night, windows: [Mon-Tue 20:00-24:00]}\n"
    before, records = queue_state(), Record.objects.count()
    told = plan(text)
    assert (queue_state(), Record.objects.count()) == (before, records)
    done = apply(text, state=told.state)
    assert done == told
    assert str(done.changes[0]) == "change day: weight 2 → 3, tenants [] → ['acme']"
    assert queue_get("day").state == "drain", "opened and closed by command alone"
    assert "change day: weight 2 → 3" in str(Record.objects.get(name="queue_file_apply").detail)
    with pytest.raises(Conflict, match="changed meanwhile"):
        apply(text, state=told.state)


@pytest.mark.req("ELA-1701", "ELA-609")
def test_what_a_file_does_not_name_stays_or_is_pruned(acme):
    node_make("n1")
    apply("queues: [{name: top}, {name: low, parent: top}, {name: busy}, {name: stays}]")
    row = submit(acme, queue="busy")
    assert plan("queues: [{name: stays}]").kept == ("busy", "default", "low", "top")
    with pytest.raises(QueueInUse, match="1 workloads"):
        apply("queues: [{name: stays, weight: 5}]", prune=True)
    assert Queue.objects.filter(retired_at=None).count() == 5
    assert queue_get("stays").weight == 1
    Workload.plain.filter(pk=row.pk).update(state="finished")
    found = apply("queues: [{name: stays}]", prune=True)
    assert [each.name for each in found.changes if each.act == "remove"] == ["busy", "low", "top"]
    assert found.kept == ("default",)


@pytest.mark.req("ELA-1701")
def test_what_stands_is_exported_and_read_back_to_the_same(acme, globex):
    node_make("n1", devices=4)
    ResourceGroup.objects.create(code="training", name_en="Training", name_zh="训练")
    top = make(
        "top", guaranteed_compute_percent=250, max_compute_percent=300, borrow_compute_percent=50, weight=3
    )
    make("Low_1", parent=top, max_compute_percent=0, borrow_compute_percent=33, priority=-5, preempts=False,
         resource_group="training", lend_compute_percent=0, max_memory_mib=0, ordering="priority")  # fmt: skip
    queue_change(actor=SYSTEM, queue=queue_get("top"), changes={}, tenants=[globex], windows=[(0, 0, 60)])
    policy_set(actor=SYSTEM, changes={"ordering": "fair_share", "fair_share_preempts": False})
    before = queue_state()
    for text in (before.text, volcano_text()):
        assert plan(text).changes == ()
    apply("queues: [{name: top, weight: 9}, {name: Low_1, priority: 7, lendCapacity: null, parent: null}]\n"
          "fairShare: {enabled: false}")  # fmt: skip
    assert policy_get().ordering == "priority"
    apply(before.text)
    assert queue_state() == before


# --- fair share --------------------------------------------------------------------------------------------------


@pytest.mark.req("ELA-1009", "ELA-801")
def test_fair_share_is_switched_with_a_preemption_policy_of_its_own(acme):
    node_make("n1")
    make("fixed", ordering="first_come")
    policy_set(actor=SYSTEM, changes={"has_preemption": True})

    def preempts():
        rows = {row.id: row.preempts for row in snapshot_get(with_work=False).queues}
        return rows["default"], rows["fixed"]

    def switch(enabled, policy):
        apply(f"queues: [{{name: other}}]\nfairShare: {{enabled: {enabled}, preemptionPolicy: {policy}}}")
        return policy_get().ordering, *preempts()

    assert switch("true", "PreemptLowerPriority") == ("fair_share", True, True)
    assert switch("true", "Never") == ("fair_share", False, True)
    assert switch("false", "Never") == ("priority", True, True)
    policy_set(actor=SYSTEM, changes={"ordering": "dominant_share"})
    assert switch("true", "Never") == ("dominant_share", False, True)


@pytest.mark.req("ELA-1001", "ELA-1005")
def test_each_tenant_has_the_share_that_the_file_says(db, acme, globex):
    """12 cards at 3 to 1 are 9 and 3; a share of 0 gets what nobody else uses, and who is not named has 1."""
    node_make("n1", devices=12)
    cache = ClusterCache()
    cache.begin()
    runner = CycleRunner(cache, actor=SYSTEM)
    for tenant in (globex, acme):
        for item, total in (("instances", 99), ("compute_percent", 9900)):
            quota_set(actor=SYSTEM, tenant=tenant, item=item, total=total)

    def split(shares):
        apply(f"queues: [{{name: default}}]\nfairShare: {{enabled: true, shares: {shares}}}")
        rows = [submit(tenant, percent=100, mib=100) for tenant in (globex, acme) for _ in range(12)]
        cache.follow()
        runner.run()
        held = Counter(
            Allocation.objects.filter(state="active").values_list("workload__tenant__schema_name", flat=True)
        )
        for row in rows:
            workload_stop(actor=SYSTEM, tenant=row.tenant, workload_uid=row.uid, reason="next")
        return held["acme"], held["globex"]

    assert split("{acme: 3, globex: 1}") == (9, 3)
    assert queue_state().fair_share["shares"] == {"acme": 3, "globex": 1}
    assert split("{acme: 0}") == (0, 12)
    assert split("{}") == (6, 6)
    with pytest.raises(InvalidQueueFile, match="no tenant nobody"):
        apply("queues: [{name: default}]\nfairShare: {enabled: true, shares: {nobody: 1}}")
    with pytest.raises(InvalidQueueFile, match="Line 2: acme cannot be 1001"):
        apply("queues: [{name: default}]\nfairShare: {enabled: true, shares: {acme: 1001}}")
    assert queue_state().fair_share["shares"] == {}


@pytest.mark.req("ELA-1009")
@pytest.mark.parametrize(("policy", "stopped"), [("Never", 0), ("PreemptLowerPriority", 1)])
def test_under_fair_share_work_preempts_only_where_its_policy_says_so(acme, globex, policy, stopped):
    node_make("n1")
    policy_set(actor=SYSTEM, changes={"has_preemption": True, "grace_s": 0})
    apply(f"queues: [{{name: q}}]\nfairShare: {{enabled: true, preemptionPolicy: {policy}}}")
    held = submit(globex, percent=100, queue="q")
    Workload.plain.filter(pk=held.pk).update(preemptible=True)
    cycle_run(actor=SYSTEM)
    urgent = submit(acme, percent=100, queue="q")
    Workload.plain.filter(pk=urgent.pk).update(priority=5)
    cycle_run(actor=SYSTEM)
    held.refresh_from_db()
    assert (held.state, held.preemptions) == (("pending", 1) if stopped else ("placed", 0))


# --- the API ----------------------------------------------------------------------------------------------------


@pytest.mark.req("ELA-1701", "ELA-1704")
def test_operators_plan_apply_and_export_over_the_api(acme, operator, member):
    node_make("n1", devices=96)
    api = operator("cluster_administrator").api()
    told = api.post("/api/v1/queue-file/plan", {"text": SAMPLE}, format="json")
    assert told.status_code == 200, told.content
    assert not Queue.objects.filter(code="normal").exists()
    body = {"text": SAMPLE, "state": told.json()["state"]}
    done = api.put("/api/v1/queue-file", body, format="json").json()
    assert done == told.json()
    normal = next(each for each in done["changes"] if each["name"] == "normal")
    assert {"name": "weight", "before": None, "after": 50} in normal["settings"]
    assert api.put("/api/v1/queue-file", body, format="json").status_code == 409
    wrong = api.put("/api/v1/queue-file", {"text": "queues: [{name: x, weight: 0}]"}, format="json")
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (400, "queue_file_wrong")
    assert wrong.json()["error"]["fields"] == {"line 1": "weight cannot be 0. It is at least 1."}
    exported = api.get("/api/v1/queue-file").json()["text"]
    assert [each["name"] for each in yaml.safe_load(exported)["queues"]][-1] == "default"
    theirs = api.get("/api/v1/queue-file?form=volcano&resource=amd.com/gpu").json()["text"]
    assert "amd.com/gpu: 64" in theirs
    assert api.get("/api/v1/queue-file?form=xml").status_code == 400
    assert api.post("/api/v1/queues/normal/close").json()["state"] == "drain"
    assert api.post("/api/v1/queues/normal/open").json()["state"] == "up"
    stranger = member("acme", "tenant_front_line").api()
    assert stranger.get("/api/v1/queue-file").status_code == 403
    assert stranger.put("/api/v1/queue-file", {"text": SAMPLE}, format="json").status_code == 403
    assert stranger.post("/api/v1/queues/normal/close").status_code == 403
