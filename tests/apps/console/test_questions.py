"""Five questions are answered by what the rows say: of the same use as the reports, of each second waited once."""

import csv
import io
from datetime import timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone, translation

from apps.billing.services.rating import usage_rate
from apps.console.operations.answers import CODES, answer, answers
from apps.console.reports import questions as read
from apps.console.reports.base import Period, period
from apps.console.reports.end_causes import ENDS
from apps.console.reports.names import report_named
from apps.console.reports.resources import resources
from apps.console.reports.stretches import stretches
from apps.console.reports.table import REPORTS
from apps.console.reports.waiting_causes import CAUSE_OF, CAUSES, FIRST
from apps.kernel.actor import SYSTEM
from apps.scheduling.engine.model.enums import ReasonCode
from apps.scheduling.models import Decision
from apps.scheduling.selectors.usage.past_work import queue_names
from apps.scheduling.text.end_reasons import _SENTENCES
from apps.telemetry.models import Rollup
from apps.telemetry.services.alarms import alarm_raise
from apps.telemetry.services.logs import log_add
from apps.telemetry.services.samples import share_past_add
from tests.apps.billing.scene import charge_make, record
from tests.apps.console.conftest import START, at

pytestmark = [pytest.mark.django_db, pytest.mark.req("POOL-12.21")]
DAY_S = 86_400


def over(begin=0, end=DAY_S):
    return period(at(begin), at(end))


def told(row, *steps):
    """A time line: `(kind, seconds from START, code)`."""
    for kind, seconds, code in steps:
        Decision.objects.create(workload=row, kind=kind, at=at(seconds), code=code)


@pytest.mark.parametrize("end", [DAY_S, 5 * DAY_S, 70 * DAY_S], ids=["hours", "days", "weeks"])
def test_stretches_cover_a_period_once(end):
    whole = over(1234, end)
    cut = stretches(whole)
    assert (cut.edges[0], cut.edges[-1]) == (whole.from_at, whole.end_at)
    assert list(cut.edges) == sorted(set(cut.edges))
    assert len(cut.names) == len(set(cut.names)) == len(cut.edges) - 1
    assert cut.step == {DAY_S: "hour", 5 * DAY_S: "day", 70 * DAY_S: "week"}[end]
    assert stretches(whole, least="day").step in ("day", "week")


def test_days_begin_at_midnight_of_the_zone():
    with timezone.override(ZoneInfo("Asia/Shanghai")):
        cut = stretches(over(0, 5 * DAY_S))
        assert {timezone.localtime(edge).hour for edge in cut.edges[1:-1]} == {0}
        assert cut.place(timezone.localdate(START)) == 0
        assert cut.place(timezone.localdate(at(5 * DAY_S))) == len(cut.names) - 1


def test_a_period_that_is_all_to_come_has_one_stretch_of_nothing(db):
    later = Period(timezone.now() + timedelta(days=1), timezone.now() + timedelta(days=2))
    assert len(answers(later)) == len(CODES)


@pytest.mark.parametrize("end", [DAY_S, 5 * DAY_S], ids=["hours", "days"])
def test_use_by_stretch_and_tenant_adds_up_to_the_report(node, work, end):
    work("acme", 0, 100, 3700, percent=50)
    work("globex", 0, 3600, 2 * DAY_S, percent=30, device="n1-cpu1")
    resized = work("acme", 0, 80_000, None, percent=80)
    uid = resized.allocations.get().slice_uid
    share_past_add(actor=SYSTEM, slice_uid=uid, compute_percent=10, memory_mib=512, until_at=at(83_600))
    for kind, subject in (("device", "n1-cpu0"), ("tenant", "acme")):
        Rollup.objects.create(
            series="delivered_percent", kind=kind, subject=subject, hour=START, weighted=36_000, seconds=3600
        )
    whole = over(0, end)
    found, report = read.use_read(whole, stretches(whole)), resources(whole)
    totals = report["totals"]
    assert sum(found.held) == pytest.approx(totals["held_percent_hours"] / 100)
    assert sum(found.had) == pytest.approx(totals["capacity_percent_hours"] / 100)
    assert sum(found.used) == pytest.approx(totals["delivered_percent_hours"] / 100) == pytest.approx(0.1)
    by_tenant = {row["name"]: row["held_percent_hours"] / 100 for row in report["sections"]["tenants"]}
    assert {tenant.schema_name: hours for tenant, (hours, _used) in found.tenants.items()} == pytest.approx(
        by_tenant
    )
    if end == DAY_S:
        assert found.held[0] == pytest.approx((3500 * 50) / 100 / 3600)
        assert found.held[22] == pytest.approx(0.3 + _resized(22))


def _resized(hour):
    """Device hours of the resized share in an hour: a tenth of a device up to 83 600 s, then eight tenths."""
    begin, end = max(80_000, hour * 3600), (hour + 1) * 3600
    small = max(0, min(end, 83_600) - begin)
    return (small * 0.1 + (end - begin - small) * 0.8) / 3600


def test_each_second_of_waiting_has_the_reason_that_stood_then(node, work, acme):
    row = work("acme", 0, 400, 5000)
    told(
        row,
        ("submitted", 0, ""),
        ("waiting", 10, "compute_percent"),
        ("folder", 50, ""),
        ("waiting", 110, "behind_head"),
        ("placed", 390, ""),
        ("started", 400, ""),
        ("preempted", 1000, ""),
        ("waiting", 1010, "memory_mib"),
        ("started", 1110, ""),
        ("ended", 5000, ""),
    )
    other = work("globex", 100)
    told(other, ("submitted", 100, ""), ("waiting", 200, "tenant_quota"))
    found = read.waited_read(over(0, 3600)).causes
    assert {cause: count for cause, _hours, count in found} == {
        "room": 1,
        "others": 1,
        "first": 2,
        "bound": 1,
    }
    hours = {cause: hours * 3600 for cause, hours, _count in found}
    assert hours == pytest.approx({"room": 200, "others": 280, "first": 10 + 10 + 100, "bound": 3400})
    cut = {cause: hours * 3600 for cause, hours, _count in read.waited_read(over(60, 120)).causes}
    assert cut == pytest.approx({"room": 50, "others": 10, "first": 20})
    mine = read.waited_read(over(0, 3600), acme)
    assert {cause for cause, _hours, _count in mine.causes} == {"room", "others", "first"}
    assert (mine.started, mine.half_s) == (1, 400)


def test_waiting_that_ended_without_a_start_ends_with_the_work(work):
    row = work("acme", 0, None, 300, reason="stopped")
    told(row, ("submitted", 0, ""), ("waiting", 100, "vendor"))
    found = read.waited_read(over(0, 3600))
    assert [(cause, round(hours * 3600)) for cause, hours, _count in found.causes] == [
        ("no_fit", 200),
        ("first", 100),
    ]


def test_what_failed_is_told_by_reason_beside_the_time_before(node, work, acme):
    for tenant in ("acme", "globex", "globex"):
        work(tenant, 4000, 4010, 4020, reason="crashed", state="failed")
    work("acme", 4000, 4010, 4020, reason="lost", state="lost")
    work("acme", 4000, 4010, 4020, reason="completed")
    work("acme", 0, 10, 20, reason="crashed", state="failed")
    found = read.failed_read(over(3600, 7200))
    assert (found.ended, found.failed) == (5, 4)
    assert (found.ended_before, found.failed_before) == (1, 1)
    assert found.reasons == [("crashed", 3, 2), ("lost", 1, 1)]
    assert read.failed_read(over(3600, 7200), acme).reasons == [("crashed", 1, 1), ("lost", 1, 1)]


def test_what_was_earned_adds_up_by_day_and_tenant(acme, globex):
    for tenant in (acme, globex):
        record(charge_make(tenant), [3600])
    usage_rate(actor=SYSTEM)
    now = timezone.now()
    whole = Period(now - timedelta(days=3), now + timedelta(hours=4))
    found = read.earned_read(whole, stretches(whole, least="day"))
    assert found.total == sum(found.parts) == sum(row.exact for row in found.tenants) > 0
    assert {row.key for row in found.tenants} == {"acme", "globex"}
    assert found.before == Decimal(0)
    later = Period(now + timedelta(hours=4), now + timedelta(days=3))
    assert read.earned_read(later, stretches(later, least="day")).total == 0


def test_every_reason_of_the_scheduler_is_one_of_the_causes():
    assert set(CAUSE_OF) == {str(code) for code in ReasonCode}
    assert set(CAUSE_OF.values()) == set(CAUSES) - {FIRST}


def test_every_end_that_has_a_sentence_has_words():
    assert set(ENDS) - {""} == set(_SENTENCES)


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_answers_name_people_and_say_figures(node, work, language):
    work("acme", 0, 0, 3600, percent=100)
    work("globex", 0, 0, 1800, percent=100, device="n1-cpu1", reason="crashed", state="failed")
    with translation.override(language):
        used, who, earned, waited, failed = answers(over())
        assert [each.code for each in (used, who, earned, waited, failed)] == list(CODES)
        for each in (used, who, failed):
            assert each.option
            assert each.lines
            assert answer(each.code, over()).rows == each.rows
            assert all(len(row) == len(each.heads) for row in each.rows)
    assert "1.5" in used.sentence
    assert "Acme" in who.sentence
    assert "67" in who.sentence
    assert [row[:2] for row in who.rows] == [("Acme Research", 1.0), ("Globex Labs", 0.5)]
    assert "crashed" not in failed.sentence + str(failed.rows)
    assert earned.option is None
    assert waited.option is None


def test_the_page_answers_and_each_answer_is_a_file(operator, node, work):
    begin = timezone.now() - timedelta(hours=3)
    row = work("acme", 0, 0, 3600, percent=50)
    row.allocations.update(created_at=begin, released_at=begin + timedelta(hours=1))
    page = operator("executive").page()
    page.cookies["django_language"] = "en"
    text = page.get("/statistics/?span=1").content.decode()
    for code in CODES:
        assert f'data-test="answer-{code}"' in text
    assert "How much of what we have was used?" in text
    sent = b"".join(page.get("/statistics/export/?span=1&question=who")).decode("utf-8-sig")
    lines = list(csv.DictReader(io.StringIO(sent)))
    assert lines[0]["Held (device hours)"] == "0.5"
    assert page.get("/statistics/export/?span=1").status_code == 400
    assert page.get("/statistics/export/?span=1&question=weather").status_code == 400


def test_figures_in_sentences_are_rounded_not_cut_off(node, work):
    work("acme", 0, 0, 3599, percent=50)
    with translation.override("en"):
        who = answer("who", over())
    # 0.49986 device hours.
    assert who.sentence == "Acme Research alone held 0.50 device hours."


def test_a_report_for_people_names_whom_it_counts(node, work):
    work("acme", 0, 10, 20, reason="crashed", state="failed")
    alarm_raise(actor=SYSTEM, key="device-hot:d1", rule="device-hot", level="major", msgid="Device.")
    log_add(actor=SYSTEM, text="x", level="warning")
    tasks = report_named(REPORTS["tasks"](over()))["sections"]
    assert [row["name"] for row in tasks["tenants"]] == ["Acme Research"]
    assert [(row["name"], row["state"]) for row in tasks["ends"]] == [("The program failed", "Failed")]
    assert {row["name"] for row in tasks["queues"]} == set(queue_names().values())
    now = report_named(REPORTS["operations"](period()))["sections"]
    assert [row["name"] for row in now["rules"]] != ["device-hot"]
    assert [row["name"] for row in now["levels"]] == ["Major"]
    assert "Warning" in [row["name"] for row in now["log"]]
    assert REPORTS["tasks"](over())["sections"]["tenants"][0]["name"] == "acme"
