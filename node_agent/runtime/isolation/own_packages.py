"""The folder from which a work can import our own packages and nothing else of the agent's environment."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

PACKAGES = ("node_agent", "weir_wire")


def own_packages_link(path: Path) -> Path:
    """A folder of links to our packages; one that is not installed is left out. Raises OSError."""
    path.mkdir(parents=True, exist_ok=True)
    for name in PACKAGES:
        source = _source(name)
        if source is not None:
            _link(path / name, source)
    return path


def _source(name: str) -> Path | None:
    if name == "node_agent":
        return Path(__file__).resolve().parents[2]
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).resolve().parent if spec is not None and spec.origin else None


def _link(link: Path, source: Path) -> None:
    if link.is_symlink() and link.resolve() == source:
        return
    draft = link.with_name(f".{link.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    draft.symlink_to(source)
    draft.replace(link)
