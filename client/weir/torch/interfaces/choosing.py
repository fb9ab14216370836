"""Classes of PyTorch that are written in C and know no devices in Python: made anew where "weir" is meant."""

from __future__ import annotations

from typing import Any

import torch


class Choosing(type):
    """A class that stands in for `plain`: it makes `ours` for the device weir, else a plain one, and says of both
    that they are its instances."""

    plain: Any
    ours: Any

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return (cls.ours if _is_weir(args, kwargs) else cls.plain)(*args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.plain)

    def __subclasscheck__(cls, subclass: Any) -> bool:
        return issubclass(subclass, cls.plain)


def _is_weir(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    device = kwargs.get("device", args[0] if args else None)
    if isinstance(device, (str, torch.device)):
        return torch.device(device).type == "weir"
    return False


def stand_in(name: str, ours: Any) -> None:
    """Let `torch.<name>` make `ours` for the device weir."""
    plain = getattr(torch, name)
    body = {"plain": plain, "ours": ours, "__doc__": plain.__doc__, "__module__": "torch"}
    setattr(torch, name, Choosing(name, (), body))
