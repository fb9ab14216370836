"""A job over centres whose engine is the real one: by API and command, followed by the portal's own watchers."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import contextmanager

import httpx
import pytest
from django.core.wsgi import get_wsgi_application
from django.utils import translation
from typer.testing import CliRunner
from weir.api import Client
from weir.cli.main import app
from weir.cli.work import jobs as command

from apps.centers.models import Center, RemoteTask
from apps.centers.services.centers import center_drain, center_join
from apps.centers.services.specs import offer_set, resource_spec_make
from apps.identity.services.tokens import api_token_make
from apps.jointcloud.models import Decision, Job, Replica
from apps.jointcloud.services.placing import cycle_run, jobs_sweep
from apps.kernel.actor import SYSTEM
from tests.harness.money import account_funded
from tests.harness.schedulers import environment

pytestmark = pytest.mark.wire
_WAIT_S = 120


@pytest.fixture
def centers(committed, acme, engine, settings, monkeypatch):
    """The engine as two centres, of which one is cheap; both offer a small specification, and acme can pay for it."""
    account_funded(acme)
    settings.WEIR_CENTER_LOCAL_ADDRESSES = True
    monkeypatch.setenv("WEIR_CENTER_LOCAL_ADDRESSES", "true")
    resource_spec_make(
        actor=SYSTEM,
        resource_spec_id="small",
        resource_spec_name="Small",
        resource_quantity={"cpu": "1", "memory": "50Mi"},
        service_types=["batch"],
        price_minor=100,
    )
    for code, price in (("cheap", 10), ("dear", 90)):
        center_join(
            actor=SYSTEM,
            ai_center_id=code,
            kind=engine.kind,
            settings=engine.settings,
            secrets=engine.secrets,
            serves="all",
            may_share=True,
            facts={"name": code.title()},
        )
        offer_set(actor=SYSTEM, resource_spec_id="small", ai_center_id=code, price_minor=price)


@pytest.fixture
def crew():
    """Starts watchers; whoever still runs is killed afterwards."""
    processes = []

    def more():
        given = environment() | {"WEIR_CENTER_LOCAL_ADDRESSES": "true"}
        processes.append(subprocess.Popen([sys.executable, "-m", "portal.centers"], env=given))
        return processes[-1]

    yield more
    for process in processes:
        process.kill()
        process.wait()


@pytest.fixture
def client(centers, acme, globex, member):
    """The SDK of a member of acme, by the portal's own API."""
    person = member("acme", "tenant_front_line")
    _row, secret = api_token_make(actor=SYSTEM, user=person.user, name="t", tenant=acme)
    found = Client("http://localhost", secret)
    found._http.close()
    found._http = httpx.Client(
        base_url="http://localhost/api/v1/",
        transport=httpx.WSGITransport(get_wsgi_application()),
        headers={"Authorization": f"Bearer {secret}", "Accept-Language": "en"},
    )
    return found


def wait(holds):
    """The portal's clock goes on until that holds."""
    ends_s = time.monotonic() + _WAIT_S
    while not holds():
        assert time.monotonic() < ends_s, (
            list(Replica.objects.values_list("key", "state", "reason")),
            list(RemoteTask.objects.values_list("key", "state", "cause")),
        )
        with translation.override("en"):
            jobs_sweep(actor=SYSTEM)
            cycle_run(actor=SYSTEM)
        time.sleep(0.1)


PRICE = {"price": "1"}


def task(name, run):
    return {"name": name, "command": run, "resourcespec": "small"}


@pytest.mark.req("JC-6.4-2", "JC-6.4-6", "JC-6.5-1")
def test_a_job_of_two_tasks_runs_once_though_the_watcher_is_killed_in_the_middle(engine, client, crew):
    two = [task("one", 'sleep 2; echo "$WEIR_TASK_NAME 山"'), task("two", "sleep 2; echo second")]
    made = client.job_submit("night", two, weights=PRICE)
    cycle_run(actor=SYSTEM)
    first = crew()
    wait(lambda: RemoteTask.objects.exclude(state="new").exists())
    first.kill()
    first.wait()
    crew()
    wait(lambda: client.job(made["id"])["state"] == "completed")
    keys = list(Replica.objects.values_list("key", flat=True))
    assert [engine.count(key) for key in keys] == [1, 1]
    assert [row["ai_center_id"] for each in client.job(made["id"])["tasks"] for row in each["placed"]] == [
        "cheap",
        "cheap",
    ]
    told = client.job_log(made["id"])
    assert (told["text"], told["is_whole"]) == ("one 山\n", True)
    assert client.job_log(made["id"], task=1, offset=3)["text"] == "ond\n"


@pytest.mark.of_kind("slurm")
def test_what_a_centre_refuses_goes_to_the_next_best_and_a_drained_one_gets_nothing(engine, client, crew):
    # Slurm has no such partition: what the cheap centre was asked for it refuses.
    wrong = {**engine.settings, "partition": "nowhere"}
    Center.objects.filter(ai_center_id="cheap").update(settings=wrong, revision=2)
    made = client.job_submit("night", [task("one", "echo done")], weights=PRICE)
    cycle_run(actor=SYSTEM)
    assert Replica.objects.get().ai_center_id == "cheap"
    crew()
    wait(lambda: client.job(made["id"])["state"] == "completed")
    rows = Replica.objects.order_by("attempt")
    assert [(row.ai_center_id, row.state) for row in rows] == [("cheap", "refused"), ("dear", "completed")]
    assert "Invalid partition" in Decision.objects.get(kind="refused").message
    assert [engine.count(row.key) for row in rows] == [0, 1]
    Center.objects.filter(ai_center_id="cheap").update(settings=engine.settings, revision=3)
    center_drain(actor=SYSTEM, ai_center_id="cheap")
    again = client.job_submit("again", [task("one", "true")], weights=PRICE)
    wait(lambda: client.job(again["id"])["state"] == "completed")
    assert client.job(again["id"])["tasks"][0]["placed"][0]["ai_center_id"] == "dear"


def test_the_command_submits_shows_reads_and_stops(engine, client, crew, monkeypatch):
    @contextmanager
    def caller(_ctx):
        yield client

    monkeypatch.setattr(command, "caller", caller)

    def weir(*words):
        answer = CliRunner().invoke(app, ["job", *words])
        assert answer.exit_code == 0, (answer.output, answer.exception)
        return answer.output

    weir("submit", "night", "--spec", "small", "--task", "one=echo begun; sleep 300", "--weight", "price=1")
    job = Job.plain.get()
    cycle_run(actor=SYSTEM)
    crew()
    wait(lambda: Job.plain.get().state == "running")
    assert "night" in weir("list", "--state", "running")
    shown = weir("show", job.job_id)
    assert "cheap" in shown
    assert "It runs." in shown
    wait(lambda: weir("log", job.job_id) == "begun\n")
    assert "asked to stop" in weir("stop", job.job_id)
    wait(lambda: Job.plain.get().state == "stopped")
    assert engine.adapter().job_find(Replica.objects.get().key).state == "stopped"
