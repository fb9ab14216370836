"""PyTorch's own database of optimizers (optim_db) against the device, as its test_optim derives tests of it."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from torch.testing._internal.common_optimizers import optim_db

from tests.sessions.databases.comparing import Tally, seed

STEPS = 4
FLAGS = ("foreach", "fused", "differentiable")


class Sample:
    """One optimizer with one set of options."""

    def __init__(self, info: Any, options: dict[str, Any]) -> None:
        self.info, self.options = info, options

    def model(self, place: str, dtype: torch.dtype) -> nn.Module:
        """Its parameters are what is optimised: matrices alone where the optimizer takes no others."""
        seed(3)
        has_bias = self.info.optim_cls.__name__ != "Muon"
        if self.info.only_supports_sparse_grads:
            made: nn.Module = nn.Embedding(10, 5, sparse=True)
        else:
            made = nn.Sequential(nn.Linear(5, 10, bias=has_bias), nn.Tanh(), nn.Linear(10, 3, bias=has_bias))
        return made.to(place, dtype)

    def optimizer(self, parameters: Any) -> Any:
        return self.info.optim_cls(parameters, **copy.deepcopy(self.options))


def trained(sample: Sample, model: nn.Module, optimizer: Any, place: str, steps: int = STEPS) -> None:
    """Some steps, with a closure where the optimizer asks for one."""
    weight = next(model.parameters())
    seed(5)
    rows = (
        torch.randint(0, 10, (4,)) if isinstance(model, nn.Embedding) else torch.randn(4, 5).to(weight.dtype)
    )
    rows = rows.to(place)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        result = model(rows)
        loss = (result * result.conj()).real.sum()
        loss.backward()
        return loss

    for _ in range(steps):
        if sample.info.step_requires_closure:
            optimizer.step(closure)
        else:
            closure()
            with torch.set_grad_enabled(bool(optimizer.defaults.get("differentiable"))):
                _step(optimizer)


def _step(optimizer: Any) -> None:
    """A differentiable step writes to its parameters under autograd: they must be no leaves there."""
    if not optimizer.defaults.get("differentiable"):
        optimizer.step()
        return
    leaves = [p for group in optimizer.param_groups for p in group["params"]]
    for leaf in leaves:
        leaf.requires_grad_(False)
    optimizer.step()
    for leaf in leaves:
        leaf.requires_grad_(True)


def shown(model: nn.Module, optimizer: Any) -> Any:
    """The parameters, and the optimizer's tensors that are as large as they."""
    states = [
        {name: value for name, value in kept.items() if isinstance(value, torch.Tensor) and value.dim()}
        for kept in optimizer.state.values()
    ]
    steps = [float(kept["step"]) for kept in optimizer.state.values() if "step" in kept]
    return list(model.parameters()), states, steps


def steps(sample: Sample, place: str, dtype: torch.dtype = torch.float32) -> Any:
    """Some steps."""
    model = sample.model(place, dtype)
    optimizer = sample.optimizer(model.parameters())
    trained(sample, model, optimizer, place)
    return shown(model, optimizer)


def steps_in_float64(sample: Sample, place: str) -> Any:
    """Some steps of float64."""
    return steps(sample, place, torch.float64)


def steps_in_bfloat16(sample: Sample, place: str) -> Any:
    """Some steps of bfloat16, where the options say which implementation: each rounds in its own way."""
    if not set(flags_of(sample.info)) <= set(sample.options):
        raise NotImplementedError
    if sample.options.get("fused") and sample.options.get("momentum"):
        # PyTorch's fused SGD of the CPU is off by itself in the last elements of a row.
        raise NotImplementedError
    return steps(sample, place, torch.bfloat16)


def complex_steps(sample: Sample, place: str) -> Any:
    """Some steps of complex parameters."""
    return steps(sample, place, torch.complex64)


def saved(sample: Sample, place: str) -> Any:
    """Its state dict through a file into another optimizer, which goes on."""
    model = sample.model(place, torch.float32)
    optimizer = sample.optimizer(model.parameters())
    trained(sample, model, optimizer, place)
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    file.seek(0)
    other = sample.optimizer(model.parameters())
    other.load_state_dict(torch.load(file, weights_only=True))
    trained(sample, model, other, place)
    return shown(model, other)


def brought(sample: Sample, place: str) -> Any:
    """A state dict of the CPU goes on at the place of the parameters."""
    model = sample.model("cpu", torch.float32)
    optimizer = sample.optimizer(model.parameters())
    trained(sample, model, optimizer, "cpu")
    model.to(place)
    other = sample.optimizer(model.parameters())
    other.load_state_dict(optimizer.state_dict())
    trained(sample, model, other, place)
    return shown(model, other)


def copied(sample: Sample, place: str) -> Any:
    """A deep copy of model and optimizer together goes on."""
    model = sample.model(place, torch.float32)
    optimizer = sample.optimizer(model.parameters())
    trained(sample, model, optimizer, place)
    model, optimizer = copy.deepcopy((model, optimizer))
    trained(sample, model, optimizer, place)
    return shown(model, optimizer)


def grouped(sample: Sample, place: str) -> Any:
    """Parameters in two groups with a rate of their own, the second added later."""
    model = sample.model(place, torch.float32)
    first, *rest = model.parameters()
    optimizer = sample.optimizer([first])
    optimizer.add_param_group({"params": rest, "lr": 0.003})
    trained(sample, model, optimizer, place)
    return shown(model, optimizer)


def scheduled(sample: Sample, place: str) -> Any:
    """With the database's schedulers of the learning rate."""
    found = []
    for makers in sample.info.scheduler_inputs:
        model = sample.model(place, torch.float32)
        optimizer = sample.optimizer(model.parameters())
        schedulers = [make(optimizer) for make in makers]
        for _ in range(STEPS):
            trained(sample, model, optimizer, place, 1)
            for scheduler in schedulers:
                needs_loss = isinstance(scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau)
                scheduler.step(*([1.0] if needs_loss else []))
        found.append(shown(model, optimizer))
    return found


def sparsely(sample: Sample, place: str) -> Any:
    """With sparse gradients, where the optimizer takes them."""
    if not sample.info.supports_sparse:
        raise NotImplementedError
    seed(3)
    model = nn.Embedding(10, 5, sparse=True).to(place)
    optimizer = sample.optimizer(model.parameters())
    trained(sample, model, optimizer, place)
    return shown(model, optimizer)


def scaled(sample: Sample, place: str) -> Any:
    """Under a GradScaler and autocast to bfloat16."""
    if sample.info.step_requires_closure or sample.info.only_supports_sparse_grads:
        raise NotImplementedError
    kind = torch.device(place).type
    model = sample.model(place, torch.float32)
    optimizer = sample.optimizer(model.parameters())
    scaler = torch.amp.GradScaler(kind, init_scale=8.0)
    seed(5)
    rows = torch.randn(4, 5).to(place)
    for _ in range(STEPS):
        optimizer.zero_grad()
        with torch.autocast(kind, torch.bfloat16, enabled=False):
            loss = model(rows).square().sum()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return shown(model, optimizer), scaler.get_scale()


CHECKS: tuple[Callable[[Sample, str], Any], ...] = (
    steps,
    steps_in_float64,
    steps_in_bfloat16,
    complex_steps,
    saved,
    brought,
    copied,
    grouped,
    scheduled,
    sparsely,
    scaled,
)


def _samples(info: Any) -> Iterator[Sample]:
    """The database's options, plain and with each of the implementations that the optimizer has."""
    for given in info.optim_inputs_func("cpu"):
        yield Sample(info, given.kwargs)
        plain = dict.fromkeys(flags_of(info), False)
        for chosen in (plain, *({**plain, flag: True} for flag in plain)):
            if chosen:
                yield Sample(info, {**given.kwargs, **chosen})


def flags_of(info: Any) -> tuple[str, ...]:
    """The options that choose among the optimizer's implementations."""
    return tuple(flag for flag in FLAGS if flag in info.supported_impls)


def suite(tally: Tally, only: str) -> None:
    """Run every check on every optimizer whose name holds `only`."""
    for info in optim_db:
        name = info.optim_cls.__name__
        if only not in name:
            continue
        for sample in _samples(info):
            for check in CHECKS:
                if tally.is_due():
                    tally.compare(
                        f"{name} {check.__name__} {sample.options}",
                        lambda place, case=(check, sample): case[0](case[1], place),
                    )
