"""One rank of the tests of torch.distributed: `python distributed_rank.py ACT RANK SIZE MEETING`.

Each act is done on the CPU, where gloo reduces, and on the device, where the sessions do; what differs is printed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
import weir.torch
from torch import nn
from torch.distributed.fsdp import fully_shard
from weir.torch import devices

from tests.sessions.served import served

RANK, SIZE, MEETING = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
PLACES = ("cpu", "weir:0")


def own(length: int, place: str, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(length, generator=torch.Generator().manual_seed(RANK + 1)).to(dtype).to(place)


def compared(name: str, act: Callable[[str], Any], tolerance: float = 0.0) -> None:
    """Print the act's name, and how the device's result differs where it does."""
    here, there = (_plain(act(place)) for place in PLACES)
    is_same = all(
        torch.allclose(a, b, rtol=tolerance, atol=tolerance) for a, b in zip(here, there, strict=True)
    )
    print(name, "same" if is_same else f"differs: {here} {there}", flush=True)


def _plain(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value.detach().cpu()]
    return [one for row in value for one in _plain(row)]


def gathered(place: str) -> Any:
    rooms = [torch.zeros(5, device=place) for _ in range(SIZE)]
    dist.all_gather(rooms, own(5, place))
    return rooms


def spread(act: Callable[..., Any], shape: int, *given: Any, **more: Any) -> Callable[[str], Any]:
    def on(place: str) -> Any:
        room = torch.zeros(shape, device=place)
        act(room, *(one(place) for one in given), **more)
        return room

    return on


def rooted(place: str) -> Any:
    sent, total = own(4, place), own(4, place)
    dist.broadcast(sent, src=SIZE - 1)
    dist.reduce(total, dst=0)
    rooms = [torch.zeros(4, device=place) for _ in range(SIZE)] if RANK == 0 else None
    dist.gather(own(4, place), rooms, dst=0)
    part = torch.zeros(4, device=place)
    dist.scatter(part, rooms, src=0)
    return [sent, total if RANK == 0 else sent, part, *(rooms or [])]


def asked_first(place: str) -> Any:
    """Receives that are asked for before the sends which the other rank waits for."""
    room = torch.zeros(3, device=place)
    wait = dist.irecv(room, (RANK - 1) % SIZE, tag=4)
    total = torch.ones(2, device=place)
    dist.all_reduce(total)
    sent = dist.isend(torch.full((3,), float(RANK), device=place), (RANK + 1) % SIZE, tag=4)
    wait.wait()
    sent.wait()
    more = torch.zeros(3, device=place)
    pair = [
        dist.P2POp(dist.irecv, more, (RANK - 1) % SIZE),
        dist.P2POp(dist.isend, room, (RANK + 1) % SIZE),
    ]
    for work in dist.batch_isend_irecv(pair):
        work.wait()
    return [room, total, more]


def handles(place: str) -> Any:
    x = own(6, place)
    work = dist.all_reduce(x, async_op=True)
    work.wait()
    doubled = x * 2
    (future_value,) = work.get_future().value()
    return [doubled, future_value, torch.tensor(float(work.is_completed()))]


def of_pairs(place: str) -> Any:
    groups = [dist.new_group([0, 1]), dist.new_group(list(range(SIZE)))]
    first, every = own(3, place), own(3, place)
    if RANK < 2:
        dist.all_reduce(first, group=groups[0])
    dist.all_reduce(every, group=groups[1])
    return [first, every]


def every_collective() -> None:
    for op in (dist.ReduceOp.SUM, dist.ReduceOp.PRODUCT, dist.ReduceOp.MIN, dist.ReduceOp.MAX):
        compared(f"all_reduce {op}", lambda place, op=op: _reduced(own(9, place), op), 1e-6)
    for dtype in (torch.float16, torch.bfloat16, torch.int64):
        compared(f"all_reduce {dtype}", lambda place, dtype=dtype: _reduced(own(9, place, dtype)), 2e-2)
    compared("all_gather", gathered)
    compared("all_gather_into_tensor", spread(dist.all_gather_into_tensor, 5 * SIZE, lambda at: own(5, at)))
    compared("reduce_scatter", spread(dist.reduce_scatter_tensor, 5, lambda at: own(5 * SIZE, at)), 1e-6)
    compared("all_to_all", spread(dist.all_to_all_single, 2 * SIZE, lambda at: own(2 * SIZE, at)))
    compared("rooted", rooted, 1e-6)
    compared("asked first", asked_first)
    compared("handles", handles, 1e-6)
    compared("groups", of_pairs, 1e-6)
    average = own(3, "weir:0")
    dist.all_reduce(average, op=dist.ReduceOp.AVG)
    print("average", torch.allclose(average.cpu() * SIZE, _reduced(own(3, "cpu")), atol=1e-6))
    found: list[Any] = [None] * SIZE
    dist.all_gather_object(found, {"rank": RANK})
    print("objects", [row["rank"] for row in found])
    dist.barrier(device_ids=[0])
    dist.barrier()


def _reduced(tensor: torch.Tensor, op: Any = dist.ReduceOp.SUM) -> torch.Tensor:
    dist.all_reduce(tensor, op=op)
    return tensor


def net(place: str) -> nn.Module:
    # The CPU's alone: the session is served within this process, and would seed them anew when it comes to that.
    torch.default_generator.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1)).to(place)


def steps(model: nn.Module, place: str) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    x = torch.randn(6, 4, generator=torch.Generator().manual_seed(RANK)).to(place)
    for _ in range(4):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()


def ddp(place: str) -> Any:
    model = nn.parallel.DistributedDataParallel(net(place), device_ids=None if place == "cpu" else [0])
    steps(model, place)
    return list(model.parameters())


def sharded(place: str) -> Any:
    from torch.distributed.device_mesh import init_device_mesh

    model, mesh = net(place), init_device_mesh(place.split(":")[0], (SIZE,))
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    steps(model, place)
    return [parameter.full_tensor() for parameter in model.parameters()]


def training() -> None:
    device, uploads = devices.get(), []
    compared("ddp", ddp, 1e-6)
    compared("fully_shard", sharded, 1e-5)
    model = nn.parallel.DistributedDataParallel(net("weir:0"))
    x = own(24, "weir:0").reshape(6, 4)
    for _ in range(2):
        # The second one lays out the buckets anew, and tells all ranks how.
        model(x).sum().backward()
    device.requests.clear()
    upload = device.link.upload
    device.link.upload = lambda *words: (uploads.append(words), upload(*words))
    for _ in range(3):
        model(x).sum().backward()
    device.synchronize()
    print("carried by the client", dict(device.requests), len(uploads))


def mistakes() -> None:
    """What goes wrong is said at the line that waits, by the names that PyTorch has for it."""
    with served(quota_mib=64) as other:
        second = weir.torch.attach(other.link())
        dist.all_reduce(torch.ones(2, device="weir:0"))
        for act in (
            lambda: dist.all_reduce(torch.ones(2, device=second)),
            lambda: dist.recv(torch.ones(2, device="weir:0")),
            lambda: dist.all_reduce(torch.ones(2, device="weir:0"), op=dist._make_nccl_premul_sum(2.0)),
        ):
            try:
                act()
                print("went on")
            except (RuntimeError, NotImplementedError) as error:
                print(type(error).__name__, str(error).splitlines()[0])
    dist.destroy_process_group()
    dist.init_process_group(init_method=f"file://{MEETING}-again", rank=RANK, world_size=SIZE)
    print("again", _reduced(torch.ones(1, device="weir:0")).item())
    x = torch.ones(2 + RANK, device="weir:0")
    dist.all_reduce(x)
    try:
        x.cpu()
        print("went on")
    except RuntimeError as error:
        print(type(error).__name__, str(error).splitlines()[0])


def named(backend: str | None) -> None:
    print("default", dist.get_backend_config(), _reduced(torch.ones(2)).tolist(), backend)
    print("device", _reduced(torch.ones(2, device="weir:0")).tolist(), list(devices.get().requests))


def main() -> None:
    torch.set_num_threads(1)
    act, _, backend = sys.argv[1].partition("=")
    with served(quota_mib=128) as session:
        weir.torch.attach(session.link())
        dist.init_process_group(backend or None, init_method=f"file://{MEETING}", rank=RANK, world_size=SIZE)
        acts: dict[str, Callable[[], None]] = {
            "collectives": every_collective,
            "training": training,
            "mistakes": mistakes,
            "named": lambda: named(backend or None),
        }
        acts[act]()
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
