"""Sparse tensors of the device: sessions hold dense ones, so their elements stay in this process.

What an operator makes of them is computed here, by PyTorch's own kernels for the CPU; dense results go to the
device. Right everywhere, quick nowhere: for the odd sparse matrix of a script that is dense otherwise.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_map

from weir.torch import devices, transfer
from weir.torch.tensor import RemoteTensor

_make = torch.Tensor._make_wrapper_subclass
# Say where a result shall be, which is decided here.
_PLACES = frozenset({"device", "pin_memory", "non_blocking"})
# Dense operators of the device whose result is sparse, so that they run here as well.
_MAKERS = (
    "_to_sparse",
    "_to_sparse_csr",
    "_to_sparse_csc",
    "_to_sparse_bsr",
    "_to_sparse_bsc",
    "_sparse_coo_tensor_unsafe",
    "_sparse_coo_tensor_with_dims",
    "_sparse_coo_tensor_with_dims_and_tensors",
    "_sparse_compressed_tensor_unsafe",
    "_sparse_csr_tensor_unsafe",
    "sparse_mask",
)


class SparseTensor(torch.Tensor):
    """A sparse tensor that says it is on the device; `_held` is where its elements are."""

    _held: torch.Tensor

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        return run(func, args, kwargs or {})

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return f"{repr(self._held)[:-1]}, device='{self.device}')"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise NotImplementedError("a sparse tensor of the device weir is not saved as it is: save x.cpu()")

    def __deepcopy__(self, memo: dict[int, Any]) -> torch.Tensor:
        return memo.setdefault(id(self), self.detach().clone().requires_grad_(self.requires_grad))


_OURS = (SparseTensor, RemoteTensor)


def wrap_sparse(held: torch.Tensor, device: torch.device) -> SparseTensor:
    """A sparse tensor of this process as one of the device."""
    made = _make(
        SparseTensor, held.shape, dtype=held.dtype, layout=held.layout, device=device, dispatch_layout=True
    )
    made._held = held
    return made


def run(func: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Run an operator with a sparse tensor among its arguments, or its result, in this process."""
    if func is torch.ops.prim.layout.default:
        return args[0]._held.layout
    place = _place(args, kwargs)
    here = {name: value for name, value in kwargs.items() if name not in _PLACES}
    if func.namespace == "aten" and "device" in {a.name for a in func._schema.arguments}:
        here["device"] = torch.device("cpu")
    mine, named = tree_map(_brought, (args, here))
    result = func(*mine, **named)
    _written_back(func, args, mine)
    same = {id(brought): own for own, brought in zip(args, mine, strict=True)}
    return tree_map(lambda x: same[id(x)] if id(x) in same else _sent(x, place), result)


def _place(args: tuple, kwargs: dict[str, Any]) -> torch.device:
    """Where the results belong: where the caller says, else with the first tensor of the device."""
    wanted = kwargs.get("device")
    if wanted is not None:
        return torch.device(wanted)
    found: list[torch.device] = []
    tree_map(lambda x: found.append(x.device) if isinstance(x, _OURS) else None, (args, kwargs))
    return found[0]


def _brought(value: Any) -> Any:
    if isinstance(value, SparseTensor):
        return value._held
    if isinstance(value, RemoteTensor):
        return transfer.download(value)
    return torch.device("cpu") if isinstance(value, torch.device) else value


def _sent(value: Any, place: torch.device) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    if place.type != "weir":
        return value.to(place)
    if value.layout is torch.strided:
        return transfer.upload(value, devices.get(place))
    return wrap_sparse(value, place)


def _written_back(func: Any, args: tuple, mine: tuple) -> None:
    """An operator that writes to a dense tensor of the device has written to its copy here."""
    for own, brought, argument in zip(args, mine, func._schema.arguments, strict=False):
        alias = argument.alias_info
        if isinstance(own, RemoteTensor) and alias is not None and alias.is_write:
            own.copy_(brought)


def _empty(size: Any, **options: Any) -> SparseTensor:
    """An empty sparse tensor on the device: what copies of sparse tensors begin with."""
    place = torch.device("weir", devices.get(options.pop("device", None)).index)
    options.pop("pin_memory", None)
    return wrap_sparse(torch.ops.aten.empty.memory_format(size, **options, device="cpu"), place)


def register(library: torch.library.Library) -> None:
    """Let operators that make sparse tensors on the device make these."""
    from weir.torch.operators import operator_of

    for name in _MAKERS:
        packet = getattr(torch.ops.aten, name)
        for overload in packet.overloads():
            func = getattr(packet, overload)
            if not overload.endswith("out"):
                operator_of(func).special = run
    for key in ("SparsePrivateUse1", "SparseCsrPrivateUse1"):
        library.impl("empty.memory_format", _empty, key)
