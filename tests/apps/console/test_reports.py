"""Reports say what the recorded rows say: to the second held, each wait, each alarm, each watt-second."""

import csv
import io
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from apps.console.reports.base import period
from apps.console.reports.table import REPORTS, report_rows
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput
from apps.scheduling.models import Workload
from apps.scheduling.selectors.usage.statistics import figures_get
from apps.telemetry.models import Alarm, Rollup
from apps.telemetry.services.alarms import alarm_raise
from apps.telemetry.services.logs import log_add
from apps.telemetry.services.samples import share_past_add
from tests.apps.console.conftest import START, at

pytestmark = pytest.mark.req("POOL-12.21")
HOUR = timedelta(hours=1)


def report(name, begin=0, end=86_400):
    return REPORTS[name](period(at(begin), at(end)))


def by_name(rows):
    return {row["name"]: row for row in rows}


def test_what_was_held_is_the_allocations_to_the_second_cut_at_the_period(node, work):
    work("acme", 0, 100, 3700, percent=50)
    work("globex", 0, 3600, 7200, percent=30, device="n1-cpu1")
    work("acme", 0, 80_000, None, percent=10)
    work("acme", 90_000, 90_100, 90_200, percent=99)
    found = report("resources", 1900, 86_400)
    held = {name: row["held_percent_hours"] for name, row in by_name(found["sections"]["tenants"]).items()}
    assert held == {"acme": pytest.approx((1800 * 50 + 6400 * 10) / 3600), "globex": pytest.approx(30)}
    devices = {row["subject"]: row for row in found["sections"]["devices"]}
    assert devices["n1-cpu0"]["name"] == "n1/0 CPU"
    assert devices["n1-cpu1"]["held_percent_hours"] == pytest.approx(30)
    assert devices["n1-cpu1"]["capacity_percent_hours"] == pytest.approx(100 * (86_400 - 1900) / 3600)
    assert devices["n1-cpu0"]["held_mib_hours"] == pytest.approx(1024 * (1800 + 6400) / 3600, rel=1e-6)
    totals = found["totals"]
    assert totals["held_percent_hours"] == pytest.approx(sum(held.values()))
    assert totals["shares"] == 3
    assert totals["held_of_capacity_percent"] == pytest.approx(
        100 * totals["held_percent_hours"] / totals["capacity_percent_hours"], abs=1e-3
    )
    for section in ("nodes", "vendors", "devices", "tenants"):
        rows = found["sections"][section]
        assert sum(row["held_percent_hours"] for row in rows) == pytest.approx(totals["held_percent_hours"])


@pytest.mark.req("POOL-12.2")
def test_a_resized_share_counts_what_it_held_when(node, work):
    row = work("acme", 0, 0, 7200, percent=80)
    uid = row.allocations.get().slice_uid
    for percent, until in ((10, 3600), (20, 5400)):
        share_past_add(
            actor=SYSTEM, slice_uid=uid, compute_percent=percent, memory_mib=512, until_at=at(until)
        )
    exact = 10 * 1.0 + 20 * 0.5 + 80 * 0.5
    assert report("resources")["totals"]["held_percent_hours"] == pytest.approx(exact)
    assert report("resources")["totals"]["held_mib_hours"] == pytest.approx(512 * 1.5 + 1024 * 0.5)
    assert report("resources", 1800, 5400)["totals"]["held_percent_hours"] == pytest.approx(5 + 10)
    assert report("resources", 6000)["totals"]["held_percent_hours"] == pytest.approx(80 / 3)


@pytest.mark.req("PLAT-CMP-13")
def test_waits_runs_and_ends_are_those_of_the_workloads(node, work):
    waits, runs = (10, 20, 30, 1000), (100, 300, 500, 700)
    for wait, run in zip(waits, runs, strict=True):
        work("acme", 50, 50 + wait, 50 + wait + run, reason="completed")
    work("globex", 60, 70, 80, reason="crashed", state="failed")
    work("globex", 60)
    work("globex", 90_000, 90_010, 90_020)
    found = report("tasks")
    totals = found["totals"]
    assert [totals[name] for name in ("submitted", "started", "ended", "failed")] == [6, 5, 5, 1]
    assert totals["waiting_now"] == 1
    tenant = by_name(found["sections"]["tenants"])["acme"]
    assert (tenant["wait_s_p50"], tenant["wait_s_p95"], tenant["wait_s_max"]) == (25.0, 854.5, 1000.0)
    assert (tenant["wait_s_mean"], tenant["run_s_mean"], tenant["run_s_sum"]) == (265.0, 400.0, 1600.0)
    ends = {(row["name"], row["state"]): row["count"] for row in found["sections"]["ends"]}
    assert ends == {("completed", "finished"): 4, ("crashed", "failed"): 1}
    assert sum(row["submitted"] for row in found["sections"]["queues"]) == 6
    assert sum(row["ended"] for row in found["sections"]["days"]) == 5


@pytest.mark.req("ELA-1101")
def test_a_wait_counts_from_when_work_could_run(node, work):
    later, resumed = work("acme", 0, 600, 700), work("globex", 0, 600, 700)
    Workload.plain.filter(pk=later.pk).update(earliest_start_at=at(540))
    Workload.plain.filter(pk=resumed.pk).update(not_before_at=at(590))
    tenants = by_name(report("tasks")["sections"]["tenants"])
    assert (tenants["acme"]["wait_s_max"], tenants["globex"]["wait_s_max"]) == (60.0, 10.0)
    Workload.plain.filter(pk=resumed.pk).update(not_before_at=at(800))
    assert by_name(report("tasks")["sections"]["tenants"])["globex"]["wait_s_max"] == 600.0, "tried again"
    waiting = work("acme", 0)
    ahead = timezone.now() + timedelta(hours=1)
    for earliest, longest in ((ahead, 0.0), (timezone.now() - timedelta(seconds=30), 60.0)):
        Workload.plain.filter(pk=waiting.pk).update(earliest_start_at=earliest)
        assert figures_get().queues[0].oldest_wait_s <= longest


def test_alarms_availability_and_the_log_are_those_recorded(node):
    for key, fired, ended in (("a", 10, 70), ("b", 20, 220), ("c", 90_000, 90_001)):
        alarm = alarm_raise(actor=SYSTEM, key=key, level="major", rule="device-hot", msgid="x")
        Alarm.objects.filter(pk=alarm.pk).update(
            fired_at=at(fired), resolved_at=at(ended), state="resolved", acknowledged_at=at(fired + 5)
        )
    put("up", "node", node.uid, weighted=3000, seconds=3600)
    for level in ("error", "error", "info"):
        log_add(actor=SYSTEM, text="x", level=level, at=at(5))
    found = report("operations")
    totals = found["totals"]
    assert (totals["alarms"], totals["ended"], totals["end_s_mean"], totals["acknowledge_s_mean"]) == (
        2, 2, 130.0, 5.0,
    )  # fmt: skip
    assert by_name(found["sections"]["rules"])["device-hot"]["alarms"] == 2
    assert by_name(found["sections"]["nodes"])["n1"]["availability_percent"] == pytest.approx(83.3333)
    logged = {row["name"]: row["count"] for row in found["sections"]["log"]}
    assert logged == {"error": 2, "info": 1}


def put(series, kind, subject, *, weighted, seconds, source="", tenant="", hour=START):
    Rollup.objects.create(
        series=series,
        kind=kind,
        subject=subject,
        source=source,
        tenant=tenant,
        hour=hour,
        weighted=weighted,
        seconds=seconds,
        peak=weighted / seconds,
    )


@pytest.mark.req("POOL-6f")
def test_energy_is_summed_by_how_it_is_known_and_named_so(node, work):
    task = work("acme", 0, 10)
    put("power_w", "node", node.uid, weighted=3.6e6, seconds=3600, source="measured")
    put("power_w", "node", node.uid, weighted=1.8e6, seconds=3600, source="modelled", hour=START + HOUR)
    put("power_w", "node", node.uid, weighted=9e9, seconds=3600, source="measured", hour=START + 24 * HOUR)
    put("power_w", "device", "n1-cpu0", weighted=7.2e6, seconds=3600, source="measured")
    put("power_w", "workload", str(task.uid), weighted=0.9e6, seconds=1800, source="modelled", tenant="acme")
    put("power_w", "tenant", "acme", weighted=0.9e6, seconds=1800, source="modelled", tenant="acme")
    found = report("energy")
    assert found["totals"] == {
        "kwh": 1.5, "measured_kwh": 1.0, "modelled_kwh": 0.5, "tasks_kwh": 0.25, "devices_kwh": 2.0,
    }  # fmt: skip
    (row,) = found["sections"]["nodes"]
    assert (row["name"], row["source"], row["kwh"], row["hours"], row["peak_w"]) == (
        "n1",
        "mixed",
        1.5,
        2,
        1000,
    )
    (row,) = found["sections"]["tasks"]
    assert (row["name"], row["tenant"], row["source"], row["kwh"]) == (task.no, "acme", "modelled", 0.25)
    assert found["sections"]["devices"][0]["name"] == "n1/0 CPU"
    assert sum(day["kwh"] for day in found["sections"]["days"]) == pytest.approx(1.5)


@pytest.mark.parametrize("name", sorted(REPORTS))
def test_the_exported_file_is_the_report(node, work, operator, name):
    work("acme", 0, 10, 100)
    put("power_w", "node", node.uid, weighted=3.6e6, seconds=3600, source="measured")
    api = operator("executive").api()
    span = {"from": START.isoformat(), "to": (START + 24 * HOUR).isoformat()}
    answer = api.get(f"/api/v1/reports/{name}", span)
    assert answer.status_code == 200, answer.content
    shown = answer.json()
    assert datetime.fromisoformat(shown["from"]) == START
    answer = api.get(f"/api/v1/reports/{name}", {**span, "format": "csv"})
    sent = list(csv.DictReader(io.StringIO(b"".join(answer).decode())))
    assert sent
    told = [
        {key: "" if value is None else str(value) for key, value in row.items()} for row in report_rows(shown)
    ]
    assert sent == told


def test_a_report_of_nothing_and_for_nobody_else(db, operator, member):
    api = operator("executive").api()
    for name in REPORTS:
        assert api.get(f"/api/v1/reports/{name}").status_code == 200
        assert member("acme", "tenant_decision_maker").api().get(f"/api/v1/reports/{name}").status_code == 403
    assert api.get("/api/v1/reports/weather").status_code == 404
    for wrong in (
        {"from": "x"},
        {"format": "pdf"},
        {"from": "2026-03-02T00:00:00Z", "to": "2026-03-01T00:00:00Z"},
        {"from": "2020-03-02T00:00:00Z", "to": "2026-03-01T00:00:00Z"},
    ):
        assert api.get("/api/v1/reports/tasks", wrong).status_code == 400, wrong
    with pytest.raises(InvalidInput):
        period(timezone.now(), timezone.now() - HOUR)
