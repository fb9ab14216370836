"""Before an alarm rule is saved its page says how often it would have fired, on what."""

import json
import re
from datetime import timedelta
from html import unescape

import pytest
from django.utils import timezone

from apps.console.alarms import preview
from apps.console.alarms.preview import SERIES, DraftRule, rule_preview
from apps.console.alarms.readings import pool_now, samples
from apps.fleet.models import Device, Node
from apps.telemetry.alarm_metrics import METRICS
from apps.telemetry.models import AlarmRule, Sample
from tests.apps.scheduling.pool import node_make

pytestmark = pytest.mark.django_db
PATH = "/alarm-rules/new/preview/"
HTMX = {"HX-Request": "true"}
ASKED = {"metric": "device_utilisation", "comparison": "ge", "threshold": "90", "for_s": "0", "days": "1"}


@pytest.fixture
def page(operator):
    made = operator("system_administrator").page()
    made.cookies["django_language"] = "en"
    return made


def text(answer, status=200):
    assert answer.status_code == status, answer.content.decode()[-2000:]
    return " ".join(unescape(answer.content.decode()).split())


def measured(subject, *values, series="utilisation_percent", ago=timedelta(hours=2)):
    begin = timezone.now() - ago
    Sample.objects.bulk_create(
        Sample(series=series, subject=subject, at=begin + timedelta(seconds=30 * n), value=value)
        for n, value in enumerate(values)
    )


@pytest.fixture
def pool():
    node_make("n1", devices=3)
    measured("n1-d0", 10, 95, 95, 10, 99, 10)
    measured("n1-d1", 10, 10, 92, 10)
    measured("n1-d2", 10, 20, 89)


def asked(**changes):
    usual = {
        "metric": "device_utilisation",
        "comparison": "ge",
        "threshold": 90.0,
        "for_s": 0.0,
        "subject": "",
    }
    return DraftRule(**usual | {"days": 1} | changes)


@pytest.mark.req("POOL-12.19")
def test_a_rule_says_how_often_it_would_have_fired_and_on_what(page, pool):
    before = AlarmRule.objects.count()
    shown = text(page.get(PATH, ASKED, headers=HTMX))
    assert "It would have fired 3 times." in shown
    assert "n1/0 CPU (2), n1/1 CPU (1)" in shown
    assert "n1/2" not in shown
    drawn = re.search(r'data-option="([^"]+)"', page.get(PATH, ASKED, headers=HTMX).content.decode())
    option = json.loads(unescape(drawn[1]))
    assert max(option["series"][0]["data"]) == 99
    assert option["series"][0]["markLine"]["data"] == [{"yAxis": 90.0}]
    assert AlarmRule.objects.count() == before, "a preview keeps nothing"


def test_how_long_it_lasts_and_of_which_subject_narrow_it(page, pool):
    assert "It would have fired once." in text(page.get(PATH, ASKED | {"for_s": "30"}, headers=HTMX))
    for subject in ("n1-d1", "n1/1 CPU"):
        shown = text(page.get(PATH, ASKED | {"subject": subject}, headers=HTMX))
        assert "It would have fired once. n1/1 CPU (1)" in shown.replace("</strong>", "")
    nobody = text(page.get(PATH, ASKED | {"subject": "nobody"}, headers=HTMX))
    assert "Nothing of this was measured" in nobody


def test_one_that_would_not_have_fired_shows_what_came_nearest(page, pool):
    shown = text(page.get(PATH, ASKED | {"threshold": "100"}, headers=HTMX))
    assert "It would not have fired." in shown
    assert "n1/0 CPU since" in shown
    low = rule_preview(asked(comparison="lt", threshold=5.0))
    assert (low.count, low.shown) == (0, "n1/0 CPU")


def test_a_week_looks_further_back_than_a_day(page, pool):
    measured("n1-d2", 95, 10, ago=timedelta(days=3))
    assert rule_preview(asked()).count == 3
    assert rule_preview(asked(days=7)).count == 4
    assert "It would have fired 4 times." in text(page.get(PATH, ASKED | {"days": "7"}, headers=HTMX))


def test_power_of_devices_nodes_and_pool_are_told_apart():
    node_make("n1")
    for subject, watts in (("n1-d0", 100), ("node-n1", 300), ("pool", 900)):
        measured(subject, watts, series="power_w")
    found = {
        metric: [each.name for each in rule_preview(asked(metric=metric, threshold=50.0)).fired]
        for metric in ("device_power", "node_power", "pool_power")
    }
    assert found == {"device_power": ["n1/0 CPU"], "node_power": ["n1"], "pool_power": ["pool"]}


def test_the_metrics_with_a_preview_are_those_whose_samples_are_kept():
    """Each series is one that is sampled of the subjects that the metric is measured on."""
    node_make("n1")
    now = timezone.now()
    Node.objects.update(state="ready", last_seen_at=now, power_w=200.0)
    Device.objects.update(measured={"utilisation_percent": 50, "power_w": 90}, measured_at=now)
    kept = {(row.series, row.subject) for row in samples(pool_now(now))}
    for metric, series in SERIES.items():
        subjects = preview._subjects(METRICS[metric].subject_kind)
        assert any((series, subject) in kept for subject in subjects), metric


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_what_cannot_be_previewed_says_why(page, pool, language, monkeypatch):
    page.cookies["django_language"] = language
    for changes in ({"metric": "device_temperature"}, {"subject": "nobody"}):
        assert 'data-test="preview-none"' in text(page.get(PATH, ASKED | changes, headers=HTMX))
    wrongs = [
        ("threshold", "nan"),
        ("threshold", "1e999"),
        ("threshold", ""),
        ("metric", "x"),
        ("days", "9999"),
    ]
    for wrong in ({name: value} for name, value in wrongs):
        assert 'data-test="preview-wants"' in text(page.get(PATH, ASKED | wrong, headers=HTMX)), wrong
    text(page.get(PATH, ASKED))
    monkeypatch.setattr(
        preview, "_looked", lambda *_args: Sample.objects.raw("SELECT 1 AS id, pg_sleep(9)")[0]
    )
    monkeypatch.setattr(preview, "_PATIENCE_MS", 50)
    assert rule_preview(asked()).why_none == "much"
    assert 'data-test="preview-none"' in text(page.get(PATH, ASKED, headers=HTMX)), (
        "the page and its database go on"
    )


def test_subjects_beyond_those_looked_at_are_counted(page, pool, monkeypatch):
    monkeypatch.setattr(preview, "SUBJECTS_LOOKED_AT", 1)
    found = rule_preview(asked())
    assert (found.count, found.left) == (2, 1)
    assert "1 more broke it and was not looked at." in text(page.get(PATH, ASKED, headers=HTMX))


def test_the_form_of_a_rule_has_the_preview_and_who_may_not_make_rules_has_none(page, operator):
    for path in ("/alarm-rules/new/", "/alarm-rules/device-hot/"):
        assert f'hx-get="{PATH}"' in text(page.get(path))
    assert PATH not in text(page.get("/alarm-rules/usage-refused/")), "an event has no figure"
    assert operator("executive").page().get(PATH, ASKED).status_code == 403
