"""Errors of every origin below backward, each twice, in a process of its own: prints what arrived as JSON.

PyTorch aborts the process where a Python device lets such an error pass: an abort here fails the test that runs this.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import torch
import weir.torch
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint

from node_agent.sessions.execution.core import Session
from tests.sessions.inprocess import InProcessLink

QUOTA_MIB = 64
CASES: dict[str, Callable[[torch.device], None]] = {}


def case(function: Callable[[torch.device], None]) -> Callable[[torch.device], None]:
    CASES[function.__name__] = function
    return function


def fails(*_: Any) -> None:
    raise KeyError("mine")


def weight(device: torch.device) -> torch.Tensor:
    return torch.ones(3, device=device, requires_grad=True)


class Failing(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        raise KeyError("mine")


class Mistaken(Failing):
    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        return grad @ torch.ones(7, 7, device=grad.device)


@case
def tensor_hook(device: torch.device) -> None:
    w = weight(device)
    w.register_hook(fails)
    (w * 2).sum().backward()


@case
def accumulation_hook(device: torch.device) -> None:
    w = weight(device)
    w.register_post_accumulate_grad_hook(fails)
    (w * 2).sum().backward()


@case
def node_hook(device: torch.device) -> None:
    y = weight(device) * 2
    y.grad_fn.register_hook(fails)  # type: ignore[union-attr]
    y.sum().backward()


@case
def node_prehook(device: torch.device) -> None:
    y = weight(device) * 2
    y.grad_fn.register_prehook(fails)  # type: ignore[union-attr]
    y.sum().backward()


@case
def module_hook(device: torch.device) -> None:
    model = torch.nn.Linear(3, 3).to(device)
    model.register_full_backward_hook(fails)
    model(torch.ones(2, 3, device=device, requires_grad=True)).sum().backward()


@case
def saved_tensor_hook(device: torch.device) -> None:
    w = weight(device)
    with saved_tensors_hooks(lambda x: x, fails):
        y = (w * w).sum()
    y.backward()


@case
def custom_function(device: torch.device) -> None:
    Failing.apply(weight(device)).sum().backward()


@case
def wrong_shape_in_function(device: torch.device) -> None:
    Mistaken.apply(weight(device)).sum().backward()


def _recompute(device: torch.device, *, use_reentrant: bool) -> None:
    calls = []

    def layer(x: torch.Tensor) -> torch.Tensor:
        calls.append(x)
        if len(calls) > 1:
            raise KeyError("mine")
        return (x * x).sum()

    checkpoint(layer, weight(device), use_reentrant=use_reentrant).backward()


@case
def checkpoint_recompute(device: torch.device) -> None:
    _recompute(device, use_reentrant=False)


@case
def reentrant_recompute(device: torch.device) -> None:
    _recompute(device, use_reentrant=True)


@case
def memory_in_backward(device: torch.device) -> None:
    w = torch.ones(1024, 1024, device=device, requires_grad=True)
    y = w.exp().sum()
    kept = torch.empty(53 << 18, device=device)
    y.backward()
    del kept


@case
def memory_in_checkpoint(device: torch.device) -> None:
    w = torch.ones(1024, 1024, device=device, requires_grad=True)
    y = checkpoint(lambda x: (x.exp() * x.sin()).sum(), w, use_reentrant=False)
    kept = torch.empty(55 << 18, device=device)
    torch.autograd.grad(y, w)
    del kept


def what_arrives(function: Callable[[torch.device], None], device: torch.device) -> str:
    try:
        function(device)
    except Exception as error:
        return type(error).__name__
    return "nothing"


def main() -> None:
    found: dict[str, list[str]] = {}
    for index in range(2):
        device = weir.torch.attach(InProcessLink(Session("cpu", QUOTA_MIB)))
        for name, function in CASES.items():
            found.setdefault(name, []).append(what_arrives(function, device))
            assert (torch.ones(2, device=device) * 2).tolist() == [2, 2], (name, index)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
