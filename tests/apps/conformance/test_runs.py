"""Runs as rows: asked for by who may, one at a time, ended with a report or by silence; pages and API over them."""

import json
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from apps.billing.locks import ledger_accounts
from apps.billing.models import LedgerTransaction
from apps.conformance import services
from apps.conformance.catalogue.entries import own, standard
from apps.conformance.errors import AlreadyRunning
from apps.conformance.harness.people import SCHEMA, people
from apps.conformance.models import ConformanceRun, Trace
from apps.conformance.report.document import report_of
from apps.conformance.report.signing import is_sound, signed
from apps.conformance.runner_process import mark
from apps.conformance.selectors import result_list, run_get, run_queued
from apps.conformance.states import Outcome, RunState
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden, InvalidInput
from apps.tenancy.selectors import tenant_get

pytestmark = pytest.mark.django_db
RUNS = "/api/v1/conformance/runs"


def asked(**more):
    return services.run_ask(actor=SYSTEM, **{"is_background": False, **more})


def carried_out(settings, numbers=("12.1", "12.7"), outcome=Outcome.PASSED):
    """A run whose tests all came out so, with its signed report."""
    run = asked(numbers=numbers)
    services.run_begin(actor=SYSTEM, run=run, url="http://x")
    for number in numbers:
        services.result_begin(actor=SYSTEM, run=run, number=number)
        met = {"expectation": "E2", "is_met": True, "notes": [{"is_met": True, "evidence": "seen 37 %"}]}
        step = {"step": "S1", "at": "", "asked": "a task", "seen": "running", "figures": {"percent": 37}}
        services.result_put(
            actor=SYSTEM, run=run, number=number, outcome=outcome, steps=[step], expectations=[met]
        )
    services.report_key_ensure(actor=SYSTEM)
    document = report_of(run, result_list(run), left_behind=[])
    report = signed(document, settings.SECRET_KEY)
    services.run_end(actor=SYSTEM, run=run, report=report, level_reached=document["level_reached"])
    return run_get(run.uid)


def test_what_is_asked_for_in_the_standards_order():
    assert services.numbers_of([], None, is_clauses=False) == list(standard())
    assert services.numbers_of(["12.10", "12.2"], None, is_clauses=False) == ["12.2", "12.10"]
    assert len(services.numbers_of([], 2, is_clauses=False)) == 12
    assert services.numbers_of([], None, is_clauses=True) == list(own())
    for wrong in ({"numbers": ["12.28"], "level": None}, {"numbers": [], "level": 6}):
        with pytest.raises(InvalidInput):
            services.numbers_of(**wrong, is_clauses=False)


def test_one_run_at_a_time_and_a_silent_one_makes_room():
    first = asked()
    with pytest.raises(AlreadyRunning):
        asked()
    services.run_begin(actor=SYSTEM, run=first, url="http://x")
    with pytest.raises(Conflict):
        services.run_begin(actor=SYSTEM, run=run_get(first.uid), url="http://x")
    long_ago = timezone.now() - services.SILENT_AFTER - timedelta(seconds=1)
    ConformanceRun.objects.filter(pk=first.pk).update(heard_at=long_ago)
    second = asked()
    assert run_get(first.uid).state == RunState.INTERRUPTED
    assert second.state == RunState.QUEUED
    assert {row.outcome for row in result_list(first)} == {Outcome.NOT_RUN}


def test_a_runner_of_this_machine_that_died_makes_room_at_once():
    first = asked()
    services.run_begin(actor=SYSTEM, run=first, url="http://x")
    ConformanceRun.objects.filter(pk=first.pk).update(runner={**mark(), "start_tick": 1})
    asked()
    assert run_get(first.uid).state == RunState.INTERRUPTED


def test_a_run_that_is_stopped_before_it_began_ends_and_one_under_way_is_told():
    run = asked()
    services.run_stop(actor=SYSTEM, run=run)
    assert run_get(run.uid).state == RunState.INTERRUPTED
    run = asked()
    services.run_begin(actor=SYSTEM, run=run, url="")
    assert not services.run_heard(actor=SYSTEM, run=run)
    services.run_stop(actor=SYSTEM, run=run)
    assert services.run_heard(actor=SYSTEM, run=run)


def test_a_run_whose_hint_was_lost_is_found_and_one_of_the_command_line_is_not():
    services.run_ask(actor=SYSTEM)
    ConformanceRun.objects.update(created_at=timezone.now() - timedelta(seconds=30))
    assert len(run_queued()) == 1
    ConformanceRun.objects.update(is_background=False)
    assert run_queued() == []


def test_traces_are_kept_until_they_are_taken_back():
    run = asked()
    trace = services.trace_note(actor=SYSTEM, run=run, kind="group", key="cf-1", detail={})
    assert Trace.objects.get() == trace
    services.trace_forget(actor=SYSTEM, trace=trace)
    assert not Trace.objects.exists()


@pytest.mark.parametrize(("role", "may"), [("system_administrator", True), ("executive", False)])
def test_who_may_start_a_run(operator, role, may):
    person = operator(role)
    answer = person.api().post(RUNS, {"level": 1}, format="json")
    assert answer.status_code == (201 if may else 403)
    assert ConformanceRun.objects.count() == may
    if not may:
        with pytest.raises(Forbidden):
            services.run_ask(actor=person.actor)


def test_tenants_see_nothing_of_it(member):
    client = member("acme", "tenant_system_administrator").api()
    assert client.get(RUNS).status_code == 403
    assert client.get("/api/v1/conformance/tests").status_code == 403


def test_the_api_tells_tests_runs_results_and_the_report(operator, settings):
    run, client = carried_out(settings), operator("cluster_administrator").api()
    assert len(client.get("/api/v1/conformance/tests").json()) == len(standard()) + len(own())
    assert client.get(RUNS).json()["results"][0]["uid"] == str(run.uid)
    found = client.get(f"{RUNS}/{run.uid}").json()
    assert [row["outcome"] for row in found["results"]] == ["passed", "passed"]
    report = client.get(f"{RUNS}/{run.uid}/report").json()
    assert is_sound(report)
    assert report["report"]["level_reached"] == 0
    bad = client.post(RUNS, {"tests": ["12.99"]}, format="json")
    assert bad.status_code == 400


def test_pages_show_runs_tests_evidence_and_give_the_report_away(operator, settings):
    run, client = carried_out(settings), operator("system_administrator").page()
    assert "12.27" in client.get("/conformance/").content.decode()
    page = client.get(f"/conformance/{run.uid}/").content.decode()
    assert 'data-number="12.7"' in page
    test = client.get(f"/conformance/{run.uid}/tests/12.1/").content.decode()
    assert "seen 37 %" in test
    assert "percent = 37" in test
    assert client.get(f"/conformance/{run.uid}/tests/12.2/").status_code == 404
    for ending, start in (("pdf", b"%PDF"), ("json", b"{"), ("xml", b"<?xml"), ("txt", b"Weir")):
        answer = client.get(f"/conformance/{run.uid}/report.{ending}")
        assert answer.content.startswith(start), ending
        assert "attachment" in answer["Content-Disposition"]
    assert client.get(f"/conformance/{run.uid}/report.doc").status_code == 404


def test_a_run_starts_from_the_page_and_is_interrupted_there(operator, django_capture_on_commit_callbacks):
    client = operator("system_administrator").page()
    assert client.post("/conformance/start/", {"what": "chosen"}).status_code == 400
    answer = client.post("/conformance/start/", {"what": "chosen", "tests": ["12.7", "12.1"]})
    run = ConformanceRun.objects.get()
    assert answer["Location"] == f"/conformance/{run.uid}/"
    assert run.numbers == ["12.1", "12.7"]
    assert client.post(f"/conformance/{run.uid}/stop/").status_code == 302
    assert run_get(run.uid).state == RunState.INTERRUPTED
    assert operator("executive").page().post("/conformance/start/", {"what": "5"}).status_code == 403


def test_a_report_is_verified_as_this_portals_own(settings, tmp_path, capsys):
    run, file = carried_out(settings), tmp_path / "report.json"
    file.write_text(json.dumps(run.report))
    call_command("conformance", "verify", str(file))
    assert "as this portal signed it" in capsys.readouterr().out
    forged = signed(run.report["report"], "another installation's secret")
    file.write_text(json.dumps(forged))
    with pytest.raises(CommandError, match="another portal"):
        call_command("conformance", "verify", str(file))
    run.report["report"]["level_reached"] = 5
    file.write_text(json.dumps(run.report))
    with pytest.raises(CommandError, match="not as it was signed"):
        call_command("conformance", "verify", str(file))


def test_what_a_run_costs_is_booked_on_accounts_of_its_own():
    with people("http://x"):
        tenant = tenant_get(SCHEMA)
    assert {row.tenant for row in ledger_accounts(tenant).values()} == {tenant}
    assert not LedgerTransaction.objects.exists(), "nothing is paid in"
