"""The watching pages: each opens in both languages, whole and in part; what their forms send does what they say."""

import csv
import io
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.console.templatetags import watching
from apps.kernel.actor import SYSTEM
from apps.telemetry.models import AlarmRoute, AlarmRule, LogEntry
from apps.telemetry.services.alarms import alarm_raise
from apps.telemetry.services.logs import log_add

HTMX = {"HX-Request": "true"}
PAGES = [
    "/alarms/", "/alarm-rules/", "/alarm-rules/new/", "/alarm-rules/device-hot/", "/alarm-rules/usage-refused/",
    "/alarm-routes/", "/logs/", "/logs/?level=error&priority=3&from_at=2026-01-01T00:00", "/statistics/",
    "/statistics/?report=tasks&span=1", "/statistics/?report=operations&span=30", "/statistics/?report=energy",
    "/capacity/",
    "/statistics/?report=tasks&span=own&from_at=2026-01-01T00:00&to_at=2026-01-02T00:00",
]  # fmt: skip


@pytest.fixture
def admin(db, operator):
    page = operator("system_administrator").page()
    page.cookies["django_language"] = "en"
    return page


def fire():
    return alarm_raise(
        actor=SYSTEM, key="device-hot:d1", rule="device-hot", level="major", msgid="Device."
    )  # fmt: skip


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("path", PAGES)
def test_a_page_opens_whole_and_in_part(admin, path, language):
    admin.cookies["django_language"] = language
    for headers in ({}, HTMX):
        answer = admin.get(path, headers=headers)
        assert answer.status_code == 200, path
        assert "{%" not in answer.content.decode()


def test_members_of_tenants_see_none_of_it(db, member):
    page = member("acme", "tenant_system_administrator").page()
    for path in PAGES:
        assert page.get(path, headers={"host": "localhost"}).status_code in (403, 404), path


@pytest.mark.req("POOL-12.18")
def test_the_log_page_shows_the_filtered_lines_and_its_files_are_they(admin):
    now = timezone.now()
    for n in range(60):
        log_add(
            actor=SYSTEM,
            text=f"line {n}",
            level=("info", "error")[n % 2],
            priority=n % 3,
            at=now - timedelta(minutes=n),
        )
    text = admin.get("/logs/").content.decode()
    assert text.count('data-test="log-row"') == 50
    text = admin.get("/logs/?level=error&priority=1").content.decode()
    assert text.count('data-test="log-row"') == 10
    assert "level=error&amp;priority=1&amp;export=csv" in text
    sent = b"".join(admin.get("/logs/?export=csv&level=error&priority=1")).decode("utf-8-sig")
    lines = list(csv.DictReader(io.StringIO(sent)))
    assert [line["Text"] for line in lines] == [f"line {n}" for n in range(60) if n % 2 and n % 3 == 1]
    row = LogEntry.objects.get(text="line 7")
    assert "line 7" in admin.get(f"/logs/{row.pk}/").content.decode()
    assert admin.get("/logs/?level=loud").status_code == 400
    assert admin.get("/logs/999999999/").status_code == 404


@pytest.mark.req("POOL-12.19")
def test_rules_are_made_edited_and_switched_on_the_pages(admin, operator):
    made = {
        "code": "warm",
        "metric": "device_temperature",
        "comparison": "gt",
        "threshold": "60.5",
        "for_s": "5",
    }
    answer = admin.post("/alarm-rules/new/", {**made, "severity": "minor", "subject": ""})
    assert answer.status_code == 302, answer.content
    row = AlarmRule.objects.get(code="warm")
    assert (row.comparison, row.threshold, row.for_s, row.severity) == ("gt", 60.5, 5, "minor")
    fire()
    admin.post(
        "/alarm-rules/device-hot/", {"comparison": "ge", "threshold": "70", "for_s": "0", "severity": "minor"}
    )
    hot = AlarmRule.objects.get(code="device-hot")
    assert (hot.threshold, hot.for_s, hot.severity, hot.is_enabled) == (70, 0, "minor", True)
    admin.post("/alarm-rules/device-hot/switch/", {"is_enabled": "0"})
    hot.refresh_from_db()
    assert not hot.is_enabled
    assert hot.alarms.get().state == "resolved"
    admin.post("/alarm-rules/usage-refused/", {"severity": "minor", "ends_after_s": ""})
    assert AlarmRule.objects.get(code="usage-refused").ends_after_s is None
    assert admin.post("/alarm-rules/new/", {**made, "severity": "minor"}, headers=HTMX).status_code == 409
    reader = operator("executive").page()
    assert reader.post("/alarm-rules/warm/", {"severity": "minor", "threshold": "1"}).status_code == 403
    assert "rule-edit" not in reader.get("/alarm-rules/").content.decode()
    assert reader.post("/alarm-rules/warm/delete/").status_code == 403
    nobody = {**made, "code": "narrow", "severity": "minor", "subject": "nobody"}
    refused = admin.post("/alarm-rules/new/", nobody, headers=HTMX)
    assert refused.status_code == 400
    assert "nobody" in refused.content.decode()
    assert 'data-input="subject"' in refused.content.decode()
    wrong = admin.post("/alarm-rules/new/", {**nobody, "severity": "x", "for_s": "-1"}, headers=HTMX)
    text = wrong.content.decode()
    assert 'data-input="severity"><strong>Severity</strong>' in text
    assert 'data-input="for_s"><strong>Lasts for</strong>' in text
    assert not AlarmRule.objects.filter(code="narrow").exists()
    assert 'data-test="rule-delete"' in admin.get("/alarm-rules/warm/").content.decode()
    assert 'data-test="rule-delete"' not in admin.get("/alarm-rules/usage-refused/").content.decode()
    assert admin.post("/alarm-rules/warm/delete/").status_code == 302
    assert not AlarmRule.objects.filter(code="warm").exists()


@pytest.mark.req("POOL-12.19")
def test_routes_are_made_switched_and_removed_on_the_page(admin):
    admin.post(
        "/alarm-routes/",
        {"channel": "email", "addresses": "a@example.org,\nb@example.org", "severities": "major"},
    )
    admin.post("/alarm-routes/", {"channel": "in_site", "roles": ["executive"]})
    mail, message = AlarmRoute.objects.order_by("pk")
    assert (mail.addresses, mail.severities) == (["a@example.org", "b@example.org"], ["major"])
    assert message.roles == ["executive"]
    alarm = fire()
    text = admin.get("/alarm-routes/").content.decode()
    assert text.count('data-test="delivery"') == 2
    assert "Executive" in text
    assert admin.get(f"/alarms/{alarm.uid}/").content.decode().count('data-test="delivery"') == 2
    admin.post(f"/alarm-routes/{mail.uid}/switch/", {"act": "disable"})
    admin.post(f"/alarm-routes/{message.uid}/switch/", {"act": "remove"})
    mail.refresh_from_db()
    message.refresh_from_db()
    assert not mail.is_enabled
    assert message.removed_at
    assert admin.post("/alarm-routes/", {"channel": "email", "addresses": "x"}).status_code == 400
    hook = {"channel": "webhook", "hook_kind": "feishu", "hook_url": "https://chat.invalid/robot/k-1"}
    assert admin.post("/alarm-routes/", hook | {"hook_url": "http://127.0.0.1/"}).status_code == 400
    admin.post("/alarm-routes/", hook)
    row = AlarmRoute.objects.get(channel="webhook")
    text = admin.get("/alarm-routes/").content.decode()
    assert "chat.invalid" in text
    assert "k-1" not in text
    refused = admin.post(f"/alarm-routes/{row.uid}/switch/", {"act": "try"}, headers=HTMX)
    assert refused.status_code == 409
    assert "Nobody knows the address chat.invalid." in refused.content.decode()


@pytest.mark.req("POOL-12.21")
def test_a_long_part_of_the_statistics_is_in_the_file(admin, monkeypatch):
    monkeypatch.setattr(watching, "LINES_MOST", 1)
    for level in ("info", "warning", "error"):
        log_add(actor=SYSTEM, text="x", level=level)
    text = admin.get("/statistics/?report=operations&span=1").content.decode()
    part = text.partition('data-test="section-log"')[2].partition("</section>")[0]
    assert part.count('data-test="report-row"') == 1
    assert "more rows are in the file" in part or "more row is in the file" in part
    admin.cookies["django_language"] = "zh-hans"
    assert "行在文件里" in admin.get("/statistics/?report=operations&span=1").content.decode()


def test_the_statistics_page_says_what_the_report_says(admin):
    fire()
    text = admin.get("/statistics/?report=operations&span=1").content.decode()
    assert 'data-test="total-alarms">1<' in text
    sent = b"".join(admin.get("/statistics/export/?report=operations&span=1")).decode()
    assert "rules,device-hot,alarms,1" in sent
    assert admin.get("/statistics/?report=weather").status_code == 400
    assert (
        admin.get("/statistics/?span=own&from_at=2026-01-02T00:00&to_at=2026-01-01T00:00").status_code == 400
    )
