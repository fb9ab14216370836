"""What was examined: versions, nodes and devices, as the portal itself tells them."""

import platform
import sys
from importlib import metadata
from typing import Any

from weir import ApiError, Client

_PACKAGES = ("Django", "torch", "cryptography")


def inventory_of(operator: Client, url: str) -> dict[str, Any]:
    """Versions of every part, the nodes and their devices; simulated ones are named so."""
    return {
        "address": url,
        "versions": _versions(),
        "components": _components(operator),
        "nodes": [_node(row) for row in operator.all("nodes")],
        "devices": [_device(row) for row in operator.all("devices")],
    }


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "system": platform.platform()}
    for name in _PACKAGES:
        try:
            found[name.lower()] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name.lower()] = ""
    return found | {"implementation": sys.implementation.name}


def _components(operator: Client) -> list[dict[str, Any]]:
    try:
        return list(operator.all("components"))
    except ApiError:
        return []


def _node(row: dict[str, Any]) -> dict[str, Any]:
    names = ("uid", "name", "state", "hostname", "os", "cpu_count", "memory_mib", "agent_version", "address")
    return {name: row.get(name) for name in names}


def _device(row: dict[str, Any]) -> dict[str, Any]:
    names = (
        "uid", "node", "index", "vendor", "model", "memory_mib", "cores", "driver_version", "is_simulated",
        "is_enabled", "is_sliced", "is_verified", "health", "apis",
    )  # fmt: skip
    return {name: row.get(name) for name in names}
