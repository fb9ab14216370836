"""The saved state of an instance: JSON text, bounded, tied to one definition, free of clock and chance."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workflows.types import DataRefused, Definition, StateRef, StateRefused

STATE_FORMAT = 1
STATE_LIMIT_KIB = 512
DATA_LIMIT_KIB = 64
DATA_DEPTH_LIMIT = 8
NUMBER_LIMIT = 10**18
RESERVED_NAMES = frozenset({"decision", "true", "false", "null"})
UUID_PATTERN = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
FIELDS: Mapping[str, type] = {
    "format": int, "key": str, "sha256": str, "seed": str, "count": int, "ended": list,
    "values": dict, "workflow": dict,
}  # fmt: skip


@dataclass(frozen=True)
class Saved:
    """A state without its definition: `count` task ids were given so far, `ended` names end events."""

    seed: str
    count: int
    ended: tuple[str, ...]
    values: dict[str, Any]
    workflow: dict[str, Any]


def state_ref(state: str) -> StateRef:
    """Which definition, by key and SHA-256 of its file, a saved state needs to go on. Raises StateRefused."""
    fields = _fields(state)
    return StateRef(fields["key"], fields["sha256"])


def state_read(definition: Definition, state: str) -> Saved:
    """The saved state, when it is whole and was started with this very definition. Raises StateRefused."""
    fields = _fields(state)
    if (fields["key"], fields["sha256"]) != (definition.key, definition.sha256):
        raise StateRefused(
            f"The state belongs to version {fields['sha256'][:12]} of {fields['key']}, not to "
            f"{definition.sha256[:12]} of {definition.key}. Load the file it was started with."
        )
    return Saved(
        fields["seed"], fields["count"], tuple(fields["ended"]), fields["values"], fields["workflow"]
    )


def _fields(state: str) -> dict[str, Any]:
    _state_bounded(state)
    try:
        fields = json.loads(state)
    except (ValueError, RecursionError) as error:
        raise StateRefused("The saved state is not JSON. Restore it from a backup or start again.") from error
    whole = isinstance(fields, dict) and all(
        isinstance(fields.get(name), kind) for name, kind in FIELDS.items()
    )
    if not whole or fields["format"] != STATE_FORMAT:
        raise StateRefused("The saved state is incomplete or of another format. Restore it or start again.")
    return dict(fields)


def _state_bounded(state: str) -> None:
    if len(state.encode(errors="replace")) > STATE_LIMIT_KIB * 1024:
        raise StateRefused(
            f"The state is larger than {STATE_LIMIT_KIB} KiB: too many rounds. Start the process anew."
        )


def state_write(definition: Definition, saved: Saved) -> str:
    """The JSON text of a state. Raises StateRefused past the size limit."""
    fields = {
        "format": STATE_FORMAT,
        "key": definition.key,
        "sha256": definition.sha256,
        "seed": saved.seed,
        "count": saved.count,
        "ended": list(saved.ended),
        "values": saved.values,
        "workflow": saved.workflow,
    }
    state = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    _state_bounded(state)
    return state


def renumbered(before: Saved, workflow: dict[str, Any]) -> tuple[dict[str, Any], int, dict[str, str]]:
    """The workflow with its new random task ids replaced by ids derived from seed and count.

    Returns the workflow, the new count and the map from the library's ids to ours.
    """
    text = json.dumps(workflow)
    known = set(UUID_PATTERN.findall(json.dumps(before.workflow)))
    fresh = [one for one in dict.fromkeys(UUID_PATTERN.findall(text)) if one not in known]
    names = {
        one: str(uuid.uuid5(uuid.NAMESPACE_OID, f"{before.seed}:{number}"))
        for number, one in enumerate(fresh, before.count)
    }
    text = UUID_PATTERN.sub(lambda match: names.get(match[0], match[0]), text)
    return json.loads(text), before.count + len(fresh), names


def data_checked(data: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the form's values, when they are bounded plain JSON under free names. Raises DataRefused."""
    for name in data:
        if not isinstance(name, str) or name in RESERVED_NAMES or name.startswith("decision_"):
            raise DataRefused(f"The value name {name!r} is reserved. Rename the field.")
    _plain_check(dict(data), 0)
    text = json.dumps(dict(data), ensure_ascii=False)
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise DataRefused("A text holds broken characters. Enter it again.") from error
    if size > DATA_LIMIT_KIB * 1024:
        raise DataRefused(
            f"The values are larger than {DATA_LIMIT_KIB} KiB. Attach files instead of pasting them."
        )
    copied: dict[str, Any] = json.loads(text)
    return copied


def _plain_check(value: Any, depth: int) -> None:
    if depth > DATA_DEPTH_LIMIT:
        raise DataRefused(f"The values nest deeper than {DATA_DEPTH_LIMIT}. Flatten the form.")
    if isinstance(value, Mapping):
        _mapping_check(value, depth)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _plain_check(item, depth + 1)
    elif isinstance(value, (int, float)) and not abs(value) <= NUMBER_LIMIT:
        raise DataRefused("A number is out of range. Keep it below 10^18.")
    elif value is not None and not isinstance(value, (int, float, str)):
        raise DataRefused(
            f"A value of kind {type(value).__name__} is not plain JSON. Pass numbers, texts or lists."
        )


def _mapping_check(value: Mapping[Any, Any], depth: int) -> None:
    for name, item in value.items():
        if not isinstance(name, str):
            raise DataRefused("A name in the values is not a text. Use texts as names.")
        _plain_check(item, depth + 1)
