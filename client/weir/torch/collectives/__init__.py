"""torch.distributed over tensors of the device: from session to session, or by way of the processes with gloo."""

from __future__ import annotations

from typing import Any

import torch

from weir.torch.operators import operator_of

NAME = "weir"


def register() -> None:
    """Put the backend in place, and let gloo take the device's tensors too."""
    if not torch.distributed.is_available():
        return
    from weir.torch.collectives import backend, by_processes, operations

    def run(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        group = backend.group_of(args)
        if group is None:
            return by_processes.run(func, args, kwargs)
        return operations.run(group, func, args, kwargs)

    for name in torch._C._dispatch_get_all_op_names():
        if name.startswith("c10d::"):
            packet = getattr(torch.ops.c10d, name.removeprefix("c10d::").partition(".")[0])
            for overload in packet.overloads():
                operator_of(getattr(packet, overload)).special = run
    backend.register()
    by_processes.register()
