"""How a field of a request is asked for on each of its faces: API, form, command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

WORD = 2**31

Kind = Literal["text", "lines", "choice", "count", "flag", "instant", "words", "names", "variables"]
Unit = Literal[
    "", "memory", "cores", "duration", "instant", "signal", "command", "variables", "names", "retries", "file"
]


@dataclass(frozen=True, slots=True)
class Ask:
    """How a field is asked for.

    Attributes:
        kind: what its value is; `lines` is a text of several, `words` is a list of texts, which may be empty, `names`
            one of names, `variables` names with values.
        least, most: of a count its bounds on the wire; of texts the most characters, of words those of each.
        parts: so many words at most.
        choices: of a choice.
        option: what the command line calls it, when not by its name; `short` in a letter.
        help: what the command line says of it; without it there is no option.
        unit: how it is typed on the command line.
        env: the variable of the environment that gives the option.
        label, hint: what the form says of it, in English; without a label the form has no such plain field.
        offered: the bounds of the form; `shown`: what stands there at first.
    """

    kind: Kind
    least: int | None = None
    most: int = 0
    parts: int = 0
    choices: tuple[str, ...] = ()
    option: str = ""
    short: str = ""
    help: str = ""
    unit: Unit = ""
    env: str = ""
    label: str = ""
    hint: str = ""
    offered: tuple[int, int] | None = None
    shown: int | None = None


def text(most: int, **more: Any) -> Mapping[str, Ask]:
    """A text of at most so many characters."""
    return {"ask": Ask("text", most=most, **more)}


def lines(most: int, **more: Any) -> Mapping[str, Ask]:
    """A text of several lines, of at most so many characters; the command line reads it from a file."""
    return {"ask": Ask("lines", most=most, unit="file", **more)}


def count(least: int = -WORD, most: int = WORD, **more: Any) -> Mapping[str, Ask]:
    """A whole number between bounds."""
    return {"ask": Ask("count", least, most, **more)}


def flag(**more: Any) -> Mapping[str, Ask]:
    """Yes or no."""
    return {"ask": Ask("flag", **more)}


def instant(**more: Any) -> Mapping[str, Ask]:
    """A moment."""
    return {"ask": Ask("instant", **more)}


def words(most: int, parts: int, **more: Any) -> Mapping[str, Ask]:
    """Texts, each of at most so many characters, and so many of them at most."""
    return {"ask": Ask("words", most=most, parts=parts, **more)}


def names(most: int = 64, parts: int = 256, **more: Any) -> Mapping[str, Ask]:
    """What something is called: other work, where nothing else is said."""
    return {"ask": Ask("names", most=most, parts=parts, unit="names", **more)}
