"""The device over real workers: processes of their own, TLS or shared memory, found through the session file."""

import json
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="the device weir needs PyTorch")

import weir.torch  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402
from weir.torch import devices  # noqa: E402

from tests.sessions.models import GPT, mlp, train  # noqa: E402
from tests.sessions.workers import ENVIRONMENT, workers  # noqa: E402

pytestmark = pytest.mark.req("POOL-12.3", "POOL-12.4")


@pytest.fixture
def session_file(tmp_path, monkeypatch):
    """The file that `weir run` leaves, over two workers."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as the workers: sums of several threads differ in the last bit
    with workers(tmp_path) as make:
        shares = []
        for name in ("one", "two"):
            worker = make(name, memory_mib=128)
            status = worker.wait(lambda status: status["port"])
            found = {key: status[key] for key in ("port", "fingerprint")}
            shares.append({"host": "127.0.0.1", "token": worker.wish["token"], "memory_mib": 128, **found})
        path = tmp_path / "session.json"
        path.write_text(json.dumps({"shares": shares}))
        path.chmod(0o600)
        monkeypatch.setenv("WEIR_SESSION_FILE", str(path))
        yield path
        for device in devices.attached():
            weir.torch.detach(device.index)
    torch.set_num_threads(threads)


@pytest.mark.req("POOL-5-F3", "ELA-1202")
def test_two_devices_on_two_servers(session_file):
    assert weir.torch.device_count() == 2
    wanted, _ = train(mlp, "flat", "cpu", steps=4)
    for place in ("weir:0", "weir:1"):
        losses, _ = train(mlp, "flat", place, steps=4)
        assert losses == wanted
    x = torch.ones(3, device="weir:0")
    y = x.to("weir:1") * 2
    assert (y.to("weir:0") + x).tolist() == [3, 3, 3]
    assert devices.get(0).link is not devices.get(1).link


def test_a_gpt_over_a_real_worker_and_what_waits(session_file):
    losses, _ = train(GPT, "words", "weir:0", steps=4)
    wanted, _ = train(GPT, "words", "cpu", steps=4)
    assert losses == wanted
    assert set(devices.get(0).requests) == {"READ"}


def test_workers_of_a_data_loader_leave_the_session_alone(session_file):
    torch.ones(2, device="weir:0")
    data = TensorDataset(torch.arange(64.0).view(32, 2))
    seen = torch.zeros(2, device="weir:0")
    for (batch,) in DataLoader(data, batch_size=8, num_workers=2):
        seen += batch.to("weir:0").sum(0)
    assert seen.tolist() == data.tensors[0].sum(0).tolist()


def touches_the_device(_: object) -> torch.Tensor:
    return torch.ones(1, device="weir:0")


def test_a_forked_child_is_told_whose_the_device_is(session_file):
    torch.ones(2, device="weir:0")
    loader = DataLoader(range(2), num_workers=1, collate_fn=touches_the_device)
    with pytest.raises(RuntimeError, match="parent"):
        next(iter(loader))
    assert torch.ones(2, device="weir:0").sum().item() == 2


def test_a_script_says_nothing_but_the_device(session_file, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "import torch, weir.torch\n"
        "w = torch.ones(3, 3, device='weir:1', requires_grad=True)\n"
        "(w @ w).sum().backward()\n"
        "print(w.grad.sum().item(), torch.accelerator.current_accelerator())\n"
    )
    run = subprocess.run(
        [sys.executable, str(script)],
        env={**ENVIRONMENT, "WEIR_SESSION_FILE": str(session_file)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout.split() == ["54.0", "weir"], run.stderr


SEEDED = "import torch, weir.torch; print(torch.randn(2, device='weir:0').tolist())"
TRIED = """
import subprocess, sys, torch, weir.torch
torch.ones(8, 1 << 20, device="weir:0").sum().item()
other = subprocess.run([sys.executable, "-c", "import torch, weir.torch; torch.ones(1, device='weir:0')"],
    capture_output=True, text=True)
print(other.stderr.strip().splitlines()[-1])
"""


def test_programs_use_a_kept_session_one_after_another_each_from_the_beginning(session_file):
    shares = json.loads(session_file.read_text())["shares"]
    session_file.write_text(json.dumps({"shares": shares, "is_kept": True}))
    environment = {**ENVIRONMENT, "WEIR_SESSION_FILE": str(session_file)}

    def said(program: str) -> str:
        run = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, run.stderr
        return run.stdout.strip()

    first = said(SEEDED.replace("print", "torch.manual_seed(3); print"))
    assert "NotAttached: another process has this session" in said(TRIED)
    for _ in range(4):
        # 32 MiB each, of 128: nothing of those before is held.
        said(TRIED.partition("other")[0])
    assert said(SEEDED.replace("print", "torch.manual_seed(3); print")) == first


def test_a_session_file_others_may_read_is_refused(session_file):
    session_file.chmod(0o644)
    with pytest.raises(weir.torch.NotAttached, match="chmod 600"):
        torch.ones(1, device="weir:0")


def test_without_a_session_the_error_says_how_to_get_one(monkeypatch):
    monkeypatch.delenv("WEIR_SESSION_FILE", raising=False)
    with pytest.raises(RuntimeError, match="weir run"):
        torch.ones(1, device="weir:0")


def test_importing_weir_imports_no_torch():
    code = "import sys, weir, weir.link.interface, weir_wire.wire; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, check=False).returncode == 0


def test_a_minor_version_of_torch_that_was_not_tried_is_refused(monkeypatch):
    from weir.torch import registration

    monkeypatch.setattr(torch, "__version__", "2.12.1+cpu")
    with pytest.raises(ImportError, match=r"needs torch 2\.11 or 2\.13, found 2\.12\.1"):
        registration.check_version()
