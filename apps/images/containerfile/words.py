"""The words of an instruction: cut as a Containerfile's are, with the variables that stand in them."""

from __future__ import annotations

import re
from collections.abc import Mapping

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BRACED = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)(?::([-+])([^{}]*))?\}")


class NotWords(ValueError):
    """They cannot be told apart; the text says why, in one word of code."""


def name_is_sound(name: str) -> bool:
    """Whether a variable may be called so."""
    return _NAME.fullmatch(name) is not None


def words_of(text: str, known: Mapping[str, str]) -> list[str]:
    """The words of a line: quotes taken away, and each variable replaced by its value in `known`, or by nothing. What a
    variable brings is not cut again. Raises NotWords."""
    found: list[str] = []
    word, quote, is_begun, at = "", "", False, 0
    while at < len(text):
        letter = text[at]
        at += 1
        if quote != "'" and letter == "\\" and at < len(text):
            # Between double quotes it is itself before most letters.
            word += text[at] if not quote or text[at] in '"\\$' else f"\\{text[at]}"
            at, is_begun = at + 1, True
        elif letter in ("'", '"') and quote in ("", letter):
            quote, is_begun = "" if quote else letter, True
        elif letter == "$" and quote != "'":
            value, at = _value(text, at, known)
            word, is_begun = word + value, True
        elif letter.isspace() and not quote:
            if is_begun:
                found.append(word)
            word, is_begun = "", False
        else:
            word, is_begun = word + letter, True
    if quote:
        raise NotWords("quote")
    return [*found, word] if is_begun else found


def _value(text: str, at: int, known: Mapping[str, str]) -> tuple[str, int]:
    if match := _NAME.match(text, at):
        return known.get(match[0], ""), match.end()
    if match := _BRACED.match(text, at):
        value = known.get(match[1], "")
        if match[2] == "-":
            value = value or match[3]
        elif match[2] == "+":
            value = match[3] if value else ""
        return value, match.end()
    if text[at : at + 1] == "{":
        raise NotWords("variable")
    return "$", at
