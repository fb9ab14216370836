"""Loops of accelerate: what its examples and its guides do, with a model of two layers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

import accelerate
import torch
from accelerate.state import AcceleratorState, GradientState, PartialState
from accelerate.utils import find_executable_batch_size, set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.libraries.comparing import seed
from tests.sessions.databases.comparing import Tally

ROWS, WIDTH, CLASSES = 24, 8, 4
Case = Callable[[str], Any]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(WIDTH, 16), nn.LayerNorm(16), nn.Linear(16, CLASSES)
        self.drop = nn.Dropout(0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.drop(self.norm(self.first(x)).relu()))  # type: ignore[no-any-return]


def begun(place: str, **options: Any) -> accelerate.Accelerator:
    """A new Accelerator, as the first of a process that `weir run` has started."""
    for state in (AcceleratorState, PartialState):
        state._reset_state()
    GradientState._reset_state()
    os.environ["ACCELERATE_TORCH_DEVICE"] = place
    return accelerate.Accelerator(**options)


class Run:
    """Model, optimizer, loader and schedule prepared."""

    def __init__(self, place: str, **options: Any) -> None:
        self.accelerator = begun(place, **options)
        assert self.accelerator.device == torch.device(place), f"accelerate chose {self.accelerator.device}"
        seed(3)
        model = Net()
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        rows = TensorDataset(torch.randn(ROWS, WIDTH), torch.randint(0, CLASSES, (ROWS,)))
        schedule = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=10)
        self.model, self.optimizer, self.loader, self.schedule = self.accelerator.prepare(
            model, optimizer, DataLoader(rows, 5, generator=torch.Generator()), schedule
        )

    def loss(self, rows: Any) -> torch.Tensor:
        return nn.functional.cross_entropy(self.model(rows[0]), rows[1])

    def epoch(self, each: Callable[[], Any] = lambda: None) -> list[torch.Tensor]:
        losses = []
        for rows in self.loader:
            with self.accelerator.accumulate(self.model):
                loss = self.loss(rows)
                self.accelerator.backward(loss)
                each()
                self.optimizer.step()
                self.schedule.step()
                self.optimizer.zero_grad()
            losses.append(loss.detach())
        return losses

    def all(self) -> list[torch.Tensor]:
        return list(self.model.parameters())


def _seeded(run: Run, times: int = 2, each: Callable[[], Any] = lambda: None) -> Any:
    seed(7)
    return [run.epoch(each) for _ in range(times)], run.all()


def plain(place: str) -> Any:
    return _seeded(Run(place))


def accumulated(place: str) -> Any:
    return _seeded(Run(place, gradient_accumulation_steps=3))


def clipped(place: str) -> Any:
    run = Run(place)
    norms: list[Any] = []
    found = _seeded(
        run, 1, lambda: norms.append(run.accelerator.clip_grad_norm_(run.model.parameters(), 0.1))
    )
    return found, norms


def clipped_by_value(place: str) -> Any:
    run = Run(place)
    return _seeded(run, 1, lambda: run.accelerator.clip_grad_value_(run.model.parameters(), 0.01))


def checkpointed(place: str) -> Any:
    """Saved half-way and gone on from there by another."""
    run = Run(place)
    first = _seeded(run, 1)
    with tempfile.TemporaryDirectory() as folder:
        run.accelerator.save_state(folder)
        again = Run(place)
        again.accelerator.load_state(folder)
        loaded = again.all()[0].detach().clone()
        seed(8)
        return first, loaded, again.epoch(), again.all()


def saved_model(place: str) -> Any:
    run = Run(place)
    _seeded(run, 1)
    with tempfile.TemporaryDirectory() as folder:
        run.accelerator.save_model(run.model, folder)
        seed(1)
        fresh = Net().to(place)
        accelerate.load_checkpoint_in_model(fresh, folder)
        state = run.accelerator.get_state_dict(run.model)
        return list(fresh.parameters()), [value.to(place) for value in state.values()]


def evaluated(place: str) -> Any:
    run = Run(place)
    run.model.eval()
    seed(7)
    with torch.no_grad():
        found = [run.accelerator.gather_for_metrics((run.model(x).argmax(-1), y)) for x, y in run.loader]
    reduced = run.accelerator.reduce(torch.ones(3, device=run.accelerator.device), "sum")
    padded = run.accelerator.pad_across_processes(torch.ones(3, device=run.accelerator.device))
    return found, reduced, padded


def skipped(place: str) -> Any:
    run = Run(place)
    return list(run.accelerator.skip_first_batches(run.loader, 2))


def unwrapped(place: str) -> Any:
    run = Run(place)
    bare = run.accelerator.unwrap_model(run.model)
    assert type(bare) is Net
    run.accelerator.wait_for_everyone()
    seed(7)
    with run.accelerator.no_sync(run.model):
        run.accelerator.backward(run.loss(next(iter(run.loader))))
    gradients = [p.grad for p in bare.parameters()]
    freed = run.accelerator.free_memory(run.model, run.optimizer)
    return gradients, freed


def seeded(place: str) -> Any:
    run = Run(place)
    set_seed(11)
    drawn = torch.randn(4, device=run.accelerator.device)
    return drawn, run.epoch()


def halved(place: str) -> Any:
    """A batch that does not fit is halved until it does."""
    run, tried = Run(place), []

    @find_executable_batch_size(starting_batch_size=16)
    def fit(batch_size: int) -> torch.Tensor:
        tried.append(batch_size)
        if batch_size > 4:
            raise RuntimeError("CUDA out of memory.")
        return run.model(torch.ones(batch_size, WIDTH, device=run.accelerator.device))  # type: ignore[no-any-return]

    seed(7)
    return fit(), tried


def dispatched(place: str) -> Any:
    """Layers here and there by a map: what accelerate calls big-model inference."""
    seed(3)
    model = accelerate.dispatch_model(
        Net().eval(),
        device_map={"first": place, "norm": place, "last": place, "drop": place},
        main_device=place,
    )
    return model(torch.ones(2, WIDTH).to(place))


def loaded_by_map(place: str) -> Any:
    seed(3)
    with tempfile.TemporaryDirectory() as folder:
        begun("cpu").save_model(Net(), folder)
        with accelerate.init_empty_weights():
            empty = Net()
        model = accelerate.load_checkpoint_and_dispatch(empty, folder, device_map={"": place}).eval()
        return model(torch.ones(2, WIDTH).to(place)), list(model.parameters())


def offloaded(place: str) -> Any:
    """Parameters that come to the device for their own layer alone."""
    seed(3)
    model = accelerate.cpu_offload(Net().eval(), execution_device=torch.device(place))
    return model(torch.ones(2, WIDTH).to(place)).to(place)


def hooked(place: str) -> Any:
    seed(3)
    model, hook = accelerate.cpu_offload_with_hook(Net().eval(), execution_device=torch.device(place))
    found = model(torch.ones(2, WIDTH).to(place))
    hook.offload()
    return found, [p.device.type for p in model.parameters()]


def local_sgd(place: str) -> Any:
    from accelerate.local_sgd import LocalSGD

    run = Run(place)
    with LocalSGD(accelerator=run.accelerator, model=run.model, local_sgd_steps=2, enabled=True) as local:
        return _seeded(run, 1, local.step)


def triggered(place: str) -> Any:
    run = Run(place)
    run.accelerator.set_trigger()
    return run.accelerator.check_trigger(), run.accelerator.check_trigger()


PROGRAMS: tuple[Case, ...] = (
    plain,
    accumulated,
    clipped,
    clipped_by_value,
    checkpointed,
    saved_model,
    evaluated,
    skipped,
    unwrapped,
    seeded,
    halved,
    dispatched,
    loaded_by_map,
    offloaded,
    hooked,
    local_sgd,
    triggered,
)


def suite(tally: Tally, only: str) -> None:
    """Run the programs whose name holds `only`; of so many, one."""
    for program in PROGRAMS:
        if only in program.__name__ and tally.is_due():
            tally.compare(program.__name__, program)
