"""Whether this machine can serve sessions, told without importing torch (the agent must not pay for it)."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util


@functools.cache
def torch_version() -> str:
    """The installed version of PyTorch as "2.13.0+cpu", or "" where sessions cannot be served."""
    if any(importlib.util.find_spec(name) is None for name in ("torch", "weir_wire", "cryptography")):
        return ""
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return ""


def public_version(version: str) -> str:
    """The part both ends must share: "2.13.0" of "2.13.0+cpu"."""
    return version.partition("+")[0]
