"""The administrator's first hour, gone through on a portal in which there is nothing."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from portal.devstack import bootstrap
from portal.devstack.stack import Stack
from tests.harness.portal import empty_centre, open_folder
from tests.journeys.test_guides import gone_through

pytestmark = [pytest.mark.journey, pytest.mark.xdist_group("empty centre")]


@pytest.fixture
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A centre in which there is nothing."""
    with empty_centre(tmp_path_factory, "guide", center_processes=1) as found:
        yield found


@pytest.mark.req("PLAT-TEN-8", "PLAT-TEN-24", "PLAT-OPS-12", "ELA-101", "JC-6.1.2-3", "JC-6.4-1")
def test_the_administrators_first_hour_leads_from_nothing_to_a_customers_job(
    empty: Stack, tmp_path_factory: pytest.TempPathFactory
) -> None:
    guide, folder = tmp_path_factory.mktemp("words"), open_folder(tmp_path_factory, "agent")
    agent = {"WEIR_AGENT_STATE_DIR": str(folder / "agent"), "WEIR_AGENT_DEVICES": "1x1:4096"}
    more = {"WEIR_PASSWORD": "correct-horse-9", "TOKEN": re.search(r"token=(\S+)", empty.welcome)[1], **agent}
    try:
        told = gone_through("administrators-first-hour.md", guide, f"localhost:{empty.options.port}", **more)
    finally:
        stop_work = [sys.executable, "-m", "node_agent", "stop-work"]
        subprocess.run(stop_work, cwd=bootstrap.ROOT, env=os.environ | agent, check=False)
    for words in (
        "No node has joined",
        "rack1",
        "Made: Application",
        "is published",
        "JOB-1",
        "Welcome to North Lab",
        "Our pool has joined",
        "Our pool serves North Lab",
        "Our pool offers One accelerator",
        "night run is submitted",
    ):
        assert words in told, told
    assert re.search(r"^the first customer computes$", told, re.MULTILINE), told
    assert re.search(r"^the network computes$", told, re.MULTILINE), told
