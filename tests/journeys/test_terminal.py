"""The whole journey from a terminal: one person, one shell, one configuration each."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from portal.devstack.stack import Stack

pytestmark = [pytest.mark.journey, pytest.mark.xdist_group("portal")]
ASK = ("-a", "compute_share=15", "-a", "gpu_memory=256", "-a", "cpu=1", "-a", "memory=512", "--for", "10m")


@pytest.fixture
def shell(stack: Stack, tmp_path: Path):
    """`shell("alice", "catalogue")` is what the command prints; with `--json`, what it means."""
    password = (stack.var_dir / "run" / "demo.password").read_text()

    def run(person: str, *words: str, tenant: str = "", code: int = 0):
        config = tmp_path / f"{person}.json"
        env = {**os.environ, "WEIR_CONFIG": str(config), "WEIR_PASSWORD": password, "NO_COLOR": "1"}
        if not config.exists():
            login = ("login", f"http://127.0.0.1:{stack.options.port}", "-u", person)
            subprocess.run([sys.executable, "-m", "weir", *login], env=env, check=True, capture_output=True)
        options = ("--tenant", tenant) if tenant else ()
        command = [sys.executable, "-m", "weir", "--json", *options, *words]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
        assert done.returncode == code, (words, done.stdout, done.stderr)
        if code:
            return done.stderr
        try:
            return json.loads(done.stdout)
        except json.JSONDecodeError:
            return done.stdout

    return run


def find(journey, rows, what: str, **wanted: str):
    def look():
        return next((row for row in rows() if all(row[k] == v for k, v in wanted.items())), None)

    return journey.wait(what, look)


@pytest.mark.req("ELA-101")
def test_from_login_to_paid_bill_in_a_terminal(shell, journey, tmp_path):
    plan = tmp_path / "plan.md"
    plan.write_text("one run\n")
    assert "ENV-0001" in [one["number"] for one in shell("alice", "catalogue")]
    assert float(shell("alice", "quote", "ENV-0001", *ASK)["total"]) > 0
    form = shell("alice", "apply", "ENV-0001", *ASK, "-b", "ACME-01", "--attach", str(plan))
    assert form["state"] == "submitted"
    assert form["no"] in [task["no"] for task in shell("dan", "inbox")]
    shell("dan", "decide", form["no"], "approve", "-m", "fine")
    refused = shell("alice", "withdraw", form["no"], code=1)
    assert "Traceback" not in refused
    assert refused.strip()
    task = find(journey, lambda: shell("ops", "inbox"), "ops's task", no=form["no"])
    shell("ops", "decide", task["uid"], "approve", tenant="acme")
    order = find(journey, lambda: shell("alice", "orders"), "the order", form_no=form["no"])
    work = f"W-{order['no']}"
    find(journey, lambda: shell("alice", "resources"), "the resource", no=work, state="running")
    journey.wait("its log", lambda: "loss=" in str(shell("alice", "logs", work)))
    journey.wait("its usage", lambda: shell("alice", "usage", work))
    shell("alice", "terminate", order["no"], "-m", "done")
    end = next(row for row in shell("dan", "inbox") if row["no"] != form["no"])
    shell("dan", "decide", end["no"], "approve")
    find(journey, lambda: shell("alice", "orders"), "its end", no=order["no"], state="terminated")
    journey.wait("the rating", lambda: float(shell("olga", "account")["unbilled"]) > 0)
    bill = shell("olga", "bill-now")
    coupon = shell("olga", "claim", shell("olga", "coupon-centre")[0]["uid"])
    shell("olga", "confirm", bill["no"])
    assert shell("olga", "pay", bill["no"], "--coupon", coupon["code"])["state"] == "paid"
    assert order["no"] in {line["order_no"] for line in shell("olga", "bill", bill["no"])["lines"]}
