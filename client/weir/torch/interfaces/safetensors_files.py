"""safetensors reads files by code that knows a list of devices: for this one it reads into this process, and what was
read is sent."""

from __future__ import annotations

from typing import Any

import torch

from weir.torch import devices
from weir.torch.interfaces import imports


class _Slice:
    """A part of a tensor in a file, sent when it is taken."""

    def __init__(self, plain: Any, place: torch.device) -> None:
        self._plain, self._place = plain, place

    def __getitem__(self, item: Any) -> torch.Tensor:
        return self._plain[item].to(self._place)  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)


class _Opened:
    """An open file whose tensors go to the device."""

    def __init__(self, plain: Any, place: torch.device) -> None:
        self._plain, self._place = plain, place

    def __enter__(self) -> _Opened:
        self._plain.__enter__()
        return self

    def __exit__(self, *error: object) -> Any:
        return self._plain.__exit__(*error)

    def get_tensor(self, name: str) -> torch.Tensor:
        return self._plain.get_tensor(name).to(self._place)  # type: ignore[no-any-return]

    def get_slice(self, name: str) -> _Slice:
        return _Slice(self._plain.get_slice(name), self._place)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)


def _place(device: Any) -> torch.device | None:
    """The device of ours that is meant, None where another is."""
    if not isinstance(device, (str, torch.device)) or not str(device).startswith("weir"):
        return None
    return torch.device("weir", devices.index_of(device))


def _change(module: Any) -> None:
    plain = module.safe_open

    def safe_open(filename: Any, framework: str, device: Any = "cpu", **options: Any) -> Any:
        place = _place(device)
        if place is None:
            return plain(filename, framework, device=device, **options)
        return _Opened(plain(filename, framework, device="cpu", **options), place)

    safe_open.__doc__ = plain.__doc__
    module.safe_open = safe_open


def register() -> None:
    imports.when_imported("safetensors", _change)
