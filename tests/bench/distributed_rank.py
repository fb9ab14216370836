"""One rank of tests/bench/test_distributed.py: a worker of its own, a client behind a line that counts and delays.

`python -m tests.bench.distributed_rank BACKEND RANK DELAY_S MEETING`
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F
import weir.torch
from torch import nn
from weir.link.remote import RemoteLink

from tests.sessions.models import GPT
from tests.sessions.proxy import Proxy
from tests.sessions.workers import Worker, workers

WARM, ROUNDS, STEPS = 3, 4, 3


def main() -> None:
    backend, rank, delay_s, meeting = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder, workers(Path(folder)) as make:
        worker = make("bench", memory_mib=2048, is_started=True)
        line = Proxy(worker.wait(lambda found: found["port"])["port"], delay_s=delay_s)
        weir.torch.attach(_linked(worker, line.port))
        dist.init_process_group(backend, init_method=f"file://{meeting}", rank=rank, world_size=2)
        torch.manual_seed(0)
        model = nn.parallel.DistributedDataParallel(
            GPT(width=384, layers=6, length=64, words=512, dropout=0.0).to("weir:0")
        )
        train(model, WARM)
        carried, times = line.carried_bytes, []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            train(model, STEPS)
            times.append((time.perf_counter() - began) / STEPS * 1e3)
        mib = (line.carried_bytes - carried) / (ROUNDS * STEPS) / (1 << 20)
        print(f"step {min(times):.1f} ms, client {mib:.3f} MiB", flush=True)
        dist.barrier()
        weir.torch.detach(0)
        line.close()


def _linked(worker: Worker, port: int) -> RemoteLink:
    status = worker.status()
    return RemoteLink("127.0.0.1", port, status["fingerprint"], worker.wish["token"], is_local=False)


def train(model: nn.Module, steps: int) -> None:
    """So many steps; the loss is read at the end of them all."""
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    words = torch.randint(0, 512, (8, 64), generator=torch.Generator().manual_seed(1))
    for _ in range(steps):
        x, y = words.to("weir:0"), words.roll(-1, 1).to("weir:0")
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x).flatten(0, -2), y.flatten())
        loss.backward()
        optimizer.step()
    loss.item()


if __name__ == "__main__":
    main()
