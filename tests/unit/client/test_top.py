"""`weir top`: the open work, what of it is measured, and the line above."""

import json

import pytest
from typer.testing import CliRunner
from weir.cli.centre import top
from weir.cli.main import app

from tests.unit.client.centre import Centre

RUNNING = {"no": "W-1", "uid": "u1", "name": "a", "state": "running", "shares": 2, "active_shares": None,
           "compute_percent": 30, "memory_mib": 512, "node": "n1", "position": None, "reason": ""}  # fmt: skip
WAITING = {
    **RUNNING,
    "no": "W-2",
    "uid": "u2",
    "state": "pending",
    "node": "",
    "position": 3,
    "reason": "No room.",
}
PART = {"ended_at": None, "delivered_percent": 12.4, "memory_used_mib": 100, "is_simulated": True}
OVER = {"ended_at": "2026", "delivered_percent": 99.0, "memory_used_mib": 9, "is_simulated": True}


class Busy(Centre):
    def workloads(self, *, state):
        return [row for row in (WAITING, RUNNING) if row["state"] == state]

    def workload(self, uid):
        assert uid == "u1", "what waits is not measured"
        return {"slices": [PART, PART, OVER]}


@pytest.fixture
def busy(monkeypatch):
    monkeypatch.setattr(top, "caller", lambda _ctx: Busy())


def test_it_shows_what_runs_first_and_sums_it_up(busy):
    done = CliRunner().invoke(app, ["top", "--once"])
    assert done.exit_code == 0, done.output
    first, _heads, *lines = done.stdout.splitlines()
    assert first == "1 running with 60 % of a device and 1024 MiB, 1 waiting."
    assert [line.split()[0] for line in lines] == ["W-1", "W-2"]
    assert "n1 (simulated)" in lines[0]
    assert "25" in lines[0].split()


def test_programs_get_it_once(busy):
    done = CliRunner().invoke(app, ["top", "--once", "--json"])
    assert [row["no"] for row in json.loads(done.stdout)] == ["W-1", "W-2"]
    assert "Give --once" in CliRunner().invoke(app, ["top", "--json"]).output
