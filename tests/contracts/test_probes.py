"""The probes: alive, ready, and figures that Prometheus can read."""

import shutil
import subprocess

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.plugin import METRICS

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("world")]


def test_healthz_answers_without_anything_else(client):
    assert client.get("/healthz", headers={"host": "localhost"}).content == b"ok\n"


def test_readyz_names_what_is_in_order(client):
    answer = client.get("/readyz", headers={"host": "localhost"})
    assert answer.status_code == 200
    assert answer.json() == {"ready": True, "database": "ok", "migrations": "ok", "redis": "ok"}


@pytest.mark.req("ELA-2107")
def test_metrics_are_the_pools_own_figures(client, world):
    text = client.get("/metrics", headers={"host": "localhost", **METRICS}).content.decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    running = {sample.labels["state"]: sample.value for sample in families["weir_workloads"].samples}
    assert running == {"running": 2}
    assert families["weir_pool_held_percent"].samples[0].value == 40
    assert families["weir_tenants"].samples[0].value == 2


@pytest.mark.parametrize("host", ["localhost", "acme.localhost"])
@pytest.mark.parametrize("header", ["", "Bearer ", "Bearer wrong", "Bearer weir_x", "Basic eDp5"])
def test_figures_are_told_for_their_token_only(client, host, header):
    """S14: nodes, devices and load were told to everybody who sent the provider's Host header."""
    answer = client.get("/metrics", headers={"host": host, "authorization": header})
    assert answer.status_code == (401 if host == "localhost" else 404) or header.startswith("Bearer w")
    assert answer.status_code in (401, 404)
    assert b"weir_node" not in answer.content


def test_tenants_hosts_tell_no_figures(client):
    assert client.get("/metrics", headers={"host": "acme.localhost"}).status_code == 404


@pytest.mark.skipif(
    not shutil.which("promtool"), reason="promtool (Debian's package prometheus) is not installed"
)
def test_promtool_finds_nothing_to_say(client, world):
    text = client.get("/metrics", headers={"host": "localhost", **METRICS}).content
    run = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, timeout=120)
    assert (run.returncode, run.stdout, run.stderr) == (0, b"", b"")
