"""Operators that are not simply sent: they end here, move bytes, or change what the wrapper itself says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from weir.torch import devices, transfer
from weir.torch.device import handle_of
from weir.torch.dispatch import forward
from weir.torch.operators import Special, operator_of
from weir.torch.tensor import RemoteTensor, wrap_same

aten = torch.ops.aten
# Said by the caller of _to_copy, of no meaning to the worker.
LOCAL_OPTIONS = frozenset({"device", "layout", "pin_memory", "non_blocking"})
IN_PLACE_VIEWS = ("t_", "transpose_", "squeeze_", "unsqueeze_", "swapaxes_", "swapdims_", "as_strided_")


def special(*names: str) -> Callable[[Special], Special]:
    """Handle these aten overloads by this function."""

    def note(function: Special) -> Special:
        for name in names:
            base, _, overload = name.partition(".")
            operator_of(getattr(getattr(aten, base), overload or "default")).special = function
        return function

    return note


@special("detach", "alias", "lift_fresh", "lift")
def same_storage(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Another tensor on the same handle: the worker need not know."""
    return wrap_same(args[0])


@special("_local_scalar_dense")
def scalar(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return transfer.download(args[0]).item()


def local_scalar(tensor: torch.Tensor) -> Any:
    """`scalar` where it comes without the Python key, as in torch.tensor([loss, loss])."""
    return transfer.download(tensor).item()


@special("view_as_real")
def view_as_real(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Conjugation is a view at the worker, which this wrapper does not know of: resolved where there is one."""
    return forward(func, (forward(aten.resolve_conj.default, args, {}),), kwargs)


@special("histc")
def histc(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Of whole numbers too, as on other devices: a session on a CPU counts floats alone."""
    kind = args[0].dtype
    if kind.is_floating_point:
        return forward(func, args, kwargs)
    return forward(func, (args[0].double(), *args[1:]), kwargs).to(kind)


@special("is_same_size")
def is_same_size(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return bool(args[0].shape == args[1].shape)


@special("is_pinned")
def is_pinned(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return False


@special("_has_compatible_shallow_copy_type")
def has_one_kind(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether `a.data = b` can be done in place; asked of operators under inference mode alone."""
    return type(args[0]) is type(args[1])


@special("_nested_tensor_from_mask_left_aligned")
def has_no_nested_tensors(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a padded batch may be run as nested tensors, as nn.TransformerEncoder asks: no."""
    return False


@special("record_stream")
def record_stream(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """A session has one stream: nothing to record."""


@special(
    "empty_like",
    "full_like",
    "ones_like",
    "zeros_like",
    "rand_like",
    "randn_like",
    "randint_like",
    "randint_like.low_dtype",
    "new_empty",
    "new_empty_strided",
    "new_full",
    "new_ones",
    "new_zeros",
)
def made_like(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A new tensor laid out as one of the device, there or where `device` says: the elements play no part."""
    place, meta = kwargs.get("device"), args[0]._remote.meta
    if place is not None and (place.type != "weir" or devices.get(place) is not args[0]._remote.device):
        return func(meta.shadow(), *args[1:], **kwargs)
    if kwargs.get("pin_memory"):
        raise devices.pinning_refused()
    return forward(func, args, kwargs)


@special("_to_copy")
def to_copy(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`x.to(device, dtype)`: stays remote where the device stays."""
    source, device = args[0], kwargs.get("device")
    options = {n: v for n, v in kwargs.items() if n not in LOCAL_OPTIONS and v is not None}
    target = devices.get(device) if device is not None and device.type == "weir" else None
    if device is None or target is source._remote.device:
        return forward(func, args, options)
    if kwargs.get("pin_memory"):
        raise devices.pinning_refused()
    return transfer.to_copy(source, device, target).to(**options)


@special("copy_")
def copy_(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Into a tensor of the device, or from one into a CPU tensor."""
    target, source = args[0], args[1]
    if not isinstance(target, RemoteTensor):
        return target.copy_(transfer.download(source))
    if isinstance(source, RemoteTensor) and source._remote.device is not target._remote.device:
        source = transfer.download(source)
    if not isinstance(source, RemoteTensor):
        if source.device.type != "cpu":
            source = source.cpu()
        if transfer.replace_contents(target, source):
            return target
        source = transfer.upload(source, target._remote.device)
    forward(aten.copy_.default, (target, source), {})
    return target


@special(
    "resize_",
    "resize_as_",
    "set_",
    "set_.source_Tensor",
    "set_.source_Tensor_storage_offset",
    "set_.source_Storage",
)
def refuse_resize(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A wrapper cannot change its storage; resizing to the size it has is nothing."""
    if func is aten.resize_.default and tuple(args[1]) == tuple(args[0].shape):
        return args[0]
    raise RuntimeError(
        f"{func}: tensors on the device weir cannot be resized or given another storage: make a new one"
    )


@special("set_.source_Storage_storage_offset")
def set_storage(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """How torch.load rebuilds a tensor of a CPU checkpoint whose map_location is a weir device."""
    from weir.torch.interfaces import serialization

    return serialization.set_storage(*args)


def _in_place_view(func: Any) -> Special:
    """The functional view at the worker, then the same change on the wrapper."""
    functional = _functional_of(func)

    def run(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        target = args[0]
        viewed = forward(functional, args, kwargs)
        with torch.utils._mode_utils.no_dispatch():
            before = torch._C._meta_in_tls_dispatch_include()
            torch._C._set_meta_in_tls_dispatch_include(True)
            try:
                func(*args, **kwargs)
            finally:
                torch._C._set_meta_in_tls_dispatch_include(before)
        target._remote = handle_of(viewed)
        return target

    return run


def _functional_of(func: Any) -> Any:
    """The overload of the operator without underscore that takes the same arguments."""
    name = func._schema.name.removeprefix("aten::").removesuffix("_")
    packet = getattr(aten, name)
    wanted = [(a.name, str(a.type)) for a in func._schema.arguments]
    for overload in packet.overloads():
        found = getattr(packet, overload)
        if [(a.name, str(a.type)) for a in found._schema.arguments] == wanted:
            return found
    raise LookupError(f"no functional form of {func}")


def register_in_place_views() -> None:
    """Enter every overload of the in-place metadata operators that PyTorch has."""
    for name in IN_PLACE_VIEWS:
        packet = getattr(aten, name)
        for overload in packet.overloads():
            func = getattr(packet, overload)
            if "Dimname" not in str(func._schema):
                operator_of(func).special = _in_place_view(func)
