"""Programs on slices of a card, through the agent's own runtime: shim, user, namespaces and what they may open."""

import json
import os

import pytest

from tests.cards.smi import processes

torch = pytest.importorskip("torch", reason="PyTorch is not here")

SEEN = """
import json, os, torch
x = torch.randn(512, 512, device="cuda")
print(json.dumps({
    "product": bool(((x @ x) - (x.cpu() @ x.cpu()).cuda()).abs().max() < 1e-2),
    "name": torch.cuda.get_device_name(0), "count": torch.cuda.device_count(), "uid": os.getuid(),
    "status": [line.split()[1] for line in open("/proc/self/status") if line[:7] in ("NoNewPr", "CapEff:", "Seccomp")],
    "processes": sum(name.isdigit() for name in os.listdir("/proc")),
    "cards": sorted(name for name in os.listdir("/dev") if name.startswith("nvidia"))}))
"""
GROWS = """
import time, torch
kept = [torch.zeros(512 << 20, dtype=torch.uint8, device="cuda")]
torch.cuda.synchronize()
print("held", flush=True)
time.sleep(2)
kept += [torch.zeros(1 << 30, dtype=torch.uint8, device="cuda") for _ in range(4)]
torch.cuda.synchronize()
time.sleep(30)
print("still here", flush=True)
"""


@pytest.mark.req("POOL-7.4-2", "POOL-7.4-1")
def test_cuda_works_walled_off(node):
    uid = node.program("seen", SEEN, percent=50)
    report = node.ended(uid)
    assert report.state == "exited", node.log(uid)
    told = json.loads(node.log(uid).splitlines()[0])
    print(node.runtime.isolation, told)
    assert told["product"]
    assert (told["name"], told["count"]) == (node.card.model, 1)
    assert "nvidiactl" in told["cards"]
    assert (report.driver, report.memory_enforced_by, report.compute_enforced_by) == (
        "time-slice",
        "nvml-watch",
        "time-slice",
    )
    if node.runtime.isolation.has_user:
        assert told["uid"] not in (0, os.getuid())
    if node.runtime.isolation.level == "namespaces":
        assert told["processes"] <= 4
    assert told["status"][:2] == ["0000000000000000", "1"]


@pytest.mark.req("POOL-12.2", "POOL-12.24")
def test_what_takes_more_memory_than_it_has_is_ended(node):
    uid = node.program("grows", GROWS, memory_mib=2048)
    held = node.until(uid, lambda found: found.memory_used_mib and "held" in node.log(uid))
    print(held.memory_used_mib, processes(node.card.uid))
    # The driver counts what CUDA itself takes with the program's 512 MiB.
    assert 512 < held.memory_used_mib < 2048
    assert held.mounted
    end = node.ended(uid)
    print(end.state, end.reason_code, end.reason)
    assert (end.state, end.reason_code) == ("failed", "memory_exceeded")
    assert "still here" not in node.log(uid)
    assert node.card.uid
