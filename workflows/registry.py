"""The processes that ship with the system: one file per key in `definitions/`, versioned by its content."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from workflows.engine import NO_HANDLERS, load
from workflows.types import Definition, WorkflowError

DEFINITIONS_PATH = Path(__file__).parent / "definitions"


class DefinitionUnknown(WorkflowError):
    """No process has that key."""

    code = "definition_unknown"


def definition_get(
    key: str, *, folder: Path = DEFINITIONS_PATH, handlers: frozenset[str] = NO_HANDLERS
) -> Definition:
    """The shipped process of that key in its present version. Raises DefinitionUnknown, BpmnRefused."""
    keys = _keys(folder)
    if key not in keys:
        raise DefinitionUnknown(
            f"There is no process {key!r}. Choose one of: {', '.join(keys) or 'none yet'}."
        )
    return _loaded((folder / f"{key}.bpmn").read_bytes(), key, handlers)


def definition_list(
    *, folder: Path = DEFINITIONS_PATH, handlers: frozenset[str] = NO_HANDLERS
) -> tuple[Definition, ...]:
    """All shipped processes, ordered by key."""
    return tuple(definition_get(key, folder=folder, handlers=handlers) for key in _keys(folder))


def _keys(folder: Path) -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in folder.glob("*.bpmn")))


@lru_cache(maxsize=64)
def _loaded(xml: bytes, key: str, handlers: frozenset[str]) -> Definition:
    return load(xml, key=key, handlers=handlers)
