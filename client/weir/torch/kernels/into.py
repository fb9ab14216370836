"""Operators that write to a tensor that is given, where PyTorch's own code does so by way of a tensor that grows, which
the device has not, or leaves a wrapper's elements as they were (matrix_rank): computed first, copied then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

PACKETS = (
    "linalg_cholesky",
    "linalg_det",
    "linalg_inv",
    "linalg_ldl_factor",
    "linalg_lu_factor",
    "linalg_matrix_rank",
    "linalg_slogdet",
    "linalg_solve",
    "linalg_solve_ex",
    "log_sigmoid",
    "msort",
)


def _kernel(packet: Any, written: list[str]) -> Callable[..., Any]:
    def into(*args: Any, **kwargs: Any) -> Any:
        targets = [kwargs.pop(name) for name in written]
        with torch.no_grad():
            result = packet(*args, **kwargs)
            found = [result] if isinstance(result, torch.Tensor) else list(result)
            for target, value in zip(targets, found, strict=True):
                if target.shape != value.shape:
                    raise RuntimeError(
                        f"{packet}: out has shape {list(target.shape)}, the result {list(value.shape)}:"
                        " a tensor of the device weir cannot be resized, allocate it so"
                    )
                target.copy_(value)
        return targets[0] if len(targets) == 1 else tuple(targets)

    return into


def register(library: Any) -> None:
    for name in PACKETS:
        packet = getattr(torch.ops.aten, name)
        for overload in packet.overloads():
            schema = getattr(packet, overload)._schema
            written = [one.name for one in schema.arguments if one.is_out]
            if written:
                for key in ("AutogradPrivateUse1", "PrivateUse1"):
                    library.impl(f"{name}.{overload}", _kernel(packet, written), key)
