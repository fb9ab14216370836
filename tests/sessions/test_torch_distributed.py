"""torch.distributed with the backend "weir": what gloo gives on the CPU, and no tensor passes through the client."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="sessions need PyTorch")

from tests.sessions.workers import workers  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.req("POOL-7.1b")


# "weir" without a number.
OWN = 'import os, torch; print(os.environ["RANK"], torch.ones(2, device="weir").device, flush=True)\n'


def ranks(act, size, folder):
    """What each rank prints, line by line."""
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'client'}", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.sessions.distributed_rank", act]
    meeting = str(folder / "meeting")
    started = [
        subprocess.Popen(
            [*command, str(rank), str(size), meeting],
            env=env, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for rank in range(size)
    ]  # fmt: skip
    try:
        told = [process.communicate(timeout=400) for process in started]
    except subprocess.TimeoutExpired:
        # Each says where its threads stand; one that has ended said why.
        for process in started:
            process.send_signal(signal.SIGABRT)
        told = [process.communicate() for process in started]
    assert [process.returncode for process in started] == [0] * size, told
    return [out.splitlines() for out, _err in told]


@pytest.mark.parametrize("size", [2, 3])
def test_each_collective_gives_what_gloo_gives(tmp_path, size):
    for lines in ranks("collectives", size, tmp_path):
        compared = [line for line in lines if " same" in line or "differs" in line]
        assert len(compared) == 15, lines
        assert not [line for line in compared if not line.endswith(" same")]
        assert "average True" in lines
        assert f"objects {list(range(size))}" in lines


def test_training_is_that_of_gloo_and_nothing_of_it_passes_through_the_client(tmp_path):
    for lines in ranks("training", 2, tmp_path):
        assert lines == ["ddp same", "fully_shard same", "carried by the client {'STAT': 1} 0"]


def test_what_goes_wrong_is_said_in_words_and_a_group_can_be_made_again(tmp_path):
    for lines in ranks("mistakes", 2, tmp_path):
        devices, anybody, premultiplied, again, unlike = lines
        assert devices.startswith(
            "RuntimeError a rank of a process group has its tensors on one device, not on"
        )
        assert anybody.startswith(
            "NotImplementedError recv_any_source_ is not among the collectives of sessions"
        )
        assert premultiplied.startswith("NotImplementedError sessions reduce by sum, average")
        assert again == "again 2.0"
        assert "of 8 bytes float32" in unlike
        assert "of 12 bytes float32" in unlike


@pytest.mark.parametrize(
    ("backend", "config", "by_sessions"),
    [
        ("", "cpu:gloo,weir:weir", True),
        ("weir", "cpu:weir,weir:weir", True),
        ("cpu:gloo,weir:weir", "cpu:gloo,weir:weir", True),
        ("gloo", "gloo", False),
    ],
)
def test_the_backend_is_the_devices_own_unless_another_is_named(tmp_path, backend, config, by_sessions):
    for lines in ranks(f"named={backend}", 2, tmp_path):
        assert config in lines[0]
        assert "[2.0, 2.0]" in lines[0]
        assert lines[1].startswith("device [2.0, 2.0]")
        assert ("MEET" in lines[1]) == by_sessions


@pytest.mark.req("POOL-12.4")
def test_each_process_of_torchrun_takes_the_device_of_its_rank(tmp_path):
    shown = (ROOT / "docs" / "remote-accelerator.md").read_text()
    program = re.search(r"^```python file=train_together\.py\n(.*?)^```$", shown, re.MULTILINE | re.DOTALL)
    assert program is not None
    (tmp_path / "train_together.py").write_text(program[1])
    (tmp_path / "own.py").write_text(OWN)
    with workers(tmp_path) as make:
        shares = []
        for name in ("one", "two"):
            worker = make(name, memory_mib=128)
            status = worker.wait(lambda found: found["port"])
            place = {name: status[name] for name in ("port", "fingerprint")}
            shares.append({"host": "127.0.0.1", "token": worker.wish["token"], "memory_mib": 128, **place})
        session_file = tmp_path / "session.json"
        session_file.write_text(json.dumps({"shares": shares, "is_kept": True}))
        session_file.chmod(0o600)
        boot = ROOT / "client" / "weir" / "boot"
        paths = os.pathsep.join(map(str, (boot, ROOT, ROOT / "client")))
        env = {
            **os.environ,
            "PYTHONPATH": paths,
            "WEIR_SESSION_FILE": str(session_file),
            "OMP_NUM_THREADS": "1",
        }

        def launched(script: str) -> str:
            command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone"]
            done = subprocess.run(
                [*command, script], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=500
            )
            assert done.returncode == 0, done.stderr
            return done.stdout

        losses = re.findall(
            r"rank (\d) of 2 on weir:\1: loss (\d+\.\d+)", told := launched("train_together.py")
        )
        assert [rank for rank, _loss in sorted(losses)] == ["0", "1"], told
        assert len({loss for _rank, loss in losses}) == 1
        assert sorted(launched("own.py").splitlines()) == ["0 weir:0", "1 weir:1"]
