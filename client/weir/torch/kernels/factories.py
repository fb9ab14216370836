"""Operators that make tensors from nothing: registered for the device one by one, for no tensor brings them here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from weir.torch import devices
from weir.torch.dispatch import forward

# Layouts the device does not hold, and what reads files of this machine.
EXCLUDED = ("sparse", "quant", "from_file", "nested", "Dimname", "mkldnn")


def overloads() -> Iterator[Any]:
    """The aten overloads with a device argument and no tensor, generator or dimension names."""
    for schema in torch._C._jit_get_all_schemas():
        if not schema.name.startswith("aten::") or any(word in str(schema) for word in EXCLUDED):
            continue
        names = {argument.name for argument in schema.arguments}
        types = [str(argument.type) for argument in schema.arguments]
        if not {"device", "pin_memory"} <= names or any("Tensor" in t or "Generator" in t for t in types):
            continue
        packet = getattr(torch.ops.aten, schema.name.removeprefix("aten::"), None)
        func = getattr(packet, schema.overload_name or "default", None)
        if func is not None and not _is_composite(func):
            yield func


def _is_composite(func: Any) -> bool:
    return torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd")


def factory(func: Any) -> Callable[..., Any]:
    """The kernel of one factory: the device named, or the current one; the dtype as this process has it by default."""
    takes_dtype = any(argument.name == "dtype" for argument in func._schema.arguments)

    # Zeros without memory are PyTorch's own trick: the worker makes real ones.
    sent = torch.ops.aten.zeros.default if func is torch.ops.aten._efficientzerotensor.default else func

    def make(*args: Any, **kwargs: Any) -> Any:
        if kwargs.pop("pin_memory", None):
            raise devices.pinning_refused()
        device = devices.get(kwargs.pop("device", None))
        options = {name: value for name, value in kwargs.items() if value is not None}
        if options.get("layout", torch.strided) is not torch.strided:
            raise NotImplementedError("the device weir holds dense (strided) tensors only")
        options.pop("layout", None)
        if takes_dtype and "dtype" not in options:
            options["dtype"] = _default_dtype(func, args, options)
        return forward(sent, args, {**options, "device": device.torch_device}, device)

    return make


_sized_dtypes: dict[Any, Any] = {}


def _default_dtype(func: Any, args: tuple, options: dict[str, Any]) -> torch.dtype:
    """The dtype this process would choose: the worker's default may be another."""
    key = (func, torch.get_default_dtype(), tuple(type(value) for value in args))
    if key not in _sized_dtypes:
        made = func(*args, **options, device=torch.device("meta"))
        _sized_dtypes[key] = made.dtype
    return _sized_dtypes[key]  # type: ignore[no-any-return]


def register(library: torch.library.Library) -> int:
    """Register all; how many."""
    count = 0
    for func in overloads():
        library.impl(func.name().removeprefix("aten::"), factory(func), "PrivateUse1")
        count += 1
    return count
