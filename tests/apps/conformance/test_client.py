"""The acceptance test from a terminal: the client's own commands against the API."""

import json

import httpx
import pytest
from django.test import Client as DjangoClient
from typer.testing import CliRunner
from weir.api import Client
from weir.cli.centre import conformance as commands
from weir.cli.main import app

from apps.conformance import services
from apps.conformance.report.signing import signed
from apps.conformance.selectors import result_list, run_get
from apps.conformance.states import Outcome
from apps.identity.services.tokens import api_token_make
from apps.kernel.actor import SYSTEM
from tests.apps.conformance.test_runs import carried_out

pytestmark = [pytest.mark.django_db, pytest.mark.req("POOL-A-0")]


class Portal(httpx.BaseTransport):
    """The portal in this process, so that a test's transaction is its own."""

    def handle_request(self, request):
        headers = dict(request.headers)
        answer = DjangoClient().generic(
            request.method,
            request.url.raw_path.decode(),
            request.read(),
            content_type=headers.pop("content-type", ""),
            headers=headers,
        )
        return httpx.Response(answer.status_code, headers=dict(answer.headers), content=answer.content)


@pytest.fixture
def weir(operator, monkeypatch):
    """`weir ARGS…` as a cluster administrator, straight into the portal."""
    person = operator("cluster_administrator")
    _token, secret = api_token_make(actor=person.actor, user=person.user, name="terminal")

    def caller(_ctx):
        client = Client("http://localhost", secret)
        client._http = httpx.Client(
            base_url="http://localhost/api/v1/", headers=client._http.headers, transport=Portal()
        )
        return client

    monkeypatch.setattr(commands, "caller", caller)

    def run(*words):
        return CliRunner().invoke(app, [str(word) for word in words])

    return run


def test_a_run_is_begun_followed_to_its_end_and_told_by_the_exit_status(weir, settings):
    begun = weir("--json", "conformance", "start", "--test", "12.1", "--test", "12.7")
    assert begun.exit_code == 0, begun.output
    found = json.loads(begun.output)
    assert found["tests"] == ["12.1", "12.7"]
    refused = weir("conformance", "start")
    assert refused.exit_code == 1, "one at a time"
    run = run_get(found["uid"])
    services.run_begin(actor=SYSTEM, run=run, url="http://x")
    for number, outcome in (("12.1", Outcome.PASSED), ("12.7", Outcome.FAILED)):
        services.result_begin(actor=SYSTEM, run=run, number=number)
        services.result_put(
            actor=SYSTEM, run=run, number=number, outcome=outcome, steps=[], expectations=[], reason=""
        )
    services.run_end(actor=SYSTEM, run=run, report=signed({}, settings.SECRET_KEY), level_reached=0)
    ended = weir("conformance", "follow", found["uid"])
    assert ended.exit_code == 1
    assert "1 of 2 passed" in ended.output
    assert [row.outcome for row in result_list(run)] == ["passed", "failed"]


def test_a_run_that_passed_whole_ends_well_and_the_newest_is_meant(weir, settings):
    carried_out(settings)
    ended = weir("conformance", "follow")
    assert (ended.exit_code, "finished: 2 of 2 passed" in ended.output) == (0, True)
    assert "12.7" in weir("conformance", "show").output
    assert weir("conformance", "runs").exit_code == 0


def test_the_report_is_fetched_in_every_form_and_verified(weir, settings, tmp_path):
    run, file = carried_out(settings), tmp_path / "report.json"
    for form, begin in (("json", b"{"), ("text", b""), ("junit", b"<?xml"), ("pdf", b"%PDF")):
        path = tmp_path / f"report.{form}"
        assert weir("conformance", "report", run.uid, "--format", form, "-o", path).exit_code == 0
        assert path.read_bytes().startswith(begin)
    assert weir("conformance", "report", "--format", "pdf").exit_code == 1
    assert weir("conformance", "report", "--format", "doc").exit_code == 1
    told = weir("conformance", "verify", file)
    assert (told.exit_code, "as this portal signed it" in told.output) == (0, True)
    document = json.loads(file.read_text())
    file.write_text(json.dumps(signed(document["report"], "another installation's secret")))
    assert weir("conformance", "verify", file).exit_code == 1
    document["report"]["level_reached"] = 5
    for wrong in (document, [], {}, "no"):
        file.write_text(json.dumps(wrong))
        assert weir("conformance", "verify", file).exit_code == 1


def test_who_may_not_see_runs_is_refused(member):
    api = member("acme", "tenant_front_line").api()
    for answer in (api.get("/api/v1/conformance/runs"), api.post("/api/v1/conformance/verify", {})):
        assert answer.status_code in (403, 404)
