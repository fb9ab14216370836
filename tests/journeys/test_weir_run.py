"""`weir run` and `weir.session`: a script here, a share of a device there, over server, agent and worker."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from portal.devstack.stack import Stack

pytest.importorskip("torch", reason="the remote accelerator is for PyTorch, which is not installed here")
pytestmark = [pytest.mark.journey, pytest.mark.xdist_group("portal")]

TRAIN = """
    import os, stat, sys, torch
    path = os.environ["WEIR_SESSION_FILE"]
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    print("file", path)
    device = "weir:0"
    torch.manual_seed(0)
    model = torch.nn.Linear(8, 1)
    x = torch.randn(64, 8)
    losses = {}
    for where in ("cpu", device):
        net = torch.nn.Linear(8, 1)
        net.load_state_dict(model.state_dict())
        net, data = net.to(where), x.to(where)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        losses[where] = []
        for _ in range(5):
            loss = (net(data) - data.sum(dim=1, keepdim=True)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[where].append(loss.item())
    print("same", losses["cpu"] == losses[device])
    try:
        torch.empty(200 << 20, dtype=torch.uint8, device=device)
    except torch.OutOfMemoryError:
        print("out of memory")
    sys.exit(3)
"""
IDLE = """
    import time, torch
    print(torch.ones(3, device="weir:0").sum().item(), flush=True)
    time.sleep(600)
"""
SESSION = """
    import torch, weir
    with weir.session(compute_percent=10, memory_mib=64, name="from python") as session:
        print(session.no, (torch.ones(3, device=session.device) * 2).sum().item())
"""


@pytest.fixture
def alice(stack: Stack, tmp_path: Path):
    """Alice's shell: `alice(script, "run", …)` starts a command; `{script}` stands for the script's file."""
    config = tmp_path / "alice.json"
    password = (stack.var_dir / "run" / "demo.password").read_text()
    env = {**os.environ, "WEIR_CONFIG": str(config), "WEIR_PASSWORD": password, "NO_COLOR": "1"}
    address = f"http://127.0.0.1:{stack.options.port}"
    login = [sys.executable, "-m", "weir", "login", address, "-u", "alice"]
    subprocess.run(login, env=env, check=True, capture_output=True)

    def start(script: str, *words: str, **more: str) -> subprocess.Popen:
        file = tmp_path / "script.py"
        file.write_text(textwrap.dedent(script))
        command = [sys.executable, *(word.format(script=file) for word in words)]
        return subprocess.Popen(
            command, env={**env, **more}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    return start


def run_of(*options: str) -> tuple[str, ...]:
    return ("-m", "weir", "run", *options, sys.executable, "{script}")


def finished(process: subprocess.Popen) -> tuple[str, str]:
    out, err = process.communicate(timeout=600)
    return out, err


@pytest.mark.req("POOL-12.3", "POOL-12.1", "POOL-12.14", "POOL-7.1c")
def test_an_unmodified_script_trains_on_a_share_elsewhere_and_gives_it_back(alice, journey):
    api = journey.person("alice")
    api.environment_make(name="run-fixed", compute_percent=20, memory_mib=128)
    process = alice(
        TRAIN, *run_of("--environment", "run-fixed"), WEIR_COMPUTE_PERCENT="90", WEIR_MEMORY_MIB="2048"
    )
    out, err = finished(process)
    assert process.returncode == 3, (out, err)
    assert "same True" in out
    assert "out of memory" in out
    assert not Path(out.split()[1]).exists()
    assert "20 % and 128 MiB on node-" in err
    work = next(row for row in api.workloads() if row["environment"] == "run-fixed")
    assert (work["name"], work["kind"], work["compute_percent"]) == ("script.py", "session", 20)
    journey.wait("its end", lambda: api.workload(work["uid"])["state"] == "finished")
    assert api.usage(work["uid"])


@pytest.mark.req("POOL-12.11")
def test_a_session_that_lies_idle_is_released_and_the_terminal_says_so(alice, journey):
    process = alice(IDLE, *run_of("--share", "10", "--memory", "64", "--idle-timeout", "5s"))
    lines = iter(process.stderr.readline, "")
    released = next(line for line in lines if "released" in line)
    assert "5 s" in released
    api = journey.person("alice")
    work = next(row for row in api.workloads() if row["idle_timeout_s"] == 5)
    journey.wait("its end", lambda: api.workload(work["uid"])["state"] == "finished")
    assert api.workload(work["uid"])["reason_code"] == "idle_timeout"
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=300)
    assert process.returncode == 128 + signal.SIGTERM


@pytest.mark.req("POOL-12.10")
def test_while_it_waits_the_terminal_says_why_and_where_and_a_signal_takes_it_back(alice, journey):
    admin = journey.person("admin")
    if "closed" not in [queue["code"] for queue in admin.queues()]:
        admin.queue_make(code="closed", name_en="Closed", name_zh="Closed", state="down")
    process = alice(IDLE, *run_of("--share", "5", "--memory", "64", "--queue", "closed"))
    waits = next(line for line in iter(process.stderr.readline, "") if "waits" in line)
    assert "place 1 in queue closed. Queue closed is down and starts no work." in waits
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=300)
    assert process.returncode == 128 + signal.SIGTERM
    assert journey.person("alice").workloads(state="pending", queue="closed") == []


@pytest.mark.req("POOL-12.3")
def test_a_session_from_python_is_attached_and_given_back(alice, journey):
    process = alice(SESSION, "{script}")
    out, err = finished(process)
    assert process.returncode == 0, err
    number, total = out.split()
    assert float(total) == 6
    api = journey.person("alice")
    work = next(row for row in api.workloads() if row["no"] == number)
    journey.wait("its end", lambda: api.workload(work["uid"])["state"] == "finished")
