"""The operators of torch.distributed, as what a group is asked.

A session runs everything in the order it was sent: what is recorded after a collective has its result. So a handle is
ready at once, as a card's is for the stream, and waiting for it waits for nothing. Two are not: a barrier waits, and
what `irecv` receives is asked for when somebody waits for it, so that sends recorded meanwhile go first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from weir.torch.collectives.group import Group

_c10d: Any = torch._C._distributed_c10d
_Op = _c10d.ReduceOp.RedOpType
_REDUCTIONS = {
    _Op.SUM: "sum",
    _Op.AVG: "avg",
    _Op.PRODUCT: "product",
    _Op.MIN: "min",
    _Op.MAX: "max",
    _Op.BAND: "band",
    _Op.BOR: "bor",
    _Op.BXOR: "bxor",
}
Tensors = Sequence[torch.Tensor]
_Pg = Any


def run(group: Group, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run one of c10d's operators. Raises NotImplementedError for one that sessions do not know."""
    name = func._schema.name.removeprefix("c10d::")
    operation = _OPERATIONS.get(name)
    if operation is None:
        raise NotImplementedError(
            f'{name} is not among the collectives of sessions: a group of init_process_group("gloo") has it'
        )
    return operation(group, *args, **kwargs)


def _ready(tensors: Tensors) -> Any:
    future: Any = torch.futures.Future()
    future.set_result(list(tensors))
    return _c10d._create_work_from_future(future).boxed()


def _on_wait(act: Callable[[], None]) -> Any:
    """A handle that does something the first time it is waited for."""
    waits = [act]

    def wait(_timeout: Any) -> bool:
        while waits:
            waits.pop()()
        return True

    return _c10d.PythonCallbackWork(wait).boxed()


def _reduction(op: Any) -> str:
    found = _REDUCTIONS.get(op.op())
    if found is None:
        raise NotImplementedError("sessions reduce by sum, average, product, minimum, maximum and bitwise")
    return found


# --- the operators, with the arguments of their schemas


def _allreduce(
    group: Group, tensors: Tensors, _pg: _Pg, op: Any, sparse: Any, _async: bool = True, timeout: int = -1
) -> Any:
    if sparse is not None:
        raise NotImplementedError("sessions reduce dense tensors")
    return tensors, _allreduce_coalesced(group, tensors, _pg, op, _async, timeout)


def _allreduce_coalesced(
    group: Group, tensors: Tensors, _pg: _Pg, op: Any, _async: bool = True, timeout: int = -1
) -> Any:
    group.ask("all_reduce", [], tensors, timeout, reduce=_reduction(op))
    return _ready(tensors)


def _broadcast(
    group: Group, tensors: Tensors, _pg: _Pg, root: int, _at: int, _async: bool = True, timeout: int = -1
) -> Any:
    group.ask("broadcast", [], tensors, timeout, root=root)
    return tensors, _ready(tensors)


def _reduce(
    group: Group,
    tensors: Tensors,
    _pg: _Pg,
    op: Any,
    root: int,
    _at: int,
    _async: bool = True,
    timeout: int = -1,
) -> Any:
    group.ask("reduce", [], tensors, timeout, reduce=_reduction(op), root=root)
    return _ready(tensors)


def _allgather(
    group: Group, outs: Sequence[Tensors], ins: Tensors, _pg: _Pg, _async: bool = True, timeout: int = -1
) -> Any:
    for row, one in zip(outs, ins, strict=True):
        group.ask("all_gather", [one], row, timeout)
    return outs, _ready([one for row in outs for one in row])


def _allgather_lists(
    group: Group, outs: Sequence[Tensors], ins: Tensors, _pg: _Pg, _async: bool = True
) -> Any:
    # Its lists are by rank, then by tensor.
    return _allgather(group, list(zip(*outs, strict=True)), ins, _pg)[1]


def _allgather_base(
    group: Group, out: torch.Tensor, one: torch.Tensor, _pg: _Pg, _async: bool = True, timeout: int = -1
) -> Any:
    group.ask("all_gather", [one], [out], timeout)
    return out, _ready([out])


def _allgather_into(group: Group, outs: Tensors, ins: Tensors, _pg: _Pg, _async: bool = True) -> Any:
    for out, one in zip(outs, ins, strict=True):
        group.ask("all_gather", [one], [out])
    return _ready(outs)


def _reduce_scatter(
    group: Group,
    outs: Tensors,
    ins: Sequence[Tensors],
    _pg: _Pg,
    op: Any,
    _async: bool = True,
    timeout: int = -1,
) -> Any:
    for one, row in zip(outs, ins, strict=True):
        group.ask("reduce_scatter", row, [one], timeout, reduce=_reduction(op))
    return outs, _ready(outs)


def _reduce_scatter_base(
    group: Group,
    out: torch.Tensor,
    one: torch.Tensor,
    _pg: _Pg,
    op: Any,
    _async: bool = True,
    timeout: int = -1,
) -> Any:
    return out, _reduce_scatter_into(group, [out], [one], _pg, op, _async, timeout)


def _reduce_scatter_into(
    group: Group, outs: Tensors, ins: Tensors, _pg: _Pg, op: Any, _async: bool = True, timeout: int = -1
) -> Any:
    for out, one in zip(outs, ins, strict=True):
        group.ask("reduce_scatter", [one], [out], timeout, reduce=_reduction(op))
    return _ready(outs)


def _gather(
    group: Group,
    outs: Sequence[Tensors],
    ins: Tensors,
    _pg: _Pg,
    root: int,
    _async: bool = True,
    timeout: int = -1,
) -> Any:
    rows = [one for row in outs for one in row] if group.rank == root else []
    group.ask("gather", ins, rows, timeout, root=root)
    return _ready(rows)


def _scatter(
    group: Group,
    outs: Tensors,
    ins: Sequence[Tensors],
    _pg: _Pg,
    root: int,
    _async: bool = True,
    timeout: int = -1,
) -> Any:
    rows = [one for row in ins for one in row] if group.rank == root else []
    group.ask("scatter", rows, outs, timeout, root=root)
    return outs, _ready(outs)


def _alltoall(
    group: Group, outs: Tensors, ins: Tensors, _pg: _Pg, _async: bool = True, timeout: int = -1
) -> Any:
    group.ask("all_to_all", ins, outs, timeout)
    return outs, _ready(outs)


def _alltoall_base(
    group: Group,
    out: torch.Tensor,
    one: torch.Tensor,
    _pg: _Pg,
    out_splits: Sequence[int],
    in_splits: Sequence[int],
    _async: bool = True,
    timeout: int = -1,
) -> Any:
    splits = {"in_splits": _elements(one, in_splits), "out_splits": _elements(out, out_splits)}
    group.ask("all_to_all", [one], [out], timeout, **splits)
    return _ready([out])


def _elements(tensor: torch.Tensor, splits: Sequence[int]) -> list[int]:
    """Splits of the first dimension as numbers of elements."""
    if not splits:
        return []
    row = tensor[0].numel() if len(tensor) else 0
    return [count * row for count in splits]


def _barrier(
    group: Group, tensor: torch.Tensor, _pg: _Pg, _devices: Any, _async: bool = True, timeout: int = -1
) -> Any:
    device = group.ask("barrier", [], [], timeout)
    return _on_wait(device.synchronize)


def _send(group: Group, tensors: Tensors, _pg: _Pg, to: int, tag: int) -> Any:
    group.ask("send", tensors, [], root=to, tag=tag)
    return _ready(tensors)


def _recv(group: Group, tensors: Tensors, _pg: _Pg, source: int, tag: int) -> Any:
    def ask() -> None:
        group.ask("recv", [], tensors, root=source, tag=tag)

    return _on_wait(ask)


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "allreduce_": _allreduce,
    "allreduce_coalesced_": _allreduce_coalesced,
    "broadcast_": _broadcast,
    "reduce_": _reduce,
    "allgather_": _allgather,
    "allgather_coalesced_": _allgather_lists,
    "_allgather_base_": _allgather_base,
    "allgather_into_tensor_coalesced_": _allgather_into,
    "reduce_scatter_": _reduce_scatter,
    "_reduce_scatter_base_": _reduce_scatter_base,
    "reduce_scatter_tensor_coalesced_": _reduce_scatter_into,
    "gather_": _gather,
    "scatter_": _scatter,
    "alltoall_": _alltoall,
    "alltoall_base_": _alltoall_base,
    "barrier": _barrier,
    "send": _send,
    "recv_": _recv,
}
