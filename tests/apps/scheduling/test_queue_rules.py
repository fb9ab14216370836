"""What a queue says of its work beyond its place in line: which is the default one, how long work runs, whose it is."""

import threading
from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from apps.fleet.models import Slice
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, InvalidInput
from apps.scheduling.errors import (
    DeadlineImpossible,
    DefaultQueueStays,
    InvalidQueueFile,
    NoSuchQueue,
    QueueNotAdmitting,
    RunTooLong,
)
from apps.scheduling.models import Queue, UserGroup, Workload
from apps.scheduling.selectors.queues.queue_state import queue_state
from apps.scheduling.selectors.workloads import queue_get
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.entitlements.user_groups import (
    user_group_change,
    user_group_make,
    user_group_remove,
)
from apps.scheduling.services.queues.files import queue_file_apply
from apps.scheduling.services.queues.queue_settings import (
    queue_change,
    queue_close,
    queue_ensure,
    queue_make,
    queue_remove,
)
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.types import WorkloadRequest
from tests.apps.scheduling.pool import submit
from tests.apps.scheduling.test_pages import text

JOB = {"name": "job", "argv": ("true",), "compute_percent": 20, "memory_mib": 64}


@pytest.fixture
def ops(operator):
    return operator("cluster_administrator")


def ask(person, acme, **more):
    return workload_request(actor=person.actor, tenant=acme, asked=WorkloadRequest(**{**JOB, **more}))


def make(code, **changes):
    groups = changes.pop("user_groups", None)
    return queue_make(
        actor=SYSTEM, code=code, name_en=code, name_zh=code, changes=changes, user_groups=groups
    )


def change(code, **changes):
    return queue_change(actor=SYSTEM, queue=queue_get(code), changes=changes)


def defaults():
    return list(Queue.objects.filter(is_default=True).values_list("code", flat=True))


# --- the default queue -------------------------------------------------------------------------------------------


@pytest.mark.req("PLAT-CLU-50")
def test_work_without_a_queue_goes_to_the_default_one_whichever_that_is(alice, acme):
    make("night")
    assert (ask(alice, acme).queue.code, submit(acme).queue.code) == ("default", "default")
    change("night", is_default=True)
    assert defaults() == ["night"]
    assert (ask(alice, acme).queue.code, submit(acme).queue.code) == ("night", "night")
    assert ask(alice, acme, queue="default").queue.code == "default"


@pytest.mark.req("PLAT-CLU-50")
def test_there_is_one_default_queue_and_the_database_sees_to_it(alice):
    make("night")
    with pytest.raises(IntegrityError, match="queue_default_once"), transaction.atomic():
        Queue.objects.filter(code="night").update(is_default=True)
    queue_ensure(actor=SYSTEM)
    queue_ensure(actor=SYSTEM, code="other", name_en="Other", name_zh="其他")
    assert defaults() == ["default"]


@pytest.mark.req("PLAT-CLU-50")
@pytest.mark.parametrize("changes", [{"state": "drain"}, {"state": "inactive"}, {"is_default": False}])
def test_the_default_queue_stays_and_takes_work(alice, changes):
    with pytest.raises(DefaultQueueStays) as refused:
        change("default", **changes)
    assert "Make another queue the default" in str(refused.value.cure)
    assert (queue_get("default").state, defaults()) == ("up", ["default"])


@pytest.mark.req("PLAT-CLU-50")
def test_the_default_queue_is_closed_and_removed_once_another_is_it(alice):
    make("night", state="drain")
    with pytest.raises(DefaultQueueStays, match="takes work") as refused:
        change("night", is_default=True)
    assert str(refused.value.cure) == "Open it first."
    for act in (queue_close, queue_remove):
        with pytest.raises(DefaultQueueStays):
            act(actor=SYSTEM, queue=queue_get("default"))
    change("night", state="up", is_default=True)
    queue_close(actor=SYSTEM, queue=queue_get("default"))
    queue_remove(actor=SYSTEM, queue=queue_get("default"))
    assert defaults() == ["night"]


@pytest.mark.req("PLAT-CLU-50")
def test_without_a_default_queue_work_has_to_name_one(alice, acme):
    Queue.objects.update(is_default=False)
    with pytest.raises(NoSuchQueue, match="No queue is the default one"):
        ask(alice, acme)
    assert ask(alice, acme, queue="default").queue.code == "default"


@pytest.mark.req("PLAT-CLU-50")
def test_of_two_that_become_the_default_at_once_one_is_it(committed):
    queue_ensure(actor=SYSTEM)
    names = ["left", "right", "default"] * 3
    for name in ("left", "right"):
        make(name)
    errors = []

    def choose(code):
        try:
            change(code, is_default=True)
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=choose, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(defaults()) == 1


# --- how long its work runs --------------------------------------------------------------------------------------


@pytest.mark.req("PLAT-CLU-52")
def test_a_limited_queue_refuses_what_asks_for_longer_and_ends_what_asks_for_nothing(alice, acme):
    make("short", max_run_s=600)
    with pytest.raises(RunTooLong, match="10 min at most, 10 min 1 s are asked"):
        ask(alice, acme, queue="short", run_timeout_s=601)
    assert not Workload.objects.across().exists()
    assert ask(alice, acme, queue="short", run_timeout_s=600).run_timeout_s == 600
    row = ask(alice, acme, queue="short")
    assert row.run_timeout_s == 600
    cycle_run(actor=SYSTEM)
    part = Slice.plain.get(workload_uid=row.uid)
    assert part.run_timeout_s == 600, "its node ends it then"
    assert ask(alice, acme).run_timeout_s is None


@pytest.mark.req("PLAT-CLU-52")
def test_an_order_obeys_its_queues_limit(alice, acme):
    make("short", max_run_s=600, is_default=True)
    with pytest.raises(RunTooLong):
        submit(acme, run_timeout_s=3600)
    with pytest.raises(RunTooLong, match="without an end"):
        submit(acme)
    assert submit(acme, run_timeout_s=300).run_timeout_s == 300


@pytest.mark.req("PLAT-CLU-52")
def test_a_limit_that_passes_the_deadline_is_told_at_once(alice, acme):
    make("short", max_run_s=600)
    soon = timezone.now() + timedelta(seconds=300)
    with pytest.raises(DeadlineImpossible, match="may run 10 min"):
        ask(alice, acme, queue="short", deadline_at=soon)
    assert ask(alice, acme, queue="short", deadline_at=soon, run_timeout_s=200).run_timeout_s == 200


@pytest.mark.req("PLAT-CLU-52", "PLAT-CLU-60")
@pytest.mark.parametrize(
    "changes",
    [{"max_run_s": 0}, {"max_jobs": 0}, {"oversubscribe": "some"}, {"oversubscribe": "no", "max_jobs": 4}],
)
def test_a_rule_that_is_none_is_refused(alice, changes):
    with pytest.raises(InvalidInput):
        change("default", **changes)
    row = queue_get("default")
    assert (row.max_run_s, row.max_jobs, row.oversubscribe) == (None, None, "force")


# --- whose it is -------------------------------------------------------------------------------------------------


@pytest.mark.req("PLAT-CLU-61")
def test_a_queue_of_user_groups_takes_their_members_work_alone(alice, acme, member):
    bob = member("acme", "tenant_front_line")
    lab = user_group_make(actor=SYSTEM, code="lab", name_en="Lab", name_zh="实验室", users=[alice.user])
    other = user_group_make(actor=SYSTEM, code="other", name_en="Other", name_zh="其他")
    make("night", user_groups=[lab, other])
    assert ask(alice, acme, queue="night").queue.code == "night"
    with pytest.raises(QueueNotAdmitting, match="you are in none of them: Lab, Other"):
        ask(bob, acme, queue="night")
    assert submit(acme, queue="night").queue.code == "night", "of an order the operators choose the queue"
    user_group_change(actor=SYSTEM, group=other, name_en="Other", name_zh="其他", users=[bob.user])
    assert ask(bob, acme, queue="night").queue.code == "night"
    queue_change(actor=SYSTEM, queue=queue_get("night"), changes={}, user_groups=[lab])
    with pytest.raises(QueueNotAdmitting):
        ask(bob, acme, queue="night")


@pytest.mark.req("PLAT-CLU-61")
def test_a_user_group_of_a_queue_is_not_removed(alice):
    lab = user_group_make(actor=SYSTEM, code="lab", name_en="Lab", name_zh="实验室")
    make("night", user_groups=[lab])
    with pytest.raises(Conflict, match="night"):
        user_group_remove(actor=SYSTEM, group=lab)
    queue_change(actor=SYSTEM, queue=queue_get("night"), changes={}, user_groups=[])
    user_group_remove(actor=SYSTEM, group=lab)
    assert not UserGroup.objects.exists()
    with pytest.raises(Conflict, match="removed meanwhile"):
        user_group_change(actor=SYSTEM, group=lab, name_en="x", name_zh="x", users=[])


# --- over the API, on the pages, in the file ---------------------------------------------------------------------


@pytest.mark.req("PLAT-CLU-47", "PLAT-CLU-50", "PLAT-CLU-52", "PLAT-CLU-53", "PLAT-CLU-59", "PLAT-CLU-61")
def test_the_rules_go_over_the_api(alice, acme, ops):
    api = ops.api()
    group = {"code": "lab", "name_en": "Lab", "name_zh": "实验室", "users": [alice.user.username]}
    assert api.post("/api/v1/user-groups", group).status_code == 201
    assert api.post("/api/v1/user-groups", group).status_code == 409
    unknown = api.put("/api/v1/user-groups/lab", {**group, "users": ["nobody-here"]})
    assert (unknown.status_code, "nobody-here" in unknown.content.decode()) == (400, True)
    given = {
        "code": "night", "name_en": "Night", "name_zh": "夜间", "is_default": True, "max_run_s": 900,
        "oversubscribe": "force", "max_jobs": 4, "user_groups": ["lab"],
    }  # fmt: skip
    made = api.post("/api/v1/queues", given)
    assert made.status_code == 201, made.content
    assert {name: made.json()[name] for name in given} == given
    assert {row["code"]: row["is_default"] for row in api.get("/api/v1/queues").json()} == {
        "default": False, "night": True,
    }  # fmt: skip
    assert api.get("/api/v1/user-groups/lab").json()["queues"] == ["night"]
    refused = api.delete("/api/v1/queues/night")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "default_queue")
    unlimited = api.patch("/api/v1/queues/night", {"max_run_s": None, "oversubscribe": "no"})
    assert (unlimited.json()["max_run_s"], unlimited.json()["max_jobs"]) == (None, None)
    assert api.patch("/api/v1/queues/night", {"max_jobs": 2}).status_code == 400


@pytest.mark.req("PLAT-CLU-47", "PLAT-CLU-50", "PLAT-CLU-52", "PLAT-CLU-60", "PLAT-CLU-61")
def test_the_rules_are_set_on_the_pages(alice, acme, ops):
    page = ops.page()
    given = {"code": "lab", "name_en": "Lab", "name_zh": "实验室", "users": alice.user.username}
    assert page.post("/scheduling/user-groups/", given).status_code == 302
    assert 'data-code="lab"' in text(page.get("/scheduling/user-groups/"))
    assert alice.user.username in text(page.get("/scheduling/user-groups/lab/"))
    queue = {
        "code": "night", "name_en": "Night", "name_zh": "夜间", "state": "up", "priority": 0, "weight": 1,
        "is_default": "on", "time_limit": "limited", "max_run_s": 900, "oversubscribe": "force", "max_jobs": 4,
        "user_groups": [UserGroup.objects.get().pk],
    }  # fmt: skip
    assert page.post("/scheduling/queues/new/", {**queue, "max_run_s": ""}).status_code == 400
    made = page.post("/scheduling/queues/new/", queue)
    assert made.status_code == 302, made.content
    row = queue_get("night")
    assert (row.is_default, row.max_run_s, row.sharing_text) == (True, 900, "FORCE:4")
    assert "FORCE:4" in text(page.get("/scheduling/queues/"))
    # What belongs to another answer is not taken: its field is hidden then.
    changed = {**queue, "time_limit": "unlimited", "oversubscribe": "exclusive"}
    assert page.post("/scheduling/queues/night/", changed).status_code == 302
    row = queue_get("night")
    assert (row.is_default, row.max_run_s, row.sharing_text) == (True, None, "EXCLUSIVE")
    assert page.post("/scheduling/user-groups/lab/", {**given, "users": ""}).status_code == 302
    assert not UserGroup.objects.get().users.exists()
    assert page.post("/scheduling/user-groups/lab/remove/").status_code == 409
    assert alice.page().get("/scheduling/user-groups/").status_code == 404


FILE = """
queues:
  - {name: default}
  - name: night
    default: true
    maxRunSeconds: 900
    oversubscribe: "FORCE:4"
    userGroups: [lab]
"""


@pytest.mark.req("PLAT-CLU-50", "PLAT-CLU-52", "PLAT-CLU-56", "PLAT-CLU-61", "ELA-1701")
def test_the_rules_stand_in_the_file_and_come_back_the_same(alice):
    user_group_make(actor=SYSTEM, code="lab", name_en="Lab", name_zh="实验室")
    queue_file_apply(actor=SYSTEM, text=FILE)
    row = queue_get("night")
    assert (defaults(), row.max_run_s, row.sharing_text) == (["night"], 900, "FORCE:4")
    assert [group.code for group in row.user_groups.all()] == ["lab"]
    again = queue_file_apply(actor=SYSTEM, text=queue_state().text)
    assert again.changes == ()
    # The queue that was the default may go now, in the same file that names another.
    queue_file_apply(actor=SYSTEM, text="queues: [{name: day, default: true}]", prune=True)
    assert (defaults(), list(queue_state().queues)) == (["day"], ["day"])


@pytest.mark.req("PLAT-CLU-50", "ELA-1701")
@pytest.mark.parametrize(
    ("file", "why"),
    [
        (
            "queues: [{name: a, default: true}, {name: b, default: true}]",
            "queue a is the default one already",
        ),
        ("queues: [{name: default, default: false}]", "waits in default"),
        ("queues: [{name: a, oversubscribe: 'NO:4'}]", "NO:4"),
        ("queues: [{name: a, maxRunSeconds: 0}]", "maxRunSeconds"),
        ("queues: [{name: a, userGroups: [nobodies]}]", "nobodies"),
    ],
)
def test_a_file_with_rules_that_are_none_changes_nothing(alice, file, why):
    with pytest.raises(InvalidQueueFile, match=why):
        queue_file_apply(actor=SYSTEM, text=file)
    assert (defaults(), Queue.objects.count()) == (["default"], 1)


@pytest.mark.req("PLAT-CLU-61")
def test_the_form_offers_the_queues_that_take_the_users_work(alice, acme, member):
    bob = member("acme", "tenant_front_line")
    lab = user_group_make(actor=SYSTEM, code="lab", name_en="Lab", name_zh="实验室", users=[alice.user])
    make("night", user_groups=[lab], is_default=True)
    assert 'value="night"' in text(alice.page().get("/resources/submit/"))
    assert 'value="night"' not in text(bob.page().get("/resources/submit/"))


@pytest.mark.req("PLAT-CLU-51")
def test_a_queues_priority_goes_to_65533_and_before_that_of_jobs(alice, ops, acme):
    make("high"), make("low")
    api = ops.api()
    assert api.patch("/api/v1/queues/high", {"priority": 65_533}, format="json").status_code == 200
    assert api.patch("/api/v1/queues/high", {"priority": 65_534}, format="json").status_code == 400
    job = {**JOB, "compute_percent": 100, "shares": 3}
    lower, higher = (
        workload_request(
            actor=SYSTEM, tenant=acme, asked=WorkloadRequest(**job, queue=code, priority=priority)
        )
        for code, priority in (("low", 1000), ("high", -5))
    )
    cycle_run(actor=SYSTEM)
    placed = Workload.plain.filter(state="placed").values_list("uid", flat=True)
    assert list(placed) == [higher.uid], lower
