"""The probes: alive, ready, and figures that Prometheus can read."""

import shutil
import subprocess

import pytest
from prometheus_client.parser import text_string_to_metric_families

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("world")]


def test_healthz_answers_without_anything_else(client):
    assert client.get("/healthz", headers={"host": "localhost"}).content == b"ok\n"


def test_readyz_names_what_is_in_order(client):
    answer = client.get("/readyz", headers={"host": "localhost"})
    assert answer.status_code == 200
    assert answer.json() == {"ready": True, "database": "ok", "migrations": "ok", "redis": "ok"}


def test_metrics_are_the_pools_own_figures(client, world):
    text = client.get("/metrics", headers={"host": "localhost"}).content.decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    running = {sample.labels["state"]: sample.value for sample in families["weir_workloads"].samples}
    assert running == {"running": 2}
    assert families["weir_pool_held_percent"].samples[0].value == 40
    assert families["weir_tenants"].samples[0].value == 2


def test_tenants_hosts_tell_no_figures(client):
    assert client.get("/metrics", headers={"host": "acme.localhost"}).status_code == 404


@pytest.mark.skipif(
    not shutil.which("promtool"), reason="promtool (Debian's package prometheus) is not installed"
)
def test_promtool_finds_nothing_to_say(client, world):
    text = client.get("/metrics", headers={"host": "localhost"}).content
    run = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, timeout=120)
    assert (run.returncode, run.stdout, run.stderr) == (0, b"", b"")
