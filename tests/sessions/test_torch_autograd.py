"""Backward on one and on several devices, and every kind of error below it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="the device weir needs PyTorch")

ROOT = Path(__file__).parents[2]


@pytest.mark.req("POOL-12.24")
def test_errors_below_backward_arrive_as_they_are():
    run = subprocess.run(
        [sys.executable, "-m", "tests.sessions.backward_errors"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'client'}", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    found = json.loads(run.stdout.splitlines()[-1])
    assert len(found) == 12
    for name, errors in found.items():
        expected = {"wrong_shape_in_function": "RuntimeError"}.get(name, "KeyError")
        expected = "OutOfMemoryError" if name.startswith("memory") else expected
        assert errors == [expected, expected], name


@pytest.mark.req("POOL-12.4", "POOL-7.1b")
def test_backward_crosses_devices(attach):
    one, other = attach(), attach()
    assert (one, other) == (torch.device("weir:0"), torch.device("weir:1"))
    a = torch.randn(4, 4, device=other, requires_grad=True)
    b = torch.randn(4, 4, device=one, requires_grad=True)
    loss = ((a @ a).to(one) @ b).cpu().sum()
    loss.backward()
    assert (a.grad.device, b.grad.device) == (other, one)
    here, there = a.detach().cpu().requires_grad_(), b.detach().cpu().requires_grad_()
    (here @ here @ there).sum().backward()
    torch.testing.assert_close(a.grad.cpu(), here.grad)
    torch.testing.assert_close(b.grad.cpu(), there.grad)


def test_one_optimizer_steps_parameters_of_two_devices(attach):
    layers = [torch.nn.Linear(8, 8).to(attach()), torch.nn.Linear(8, 8).to(attach())]
    local = [torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)]
    for mine, theirs in zip(layers, local, strict=True):
        theirs.load_state_dict(mine.state_dict())
    x = torch.randn(3, 8)
    for pair, devices in ((layers, ("weir:0", "weir:1")), (local, ("cpu", "cpu"))):
        optimizer = torch.optim.AdamW([*pair[0].parameters(), *pair[1].parameters()], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            pair[1](pair[0](x.to(devices[0])).to(devices[1])).sum().backward()
            optimizer.step()
    for mine, theirs in zip(layers, local, strict=True):
        assert mine.weight.detach().cpu().equal(theirs.weight.detach())


def test_gradients_of_gradients(weir0):
    x = torch.tensor([2.0], device=weir0, requires_grad=True)
    (first,) = torch.autograd.grad(x**3, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x)
    assert (first.item(), second.item()) == (12, 12)


def test_an_error_a_function_handles_itself_goes_no_further(weir0):
    class Careful(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            try:
                return grad @ torch.ones(7, 7, device=grad.device)
            except RuntimeError:
                return grad * 2

    x = torch.ones(3, device=weir0, requires_grad=True)
    Careful.apply(x).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_a_graph_on_the_machines_own_card_is_refused_in_words(weir0, monkeypatch):
    from weir.torch import autograd

    def engine(*_args, **_kwargs):
        raise RuntimeError("opt_ready_stream && opt_parent_stream INTERNAL ASSERT FAILED at engine.cpp")

    monkeypatch.setattr(autograd, "_engine", engine)
    with pytest.raises(RuntimeError, match="own card in a process of its own"):
        torch.ones(2, device=weir0, requires_grad=True).sum().backward()
