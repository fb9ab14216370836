"""Queries on another app's tables: an app reads and writes its own, and asks others by their selectors and services.

A foreign manager skips what the owner's selectors hold to: visibility, soft deletion, the order of locks.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from gates.sources import ROOT, parsed, python, text

MANAGERS = {"objects", "plain", "_default_manager", "_base_manager"}
_ASKS = re.compile(rf"\.\s*({'|'.join(MANAGERS)})\b")


def found() -> list[str]:
    """Each use of a foreign manager: `scheduling asks fleet.Node`."""
    return [offence for path in python() for offence in _of(path)]


def _of(path: Path) -> Iterator[str]:
    owner = _owner(path)
    if not owner or not (_ASKS.search(text(path)) and "from apps." in text(path)):
        return
    tree = parsed(path)
    foreign = dict(_foreign(tree, owner))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in MANAGERS:
            value = node.value
            if isinstance(value, ast.Name) and value.id in foreign:
                yield f"{owner} asks {foreign[value.id]}"


def _owner(path: Path) -> str:
    """The app a file belongs to, or `portal`; empty where it is neither."""
    parts = path.relative_to(ROOT).parts
    return parts[1] if parts[0] == "apps" and len(parts) > 2 else parts[0] if parts[0] == "portal" else ""


def _foreign(tree: ast.Module, owner: str) -> Iterator[tuple[str, str]]:
    """Names in this module that were imported from another app, with where they are from."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("apps."):
            app = node.module.split(".")[1]
            if app != owner:
                yield from ((alias.asname or alias.name, f"{app}.{alias.name}") for alias in node.names)


def advice(offence: str) -> str:
    """What to do, in a sentence."""
    app = offence.rsplit(" ", 1)[-1].split(".")[0]
    return f"{offence} by its manager: use or add a selector or service of apps/{app}"
