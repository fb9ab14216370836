"""Roll-outs go batch by batch, wait for health, and give everything back when it is missing."""

from datetime import timedelta

import pytest
from django.utils import timezone, translation

from apps.fleet.models import Node, Slice
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput, NotFound
from apps.kernel.flow import MoveRefused
from apps.rollouts.errors import NodeUnreachable, TargetBusy
from apps.rollouts.models import Rollout, RolloutStep
from apps.rollouts.services.rollouts import (
    rollout_cancel,
    rollout_pause,
    rollout_resume,
    rollout_roll_back,
    rollout_start,
    rollouts_advance,
)
from apps.telemetry.models import Alarm
from apps.telemetry.services.alarms import alarm_raise
from node_agent.protocol.releases import BUILTIN_PATH
from tests.apps.fleet.agent import desire, report

pytestmark = [pytest.mark.django_db, pytest.mark.req("POOL-12.22"), pytest.mark.req("POOL-6g")]


def start(pool, names=("n1", "n2", "n3"), **more):
    return rollout_start(actor=SYSTEM, nodes=[pool.uid(name) for name in names], **more)


def advance():
    rollouts_advance(actor=SYSTEM)


def states(rollout):
    return [step.state for step in rollout.steps.order_by("batch_no", "pk")]


def fresh(rollout):
    return Rollout.objects.get(pk=rollout.pk)


def wish(pool, name):
    return pool.say(name).release


def test_batch_after_batch_until_all_run_it(pool, release):
    release("2.0")
    rollout = start(pool, release="2.0", batch=2)
    assert states(rollout) == ["waiting"] * 3
    advance()
    assert states(rollout) == ["upgrading", "upgrading", "waiting"]
    assert wish(pool, "n1").version == "2.0"
    assert Node.objects.get(name="n1").is_upgrading
    assert wish(pool, "n3") is None
    pool.say("n1", agent_version="2.0")
    advance()
    assert states(rollout) == ["done", "upgrading", "waiting"]
    pool.say("n2", agent_version="2.0")
    advance()
    assert states(rollout) == ["done", "done", "upgrading"]
    pool.say("n3", agent_version="2.0")
    advance()
    assert (states(rollout), fresh(rollout).state) == (["done"] * 3, "done")
    assert fresh(rollout).finished_at
    assert not Node.objects.get(name="n1").is_upgrading


def test_one_that_fails_sends_all_of_it_back_and_raises_an_alarm(pool, release):
    release("2.0")
    rollout = start(pool, release="2.0")
    advance()
    pool.say("n1", agent_version="2.0")
    advance()
    pool.say("n2", release_problem="it ended with status 3 before it had reached the server")
    advance()
    assert states(rollout) == ["rolling_back", "rolling_back", "skipped"]
    assert "n2: it ended with status 3" in fresh(rollout).reason
    back = wish(pool, "n1")
    assert (back.version, back.path) == ("1", BUILTIN_PATH)
    assert Alarm.objects.get(key=f"rollout-failed:{rollout.uid}").level == "major"
    pool.say("n1", agent_version="1")
    pool.say("n2")
    advance()
    assert (fresh(rollout).state, states(rollout)) == (
        "rolled_back",
        ["rolled_back", "rolled_back", "skipped"],
    )


def test_an_old_problem_is_not_held_against_a_new_release(pool, release):
    release("2.0")
    pool.say("n1", release_problem="an old story")
    rollout = start(pool, ["n1"], release="2.0")
    advance()
    pool.say("n1")
    advance()
    assert states(rollout) == ["upgrading"]
    pool.say("n1", agent_version="2.0", release_problem="")
    advance()
    assert states(rollout) == ["done"]


def late(rollout, seconds=61):
    RolloutStep.objects.filter(rollout=rollout).update(started_at=timezone.now() - timedelta(seconds=seconds))


def test_a_node_that_says_nothing_in_time_has_failed(pool, release):
    release("2.0")
    rollout = start(pool, ["n1"], release="2.0", gate_s=60)
    advance()
    late(rollout)
    advance()
    assert fresh(rollout).state == "rolling_back"
    assert "60 s" in fresh(rollout).reason
    # It does not come back either: the wish stays, the roll-out does not wait for ever.
    late(rollout, 121)
    Node.objects.filter(name="n1").update(agent_version="?")
    advance()
    assert fresh(rollout).state == "rolled_back"


def test_why_it_goes_back_is_read_in_the_readers_language(pool, release):
    release("2.0")
    rollout = start(pool, ["n1"], release="2.0", gate_s=60)
    advance()
    pool.say("n1", agent_version="2.0")
    alarm_raise(
        actor=SYSTEM, key="x", level="major", msgid="%(name)s: %(why)s", params={"name": "n1", "why": "smoke"},
        subject_kind="device", subject_id="n1-d0",
    )  # fmt: skip
    advance()
    row = fresh(rollout)
    assert row.why["params"]["why"]["msgid"] == "A new alarm: %(title)s"
    told = {}
    for code in ("en", "zh-hans"):
        with translation.override(code):
            told[code] = row.reason
            words = translation.gettext("A new alarm: %(title)s") % {"title": "n1: smoke"}
            assert told[code] == f"n1: {words}"
            assert row.steps.get().reason == words
            assert words in Alarm.objects.get(key=f"rollout-failed:{row.uid}").title
    assert told["en"] != told["zh-hans"]


def test_work_that_broke_and_new_alarms_close_the_gate(pool, release, acme):
    release("2.0")
    row = desire(acme)
    pool.say("n1")
    pool.agents["n1"].sync(slices=[report(row)])
    rollout = start(pool, ["n1"], release="2.0")
    advance()
    pool.say("n1", agent_version="2.0")
    Slice.plain.filter(pk=row.pk).update(state="failed", final_at=timezone.now(), reason="its shim vanished")
    advance()
    assert "its shim vanished" in fresh(rollout).reason
    lost = start(pool, ["n3"], release="2.0")
    advance()
    alarm_raise(actor=SYSTEM, key="node-lost:n3", level="critical", msgid="It is silent.",
                subject_kind="node", subject_id=pool.uid("n3"))  # fmt: skip
    pool.say("n3", agent_version="2.0")
    advance()
    assert states(lost) == ["done"]
    other = start(pool, ["n2"], release="2.0")
    advance()
    pool.say("n2", agent_version="2.0")
    alarm_raise(
        actor=SYSTEM, key="x", level="major", msgid="It smokes.", subject_kind="device", subject_id="n2-d0"
    )
    advance()
    assert "It smokes." in fresh(other).reason


def test_a_configuration_reaches_its_nodes_and_comes_back(pool):
    pool.say("n1")
    rollout = start(pool, ["n1", "n2"], config={"meter_s": 2, "labels": {"rack": "3"}}, batch=2)
    advance()
    wanted = pool.say("n1").config
    assert (wanted.meter_s, wanted.labels, wanted.generation) == (2, {"rack": "3"}, 1)
    pool.say("n1", config_generation=1)
    advance()
    assert states(rollout) == ["done", "upgrading"]
    pool.say("n2", config_problem="the disk is read-only")
    advance()
    assert fresh(rollout).state == "rolling_back"
    assert pool.say("n1").config.meter_s is None
    pool.say("n1", config_generation=2)
    pool.say("n2", config_generation=2, config_problem="")
    advance()
    assert fresh(rollout).state == "rolled_back"


def test_a_node_that_left_before_its_turn_fails_its_step_and_holds_up_nothing_else(pool, release):
    release("2.0")
    rollout = start(pool, ["n1"], release="2.0")
    other = start(pool, ["n2"], release="2.0")
    Node.objects.filter(name="n1").update(state="removed")
    advance()
    assert states(rollout) == ["failed"]
    assert states(other) == ["upgrading"]
    advance()
    assert fresh(rollout).state == "rolled_back"


def test_paused_it_begins_nothing_more_and_cancelled_it_leaves_the_rest(pool, release):
    release("2.0")
    rollout = start(pool, release="2.0")
    advance()
    rollout_pause(actor=SYSTEM, uid=rollout.uid)
    pool.say("n1", agent_version="2.0")
    advance()
    advance()
    assert states(rollout) == ["done", "waiting", "waiting"]
    rollout_resume(actor=SYSTEM, uid=rollout.uid)
    advance()
    assert states(rollout) == ["done", "upgrading", "waiting"]
    rollout_cancel(actor=SYSTEM, uid=rollout.uid)
    assert states(rollout) == ["done", "upgrading", "skipped"]
    with pytest.raises(MoveRefused):
        rollout_resume(actor=SYSTEM, uid=rollout.uid)
    # Cancelled or done, it can still be sent back.
    rollout_roll_back(actor=SYSTEM, uid=rollout.uid)
    assert states(rollout) == ["rolling_back", "rolling_back", "skipped"]


def test_a_target_is_in_one_open_rollout_only(pool, release):
    release("2.0")
    rollout = start(pool, ["n1"], release="2.0")
    with pytest.raises(TargetBusy):
        start(pool, ["n2", "n1"], release="2.0")
    assert Rollout.objects.count() == 1
    rollout_cancel(actor=SYSTEM, uid=rollout.uid)
    start(pool, ["n1"], release="2.0")


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"release": "2.0", "config": {"meter_s": 1}},
        {"config": {"meter_s": -1}},
        {"config": {"colour": "red"}},
        {"config": {"generation": 9}, "batch": 0},
        {"release": "2.0", "batch": 0},
        {"release": "2.0", "gate_s": 0},
        {"config": {"meter_s": 1}, "with_server": True},
    ],
)
def test_what_makes_no_sense_is_refused(pool, release, given):
    release("2.0")
    with pytest.raises(InvalidInput):
        start(pool, ["n1"], **given)
    assert not Rollout.objects.exists()


def test_unknown_and_lost_targets_are_refused(pool, release):
    release("2.0")
    with pytest.raises(NotFound):
        start(pool, ["n1"], release="9.9")
    with pytest.raises(NotFound):
        rollout_start(actor=SYSTEM, nodes=["nobody"], release="2.0")
    with pytest.raises(InvalidInput):
        start(pool, ["n1", "n1"], release="2.0")
    with pytest.raises(InvalidInput):
        rollout_start(actor=SYSTEM, release="2.0")
    Node.objects.filter(name="n1").update(state="lost")
    with pytest.raises(NodeUnreachable):
        start(pool, ["n1"], release="2.0")
    assert not Rollout.objects.exists()


def test_the_api_tells_the_whole_story(pool, release, operator, client):
    release("2.0")
    person = operator("cluster_administrator")
    client.force_login(person.user)

    def post(path, body=None):
        return client.post(
            f"/api/v1/{path}", body or {}, content_type="application/json", headers={"host": "localhost"}
        )

    made = post("rollouts", {"release": "2.0", "nodes": [pool.uid("n1")], "batch": 1, "gate_s": 30})
    assert made.status_code == 201, made.content
    uid = made.json()["uid"]
    assert [step["name"] for step in made.json()["steps"]] == ["n1"]
    assert post(f"rollouts/{uid}/pause").json()["state"] == "paused"
    assert post(f"rollouts/{uid}/pause").status_code == 409
    assert post(f"rollouts/{uid}/resume").json()["state"] == "running"
    assert post(f"rollouts/{uid}/cancel").json()["steps"][0]["state"] == "skipped"
    assert post(f"rollouts/{uid}/roll_back").json()["state"] == "rolling_back"
    listed = client.get("/api/v1/rollouts", headers={"host": "localhost"}).json()["results"]
    assert [row["uid"] for row in listed] == [uid]
    assert client.get(f"/api/v1/rollouts/{uid}", headers={"host": "localhost"}).status_code == 200
    assert post("rollouts", {"release": "2.0", "nodes": ["nobody"]}).status_code == 404
