"""The tree of queues: what is refused, what is kept, what the tree tells."""

import pytest

from apps.audit.models import Record
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, InvalidInput
from apps.scheduling.errors import GuaranteeTooLarge, QueueCycle, QueueInUse
from apps.scheduling.models import Queue
from apps.scheduling.queue_config.time_windows import weekly_read, weekly_text
from apps.scheduling.selectors.queues.queue_tree import queue_tree
from apps.scheduling.selectors.workloads import queue_get
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.queues.queue_settings import (
    queue_change,
    queue_ensure,
    queue_make,
    queue_remove,
)
from apps.scheduling.services.workloads.stopping import workload_stop
from tests.apps.scheduling.pool import node_make, submit

pytestmark = pytest.mark.django_db


def make(code, parent=None, **changes):
    changes |= {"parent": parent} if parent else {}
    return queue_make(actor=SYSTEM, code=code, name_en=code, name_zh=code, changes=changes)


def change(queue, **changes):
    return queue_change(actor=SYSTEM, queue=queue, changes=changes)


@pytest.mark.req("ELA-612")
def test_a_queue_is_never_part_of_itself(acme):
    top = make("top")
    middle = make("middle", top)
    low = make("low", middle)
    for queue, parent in ((top, low), (middle, low), (top, top)):
        with pytest.raises(QueueCycle, match="part of itself"):
            change(queue, parent=parent)
    assert [row.parent_id for row in Queue.objects.order_by("pk")] == [None, top.pk, middle.pk]


@pytest.mark.req("ELA-605")
def test_a_guarantee_is_backed_by_the_parent_and_the_pool(acme):
    node_make("n1", devices=2)
    top = make("top", guaranteed_compute_percent=150)
    make("left", top, guaranteed_compute_percent=100)
    with pytest.raises(
        GuaranteeTooLarge, match="queue top can guarantee 150: 100 are promised to others, 60 more"
    ):
        make("right", top, guaranteed_compute_percent=60)
    assert not Queue.objects.filter(code="right").exists()
    make("right", top, guaranteed_compute_percent=50)
    with pytest.raises(GuaranteeTooLarge, match="the pool can guarantee 200"):
        make("beside", guaranteed_compute_percent=51)
    with pytest.raises(GuaranteeTooLarge, match="guaranteed 150 in all"):
        change(top, guaranteed_compute_percent=149)
    with pytest.raises(GuaranteeTooLarge, match="may use only 10"):
        make("small", max_compute_percent=10, guaranteed_compute_percent=11)


@pytest.mark.req("ELA-605")
def test_an_empty_pool_refuses_no_guarantee(acme):
    assert make("early", guaranteed_compute_percent=6400).guaranteed_compute_percent == 6400


@pytest.mark.parametrize(
    "changes",
    [{"weight": 0}, {"weight": 1001}, {"ordering": "lottery"}, {"nonsense": 1}, {"lend_compute_percent": 1}],
)
def test_a_setting_that_is_none_is_refused_and_nothing_changes(acme, changes):
    queue = make("q")
    with pytest.raises(InvalidInput):
        change(queue, state="drain", **changes)
    assert Queue.objects.get(pk=queue.pk).state == "up"


@pytest.mark.req("ELA-609")
def test_a_queue_with_work_in_it_is_not_removed(acme):
    node_make("n1")
    night = make("night")
    row = submit(acme, queue="night")
    with pytest.raises(QueueInUse, match="1 workloads that wait or run"):
        queue_remove(actor=SYSTEM, queue=night)
    workload_stop(actor=SYSTEM, tenant=acme, workload_uid=row.uid, reason="enough")
    queue_remove(actor=SYSTEM, queue=night)
    row.refresh_from_db()
    assert row.queue.retired_at is not None
    assert "night" not in [each.code for each in [branch.queue for branch in queue_tree()]]
    # Its code is free again, and the old work keeps the old queue.
    assert make("night").pk != night.pk


@pytest.mark.req("ELA-609")
def test_a_queue_goes_after_the_branch_that_had_work(acme):
    node_make("n1")
    top = make("top")
    low = make("low", top)
    row = submit(acme, queue="low")
    workload_stop(actor=SYSTEM, tenant=acme, workload_uid=row.uid, reason="enough")
    queue_remove(actor=SYSTEM, queue=low)
    queue_remove(actor=SYSTEM, queue=top)
    assert [branch.queue.code for branch in queue_tree()] == ["default"]


@pytest.mark.req("ELA-609")
def test_what_holds_others_is_not_removed(acme):
    default = queue_ensure(actor=SYSTEM)
    top = make("top")
    make("low", top)
    with pytest.raises(QueueInUse, match="has queues in it: low"):
        queue_remove(actor=SYSTEM, queue=top)
    with pytest.raises(Conflict, match="it stays"):
        queue_remove(actor=SYSTEM, queue=default)
    with pytest.raises(Conflict, match="already"):
        make("top")
    queue_remove(actor=SYSTEM, queue=queue_get("low"))
    with pytest.raises(Conflict, match="removed meanwhile"):
        change(Queue(pk=10**6, code="low"), priority=1)


@pytest.mark.req("ELA-1101", "ELA-610")
def test_the_tree_tells_use_borrowed_and_waiting_of_whole_branches(acme):
    node_make("n1", devices=2)
    top = make("top", guaranteed_compute_percent=50)
    make("low", top, guaranteed_compute_percent=50)
    submit(acme, percent=70, queue="low")
    submit(acme, percent=40, queue="top")
    cycle_run(actor=SYSTEM)
    submit(acme, percent=100, queue="low")
    found = {branch.queue.code: branch for branch in queue_tree()}
    assert [branch.queue.code for branch in queue_tree()] == ["default", "top", "low"]
    assert (found["low"].use.compute_percent, found["low"].borrowed_percent, found["low"].use.waiting) == (
        70,
        20,
        1,
    )
    assert (found["top"].own.compute_percent, found["top"].use.compute_percent) == (40, 110)
    assert (found["top"].use.waiting, found["top"].use.running, found["top"].borrowed_percent) == (1, 2, 60)
    assert found["low"].depth == 1


@pytest.mark.req("PLAT-AICFG-29")
def test_windows_are_read_as_people_write_them():
    spans = weekly_read("Mon-Wed 20:00-24:00\n周日 00:00–06:30")
    assert spans == [(0, 1200, 1440), (1, 1200, 1440), (2, 1200, 1440), (6, 0, 390)]
    assert weekly_read(weekly_text(spans)) == spans
    assert weekly_read("fri-mon 1:00-2:00") == [(day, 60, 120) for day in (0, 4, 5, 6)]
    for wrong in (
        "tomorrow 1:00-2:00",
        "Mon 2:00-1:00",
        "Mon 1:00-25:00",
        "Mon 1-2",
        "Mon 1:00-3:00, Mon 2:00-4:00",
    ):
        with pytest.raises(InvalidInput):
            weekly_read(wrong)


@pytest.mark.req("PLAT-AICFG-23", "PLAT-CLU-48", "PLAT-CLU-62")
def test_operators_steer_queues_over_the_api(acme, operator, member):
    api = operator("cluster_administrator").api()
    body = {"code": "gpu", "name_en": "GPU", "name_zh": "GPU", "weight": 3, "windows": [
        {"weekday": 0, "from_minute": 0, "to_minute": 60}]}  # fmt: skip
    made = api.post("/api/v1/queues", body, format="json")
    assert made.status_code == 201, made.content
    assert (made.json()["weight"], made.json()["windows"][0]["to_minute"]) == (3, 60)
    changed = api.patch("/api/v1/queues/gpu", {"tenants": ["acme"], "windows": []}, format="json").json()
    assert (changed["tenants"], changed["windows"]) == (["acme"], [])
    api.post(
        "/api/v1/queues", {"code": "low", "name_en": "l", "name_zh": "l", "parent": "gpu"}, format="json"
    )
    assert [row["depth"] for row in api.get("/api/v1/queue-tree").json()] == [0, 1]
    refused = api.patch("/api/v1/queues/gpu", {"parent": "low"}, format="json")
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "queue_cycle")
    assert api.delete("/api/v1/queues/gpu").json()["error"]["code"] == "queue_in_use"
    assert api.delete("/api/v1/queues/low").status_code == 204
    assert Record.objects.filter(name="queue_remove").exists()
    assert member("acme", "tenant_front_line").api().get("/api/v1/queue-tree").status_code == 403
