"""Alarms follow their rules: they begin when a figure has lasted, end when it is clear, and a rule that is off is
silent."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from apps.console.reports.base import device_label
from apps.fleet.models import Device
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from apps.scheduling.services.queues.queue_settings import queue_ensure
from apps.telemetry.models import Alarm, AlarmBreach, AlarmRule
from apps.telemetry.selectors import alarm_list
from apps.telemetry.services.alarms import alarm_raise
from apps.telemetry.services.rule_evaluation import rules_check
from apps.telemetry.services.rules import rule_delete, rule_edit, rule_make
from apps.telemetry.types import Checked, Reading
from tests.apps.fleet.agent import Agent

pytestmark = pytest.mark.req("POOL-12.19")
# Later than all that happens in a test: its looks find everything settled.
START = timezone.now() + timedelta(hours=1)


def look(after_s=0.0, **values):
    """One look at some devices' temperatures, `after_s` from the start."""
    readings = [Reading("device_temperature", uid, f"n1/{uid}", value) for uid, value in values.items()]
    return rules_check(actor=SYSTEM, readings=readings, taken_at=START + timedelta(seconds=after_s))


def edit(code, **changes):
    return rule_edit(actor=SYSTEM, code=code, changes=changes)


@pytest.fixture
def hot(db):
    """Only one rule, of 85 degrees for 30 seconds."""
    AlarmRule.objects.exclude(code="device-hot").update(is_enabled=False)
    return AlarmRule.objects.get(code="device-hot")


def titles(state="open"):
    return [str(row) for row in alarm_list(state=state)]


@pytest.mark.req("ELA-2302")
def test_an_alarm_begins_once_its_figure_has_lasted_and_ends_when_it_is_clear(hot):
    assert look(0, d1=90.0, d2=20.0) == Checked()
    assert look(29, d1=90.0, d2=20.0) == Checked()
    assert look(30, d1=91.25, d2=20.0) == Checked(fired=1)
    (alarm,) = alarm_list(state="open")
    assert (str(alarm), alarm.level, alarm.rule, alarm.subject_id) == (
        "Device n1/d1 is at 91.2 °C (limit 85 °C).",
        "major",
        hot,
        "d1",
    )
    assert look(60, d1=95.0) == Checked()
    assert Alarm.objects.get().count == 1, "an alarm that goes on is not raised again and again"
    assert look(70, d1=84.0) == Checked(), "just below the threshold it may still swing back"
    assert look(80, d1=80.0) == Checked(resolved=1)
    assert titles() == []


def test_a_figure_that_falls_back_in_between_counts_anew(hot):
    for after_s, value in ((0, 90.0), (20, 70.0), (40, 90.0), (60, 90.0)):
        assert look(after_s, d1=value) == Checked()
    assert look(70, d1=90.0) == Checked(fired=1)


def test_what_is_measured_no_more_ends_its_alarm(hot):
    edit("device-hot", for_s=0)
    look(0, d1=90.0)
    assert look(5) == Checked(resolved=1)
    assert not AlarmBreach.objects.exists()


def test_what_began_or_ended_since_the_look_is_left_to_the_next_one(hot):
    edit("device-hot", for_s=0)
    assert look(0, d1=90.0) == Checked(fired=1)
    Alarm.objects.update(fired_at=START + timedelta(seconds=5))
    assert look(3, d1=20.0) == Checked(), "that look is older than the alarm"
    Alarm.objects.update(state="resolved", resolved_at=START + timedelta(seconds=9))
    assert look(8, d1=90.0) == Checked(), "somebody has just ended it, and knows better"
    assert look(10, d1=90.0) == Checked(fired=1)


def test_a_disabled_rule_is_silent_and_ends_what_it_raised(hot):
    edit("device-hot", for_s=0)
    look(0, d1=90.0)
    assert len(titles()) == 1
    edit("device-hot", is_enabled=False)
    assert titles() == []
    assert look(10, d1=99.0) == Checked()
    edit("device-hot", is_enabled=True)
    assert look(20, d1=99.0) == Checked(fired=1)


def test_an_edited_threshold_holds_at_the_next_look(hot):
    edit("device-hot", for_s=0)
    assert look(0, d1=80.0) == Checked()
    edit("device-hot", threshold=75)
    assert look(1, d1=80.0) == Checked(fired=1)
    assert "limit 75" in titles()[0]
    edit("device-hot", threshold=95)
    assert look(2, d1=80.0) == Checked(resolved=1)


def test_a_new_severity_grades_what_is_open(hot):
    edit("device-hot", for_s=0)
    look(0, d1=90.0)
    edit("device-hot", severity="critical")
    assert Alarm.objects.get().level == "critical"


def test_a_rule_about_one_subject_leaves_the_others_alone(hot):
    edit("device-hot", for_s=0)
    AlarmRule.objects.filter(code="device-hot").update(subject="d2")
    assert look(0, d1=90.0, d2=90.0) == Checked(fired=1)
    assert Alarm.objects.get().subject_id == "d2"


def test_what_happens_follows_its_rule_too(db):
    def refused(slice_uid="s1"):
        return alarm_raise(
            actor=SYSTEM,
            key=f"usage-refused:{slice_uid}",
            rule="usage-refused",
            level="notice",
            msgid="Usage.",
        )

    assert refused().level == "major", "the rule grades it"
    assert refused().count == 2
    Alarm.objects.update(raised_at=timezone.now() - timedelta(seconds=3599))
    assert rules_check(actor=SYSTEM, readings=[], taken_at=timezone.now()) == Checked()
    Alarm.objects.update(raised_at=timezone.now() - timedelta(seconds=3601))
    assert rules_check(actor=SYSTEM, readings=[], taken_at=timezone.now()) == Checked(resolved=1)
    edit("usage-refused", is_enabled=False)
    assert refused() is None
    assert titles() == []


def test_many_looks_at_once_are_one(committed):
    AlarmRule.objects.exclude(code="device-hot").update(is_enabled=False)
    edit("device-hot", for_s=0)

    def go(_):
        try:
            return look(0, d1=90.0).fired
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(go, range(12))) == 1
    assert Alarm.objects.get().count == 1


def test_bad_rules_are_refused_and_change_nothing(db, operator):
    before = list(AlarmRule.objects.values())
    good = {"code": "mine", "metric": "device_power", "threshold": 5.0}
    wrongs = [
        ("code", ""), ("code", "Has Capitals"), ("code", "x" * 49), ("metric", "moon"),
        ("metric", "usage_refused"), ("threshold", float("nan")), ("threshold", 1e13), ("comparison", "eq"),
        ("severity", "loud"), ("for_s", -1), ("for_s", 86_401),
    ]  # fmt: skip
    for name, value in wrongs:
        with pytest.raises(InvalidInput):
            rule_make(actor=SYSTEM, **good | {name: value})
    for changes in (
        {"metric": "node_lost"},
        {"threshold": float("inf")},
        {"severity": ""},
        {"ends_after_s": 0},
    ):
        with pytest.raises(InvalidInput):
            edit("device-hot", **changes)
    with pytest.raises(Conflict):
        rule_make(actor=SYSTEM, **good | {"code": "device-hot"})
    with pytest.raises(NotFound):
        edit("nothing", threshold=1)
    with pytest.raises(Forbidden):
        rule_edit(actor=operator("executive").actor, code="device-hot", changes={"threshold": 1})
    assert list(AlarmRule.objects.values()) == before


def test_the_api_makes_edits_and_switches_rules(db, operator, member):
    admin = operator("system_administrator").api()
    known = admin.get("/api/v1/alarm-rules").json()["results"]
    assert {"node-lost", "device-failed", "quota-80", "quota-95", "quota-100", "device-power"} <= {
        row["code"] for row in known
    }
    body = {"code": "warm", "metric": "device_temperature", "threshold": 60, "for_s": 5, "severity": "minor"}
    answer = admin.post("/api/v1/alarm-rules", body)
    assert (answer.status_code, answer.json()["comparison"], answer.json()["unit"]) == (201, "ge", "°C")
    assert admin.post("/api/v1/alarm-rules", body).status_code == 409
    answer = admin.patch("/api/v1/alarm-rules/warm", {"threshold": 65, "is_enabled": False})
    assert (answer.status_code, answer.json()["threshold"], answer.json()["is_enabled"]) == (200, 65, False)
    assert admin.get("/api/v1/alarm-rules/warm").json()["for_s"] == 5
    for wrong in ({"threshold": "x"}, {"threshold": 1e300}, {"for_s": -1}, {"severity": "loud"}):
        assert admin.patch("/api/v1/alarm-rules/warm", wrong).status_code == 400, wrong
    assert admin.patch("/api/v1/alarm-rules/none", {}).status_code == 404
    reader = operator("executive").api()
    assert reader.get("/api/v1/alarm-rules").status_code == 200
    assert reader.patch("/api/v1/alarm-rules/warm", {"threshold": 1}).status_code == 403
    assert member("acme", "tenant_system_administrator").api().get("/api/v1/alarm-rules").status_code == 403


def test_alarms_are_found_by_every_condition_and_shown_one_by_one(hot, operator):
    edit("device-hot", for_s=0)
    look(0, d1=90.0, d2=99.0)
    admin = operator("system_administrator").api()

    def found(**query):
        rows = admin.get("/api/v1/alarms", query).json()["results"]
        return sorted(row["subject_id"] for row in rows)

    later = (timezone.now() + timedelta(hours=1)).isoformat()
    assert found() == ["d1", "d2"]
    assert found(subject="d1") == ["d1"]
    assert found(search="n1/d2") == ["d2"]
    assert found(rule="device-hot", source="rules", level="major", state="open") == ["d1", "d2"]
    assert found(rule="node-lost") == []
    assert found(**{"from": later}) == []
    assert found(to=later) == ["d1", "d2"]
    alarm = Alarm.objects.get(subject_id="d1")
    answer = admin.get(f"/api/v1/alarms/{alarm.uid}").json()
    assert (answer["rule"], answer["deliveries"], answer["params"]["value"]) == ("device-hot", [], "90")
    assert admin.get("/api/v1/alarms/00000000-0000-0000-0000-000000000000").status_code == 404


@pytest.mark.req("POOL-12.19")
def test_a_rule_is_narrowed_only_to_what_there_is(db):
    Agent("n1")
    device = Device.objects.get(node__name="n1", index=0)
    known = {
        "device-hot": (device.uid, device_label(device)),
        "node-silent": (device.node.uid, "n1"),
        "queue-wait": ("default",),
        "disk-used": ("portal",),
    }
    queue_ensure(actor=SYSTEM)
    rules = {row.metric: row.code for row in AlarmRule.objects.all()}
    for metric, subjects in (
        ("device_temperature", known["device-hot"]),
        ("node_silent", known["node-silent"]),
        ("queue_wait", known["queue-wait"]),
        ("disk_used", known["disk-used"]),
    ):
        for subject in subjects:
            assert edit(rules[metric], subject=subject).subject == subject
        with pytest.raises(InvalidInput) as refused:
            edit(rules[metric], subject="nobody")
        assert set(refused.value.fields) == {"subject"}
        assert AlarmRule.objects.get(code=rules[metric]).subject == subjects[-1]
    with pytest.raises(InvalidInput):
        rule_make(actor=SYSTEM, code="new", metric="node_power", threshold=9, subject="nobody")


@pytest.mark.req("POOL-12.19")
def test_a_rule_is_deleted_with_its_open_alarms_ended_and_its_past_ones_kept(hot):
    edit("device-hot", for_s=0)
    look(0, d1=90.0)
    rule_delete(actor=SYSTEM, code="device-hot")
    assert titles() == []
    alarm = Alarm.objects.get()
    assert (alarm.rule, alarm.state) == (None, "resolved")
    with pytest.raises(NotFound):
        rule_delete(actor=SYSTEM, code="device-hot")
    with pytest.raises(Conflict):
        rule_delete(actor=SYSTEM, code="usage-refused")
