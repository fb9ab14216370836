"""Sentences kept as English source and figures, and read in the language of whoever reads them."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext


def sentence(msgid: str, params: Mapping[str, Any]) -> str:
    """The sentence in the current language. A parameter that is a part (see `part`) is a sentence of its own."""
    return gettext(msgid) % {name: _shown(value) for name, value in params.items()}


def part(msgid: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A sentence to be kept in JSON, by itself or as a parameter of another; `msgid` is marked with gettext_noop."""
    return {"msgid": msgid, "params": dict(params or {})}


def plain(text: str) -> dict[str, Any]:
    """Words that come from elsewhere, as they are, where a part is wanted."""
    return part("%(text)s", {"text": text})


def is_part(value: object) -> bool:
    """Whether it was made by `part`."""
    return isinstance(value, Mapping) and value.keys() == {"msgid", "params"}


def part_text(value: Any) -> str:
    """What `part` kept, in the current language; empty for what is empty, text as it stands."""
    return str(_shown(value)) if value else ""


def _shown(value: Any) -> Any:
    return sentence(value["msgid"], value["params"]) if is_part(value) else value
