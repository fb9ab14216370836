"""What is done to another library when a program imports it: nobody who does not use it waits for it to load."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

Change = Callable[[Any], None]
_changes: dict[str, Change] = {}
# Names whose loaders the other finders are being asked for.
_asked: set[str] = set()


class _Loader(importlib.abc.Loader):
    """Loads as the module's own loader does, and changes the module then."""

    def __init__(self, plain: Any, change: Change) -> None:
        self._plain, self._change = plain, change

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._plain.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        self._plain.exec_module(module)
        self._change(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds what the other finders find."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in _changes or name in _asked:
            return None
        _asked.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            _asked.discard(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, _changes[name])
        return spec


def when_imported(name: str, change: Change) -> None:
    """Call `change` with the module of this name: now where it is loaded, else right after it is."""
    found = sys.modules.get(name)
    if found is not None:
        change(found)
        return
    _changes[name] = change
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
