"""The remote device against the CPU here, one thread each, in one run: `make bench` prints, the limits are ratios.

A worker of its own process computes on the other core, with the same kernels.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the device weir needs PyTorch")

import torch.nn.functional as F  # noqa: E402
import weir.torch  # noqa: E402
from torch import nn  # noqa: E402
from weir.torch import devices  # noqa: E402

from tests.sessions.models import GPT, mlp  # noqa: E402
from tests.sessions.workers import workers  # noqa: E402

ROUNDS, STEPS = 4, 4
GPT_LIMIT, MLP_LIMIT = 1.05, 1.5
# What one operator may cost this process, in microseconds of its own time.
CLIENT_LIMIT_US = 25.0


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[torch.device]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with workers(tmp_path_factory.mktemp("bench")) as make:
        worker = make("bench", memory_mib=4096, is_started=True)
        yield weir.torch.attach(worker.link())
        for attached in devices.attached():
            weir.torch.detach(attached.index)
    torch.set_num_threads(threads)


def gpt_10m() -> nn.Module:
    return GPT(width=384, layers=6, length=64, words=512, dropout=0.0)


class Training:
    """One model, optimizer and batch on one device."""

    def __init__(
        self, make: Callable[[], nn.Module], data: tuple[torch.Tensor, torch.Tensor], place: Any
    ) -> None:
        torch.manual_seed(0)
        self.model = make().to(place)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.data, self.place = data, place

    def run(self, steps: int) -> float:
        """Seconds of a step, the loss read at the end of them all."""
        start = time.perf_counter()
        for _ in range(steps):
            x, y = (tensor.to(self.place) for tensor in self.data)
            self.optimizer.zero_grad()
            loss = F.cross_entropy(self.model(x).flatten(0, -2), y.flatten())
            loss.backward()
            self.optimizer.step()
        loss.item()
        return (time.perf_counter() - start) / steps


def compare(
    make: Callable[[], nn.Module], data: tuple, device: torch.device, steps: int
) -> tuple[float, float]:
    """Milliseconds of a step here and there: rounds alternate, the best of each counts on a busy machine."""
    here, there = Training(make, data, "cpu"), Training(make, data, device)
    here.run(2)
    there.run(2)
    devices.get(device).requests.clear()
    times = [(here.run(steps), there.run(steps)) for _ in range(ROUNDS)]
    assert devices.get(device).requests == {"READ": ROUNDS}
    return tuple(min(column) * 1e3 for column in zip(*times, strict=True))  # type: ignore[return-value]


def test_a_gpt_of_ten_million_parameters(device, capsys):
    assert 10e6 < sum(p.numel() for p in gpt_10m().parameters()) < 12e6
    words = torch.randint(0, 512, (8, 64))
    here, there = compare(gpt_10m, (words, words.roll(-1, 1)), device, STEPS)
    with capsys.disabled():
        print(f"\nGPT 10 M: local {here:.1f} ms, weir {there:.1f} ms a step: {there / here:.2f} times")
    assert there <= here * GPT_LIMIT


def test_a_small_mlp(device, capsys):
    data = (torch.randn(64, 784), torch.randint(0, 10, (64,)))
    here, there = compare(mlp, data, device, 40)
    with capsys.disabled():
        print(f"\nMLP: local {here:.2f} ms, weir {there:.2f} ms a step: {there / here:.2f} times")
    assert there <= here * MLP_LIMIT


def client_us(run: Callable[[], Any], device: torch.device) -> float:
    """Median microseconds of this process's own time for one operator."""
    taken = []
    for _ in range(20):
        start = time.thread_time()
        for _ in range(100):
            run()
        taken.append((time.thread_time() - start) / 100)
        weir.torch.synchronize(device)
    return statistics.median(taken) * 1e6


def test_what_an_operator_costs_the_client(device, capsys):
    x, y = torch.ones(16, 16, device=device), torch.ones(16, 16, device=device)
    many = [torch.ones(16, 16, device=device) for _ in range(20)]
    costs = {
        "add": client_us(lambda: x + y, device),
        "mul by a number": client_us(lambda: x * 0.5, device),
        "mm": client_us(lambda: x @ y, device),
        "view": client_us(lambda: x.view(256), device),
        "foreach_add_ of 20": client_us(lambda: torch._foreach_add_(many, 1.0), device),
    }
    with capsys.disabled():
        print("\nclient µs an operator: " + ", ".join(f"{name} {us:.1f}" for name, us in costs.items()))
    assert max(costs.values()) < CLIENT_LIMIT_US


def test_reads_and_uploads(device, capsys):
    x = torch.ones(1, device=device)
    x.item()
    start = time.perf_counter()
    for _ in range(200):
        x.item()
    trip_us = (time.perf_counter() - start) / 200 * 1e6
    data = torch.ones(16 << 20)
    remote = data.to(device)
    rates = []
    for move in (lambda: data.to(device), lambda: remote.cpu()):
        weir.torch.synchronize(device)
        start = time.perf_counter()
        move()
        weir.torch.synchronize(device)
        rates.append(64 / (time.perf_counter() - start))
    with capsys.disabled():
        print(f"\nitem() {trip_us:.0f} µs, upload {rates[0]:.0f} MiB/s, download {rates[1]:.0f} MiB/s")
    assert trip_us < 10_000
