"""Alarms are one for each trouble, however often and however parallel they are raised."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone, translation

from apps.kernel import wiring
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from apps.telemetry.events import AlarmAcknowledged, AlarmFired, AlarmResolved
from apps.telemetry.models import Alarm, Sample
from apps.telemetry.selectors import alarm_get, alarm_list, series_get
from apps.telemetry.services.alarms import alarm_acknowledge, alarm_raise, alarm_resolve
from apps.telemetry.services.samples import sample_put, samples_prune, samples_put
from apps.telemetry.types import Measured


@pytest.fixture
def heard(monkeypatch):
    told = []
    wired = wiring.handlers_within
    kinds = (AlarmFired, AlarmAcknowledged, AlarmResolved)
    extra = [lambda event, actor: told.append(type(event).__name__)]
    monkeypatch.setattr(
        wiring, "handlers_within", lambda kind: [*wired(kind), *(extra if kind in kinds else [])]
    )
    return told


def fire(key="node-lost/1", level="critical", **params):
    return alarm_raise(
        actor=SYSTEM,
        key=key,
        level=level,
        msgid="Node %(name)s is lost.",
        params={"name": "n1"} | params,
        source="fleet",
        subject_kind="node",
        subject_id="1",
    )


def test_an_alarm_raised_again_is_the_same_alarm_told_once(db, heard):
    first = fire()
    again = fire(name="n2", level="major")
    assert again.pk == first.pk
    assert (again.count, again.title, again.level) == (2, "Node n2 is lost.", "major")
    assert heard == ["AlarmFired"]


def test_an_acknowledged_alarm_is_still_open_and_a_resolved_one_fires_anew(db, heard, operator):
    guard = operator("front_line")
    alarm = fire()
    assert alarm_acknowledge(actor=guard.actor, alarm_uid=alarm.uid).acknowledged_by == guard.user
    with pytest.raises(Conflict):
        alarm_acknowledge(actor=guard.actor, alarm_uid=alarm.uid)
    assert fire().pk == alarm.pk
    assert alarm_get(alarm.uid).state == "acknowledged"
    assert alarm_resolve(actor=SYSTEM, key="node-lost/1") is True
    assert alarm_resolve(actor=SYSTEM, key="node-lost/1") is False
    assert fire().pk != alarm.pk
    assert heard == ["AlarmFired", "AlarmAcknowledged", "AlarmResolved", "AlarmFired"]
    with pytest.raises(Conflict):
        alarm_acknowledge(actor=guard.actor, alarm_uid=alarm.uid)


def test_only_who_manages_alarms_acknowledges(db, operator, member):
    alarm = fire()
    for person in (operator("executive"), member("acme", "tenant_system_administrator")):
        with pytest.raises(Forbidden):
            alarm_acknowledge(actor=person.actor, alarm_uid=alarm.uid)
    with pytest.raises(NotFound):
        alarm_acknowledge(actor=SYSTEM, alarm_uid="00000000-0000-0000-0000-000000000000")
    assert alarm_get(alarm.uid).state == "firing"


def test_bad_alarms_are_refused(db):
    with pytest.raises(InvalidInput):
        fire(level="terrible")
    with pytest.raises(InvalidInput):
        fire(key="")
    assert not Alarm.objects.exists()


def test_raised_by_many_at_once_it_is_one_alarm(committed):
    def raise_it(_):
        try:
            return fire().pk
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(raise_it, range(24)))
    assert len(found) == 1
    assert Alarm.objects.get().count == 24


def test_alarms_are_listed_by_state_and_level(db):
    fire("a"), fire("b", level="minor"), fire("c")
    alarm_resolve(actor=SYSTEM, key="a")
    assert [row.key for row in alarm_list(state="open")] == ["c", "b"]
    assert [row.key for row in alarm_list(state="resolved")] == ["a"]
    assert [row.key for row in alarm_list(level="minor")] == ["b"]
    for wrong in ({"state": "loud"}, {"level": "loud"}):
        with pytest.raises(InvalidInput):
            alarm_list(**wrong)


def test_the_api_lists_and_acknowledges(db, operator, member):
    alarm = fire()
    guard = operator("front_line").api()
    with translation.override("en"):
        (row,) = guard.get("/api/v1/alarms?state=firing").json()["results"]
    assert (row["uid"], row["level"], row["state"]) == (str(alarm.uid), "critical", "firing")
    assert guard.get("/api/v1/alarms?state=loud").status_code == 400
    answer = guard.post(f"/api/v1/alarms/{alarm.uid}/acknowledge")
    assert (answer.status_code, answer.json()["state"]) == (200, "acknowledged")
    assert guard.post(f"/api/v1/alarms/{alarm.uid}/acknowledge").status_code == 409
    assert operator("executive").api().post(f"/api/v1/alarms/{alarm.uid}/acknowledge").status_code == 403
    assert member("acme", "tenant_system_administrator").api().get("/api/v1/alarms").status_code == 403


def test_samples_are_kept_once_and_read_in_order(db):
    now = timezone.now()
    for minutes, value in ((3, 1.0), (2, 2.0), (1, 3.0), (1, 9.0)):
        sample_put(actor=SYSTEM, series="s", subject="x", value=value, at=now - timedelta(minutes=minutes))
    sample_put(actor=SYSTEM, series="s", subject="y", value=7)
    since = now - timedelta(minutes=2, seconds=30)
    assert [value for _at, value in series_get(series="s", subject="x", since=since)] == [2.0, 3.0]
    assert [p.value for p in series_get(series="s", subject="x", since=now - timedelta(days=1), limit=1)] == [
        3.0
    ]


def test_a_value_that_is_no_number_is_refused_with_all_that_came_with_it(db):
    now = timezone.now()
    with pytest.raises(InvalidInput):
        samples_put(
            actor=SYSTEM, samples=[Measured("s", "x", now, 1.0), Measured("s", "y", now, float("nan"))]
        )
    assert not Sample.objects.exists()


def test_old_samples_are_forgotten(db):
    now = timezone.now()
    for days in (1, 6, 8, 30):
        sample_put(actor=SYSTEM, series="s", subject="x", value=days, at=now - timedelta(days=days))
    assert samples_prune(actor=SYSTEM) == 2
    assert samples_prune(actor=SYSTEM) == 0
    assert sorted(Sample.objects.values_list("value", flat=True)) == [1.0, 6.0]
