"""What PyTorch computes on the card itself, in a process that has no device weir.

PyTorch knows one kind of accelerator a process: beside the device weir nothing is derived backwards on a card.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from tests.sessions.models import GPT, Recurrent, cnn, mlp, train

CARD = "cuda:0"
# Models by name: functions of no name cannot be sent to another process.
MODELS: dict[str, tuple[Callable[[], nn.Module], str]] = {
    "mlp": (mlp, "flat"),
    "cnn": (cnn, "image"),
    "gpt": (GPT, "words"),
    "gpt again": (lambda: GPT(is_checkpointed=True), "words"),
    "lstm": (lambda: Recurrent(nn.LSTM), "rows"),
    "gru": (lambda: Recurrent(nn.GRU), "rows"),
    "rnn": (lambda: Recurrent(nn.RNN), "rows"),
}


@cache
def _process() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, get_context("spawn"))


def on_card(task: Callable[..., Any], *arguments: Any) -> Any:
    """Run a task of this module on the card, in the other process."""
    return _process().submit(task, *arguments, CARD).result(timeout=300)


def losses(name: str, steps: int, autocast: torch.dtype | None, place: Any) -> list[float]:
    """Of some steps of a model."""
    make, kind = MODELS[name]
    return train(make, kind, place, steps=steps, autocast=autocast)[0]


def attention(dtype: torch.dtype, mask: str, place: Any) -> list[torch.Tensor]:
    """Of random rows: the result and the three gradients."""
    torch.manual_seed(0)
    rows = torch.randn(3, 2, 8, 128, 64).to(dtype)
    bias = torch.randn(2, 1, 128, 128).to(dtype).to(place) if mask == "given" else None
    query, key, value = (row.to(place).requires_grad_() for row in rows.clone())
    out = F.scaled_dot_product_attention(query, key, value, bias, is_causal=mask == "causal")
    out.float().square().sum().backward()
    return [one.detach().float().cpu() for one in (out, query.grad, key.grad, value.grad)]


def drawn(place: Any) -> list[torch.Tensor]:
    """Random numbers of every kind."""
    torch.manual_seed(3)
    rows = [torch.randn(1000, device=place), torch.rand(7, device=place), torch.randperm(50, device=place)]
    rows.append(F.dropout(torch.ones(4096, device=place), 0.3))
    rows.append(torch.bernoulli(torch.full((512,), 0.3, device=place)))
    return [row.cpu() for row in rows]


def curve(steps: int, place: Any) -> list[torch.Tensor]:
    """A computation whose every step depends on all before it, and on random numbers."""
    return [row.cpu() for row in _curve(steps, place)]


def _curve(steps: int, place: Any) -> Any:
    torch.manual_seed(5)
    a = torch.randn(64, 64, device=place)
    for _ in range(steps):
        a = a + torch.tanh(a @ torch.rand(64, 64, device=place))
        yield a


class Training:
    """One model, optimizer and batch on one device."""

    def __init__(self, name: str, place: Any) -> None:
        make, rows, self.is_mixed, self.steps, _limit = CASES[name]
        torch.manual_seed(0)
        self.model, self.place = make().to(place), torch.device(place)
        self.data = [one.to(place) for one in rows()]
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)

    def run(self) -> float:
        """Seconds of a step, the loss read at the end of them all."""
        x, y = self.data
        start = time.perf_counter()
        for _ in range(self.steps):
            self.optimizer.zero_grad()
            with torch.autocast(self.place.type, dtype=torch.bfloat16, enabled=self.is_mixed):
                loss = F.cross_entropy(self.model(x).flatten(0, -2), y.flatten())
            loss.backward()
            self.optimizer.step()
        loss.item()
        return (time.perf_counter() - start) / self.steps


def words(rows: int, length: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randint(0, count, (rows, length))
    return x, x.roll(-1, 1)


def _small() -> nn.Module:
    return GPT(width=384, layers=6, length=64, words=512, dropout=0.0)


def _large() -> nn.Module:
    return GPT(width=768, layers=12, length=512, words=50304, dropout=0.0)


# Model, batch, whether in bfloat16, steps, and how many times as long a session may take.
CASES: dict[str, tuple[Callable[[], nn.Module], Callable[[], Any], bool, int, float]] = {
    "MLP, 64 rows": (mlp, lambda: (torch.randn(64, 784), torch.randint(0, 10, (64,))), False, 50, 2.5),
    "GPT of 10.9 M, 8 x 64 words": (_small, lambda: words(8, 64, 512), False, 20, 4.0),
    "GPT of 10.9 M, 64 x 64 words, bfloat16": (_small, lambda: words(64, 64, 512), True, 20, 4.0),
    "GPT of 124 M, 8 x 512 words, bfloat16": (_large, lambda: words(8, 512, 50304), True, 10, 4.0),
    "GPT of 124 M, 32 x 512 words, bfloat16": (_large, lambda: words(32, 512, 50304), True, 5, 2.5),
}
_trainings: dict[str, Training] = {}


def timed(name: str, place: Any) -> float:
    """Seconds of a step; the first call of a name warms it up."""
    if name not in _trainings:
        _trainings.clear()
        torch.cuda.empty_cache()
        _trainings[name] = Training(name, place)
        _trainings[name].run()
    return _trainings[name].run()


def figures(place: Any) -> dict[str, float]:
    """How many operators, reads and bytes a second."""
    wait = torch.cuda.synchronize if place == CARD else (lambda: torch.weir.synchronize(place))  # type: ignore[attr-defined]
    x, y, one = (torch.ones(*shape, device=place) for shape in ((16, 16), (16, 16), (1,)))
    data = torch.ones(32 << 20)
    there, back = data.to(place), torch.empty_like(data)
    return {
        "additions a second": _rate(lambda: x + y, 5000, wait),
        "item() a second": _rate(one.item, 500, wait),
        "upload MiB/s": 128 * _rate(lambda: data.to(place), 6, wait),
        "download MiB/s": 128 * _rate(lambda: back.copy_(there), 6, wait),
    }


def _rate(run: Callable[[], Any], count: int, wait: Callable[[], Any]) -> float:
    run()
    wait()
    start = time.perf_counter()
    for _ in range(count):
        run()
    wait()
    return count / (time.perf_counter() - start)
