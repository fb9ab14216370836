"""Sentences kept as English source and figures, and read in the language of whoever reads them."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import get_language, gettext


def localized(zh: str, en: str) -> str:
    """Of a text that is kept in both languages the one for the reader."""
    return zh if (get_language() or "").startswith("zh") else en


def sentence(msgid: str, params: Mapping[str, Any]) -> str:
    """The sentence in the current language. A parameter that is a message (see `message`) is a sentence of its own."""
    return gettext(msgid) % {name: _shown(value) for name, value in params.items()}


def message(msgid: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A sentence to be kept in JSON, by itself or as a parameter of another; `msgid` is marked with gettext_noop."""
    return {"msgid": msgid, "params": dict(params or {})}


def literal(text: str) -> dict[str, Any]:
    """Words that come from elsewhere, as they are, where a message is wanted."""
    return message("%(text)s", {"text": text})


def is_message(value: object) -> bool:
    """Whether it was made by `message`."""
    return isinstance(value, Mapping) and value.keys() == {"msgid", "params"}


def message_text(value: Any) -> str:
    """What `message` kept, in the current language; empty for what is empty, text as it stands."""
    return str(_shown(value)) if value else ""


def _shown(value: Any) -> Any:
    return sentence(value["msgid"], value["params"]) if is_message(value) else value
