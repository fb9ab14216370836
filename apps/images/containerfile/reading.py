"""The text of a Containerfile as its instructions: lines joined, comments gone, flags and JSON forms told apart."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _

TEXT_MAX_BYTES = 16 * 1024
_DIRECTIVE = re.compile(r"#\s*([a-zA-Z]+)\s*=\s*(.*?)\s*\Z")
_FLAG = re.compile(r"--([a-z][a-z-]*)(?:=(\S*))?(?:\s+|\Z)")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction, from the line `line` on: its `word` in capitals, its `flags`, the `rest` as it was written, and
    `words` where that is a list of JSON."""

    line: int
    word: str
    flags: dict[str, str]
    rest: str
    words: tuple[str, ...] | None = None

    @property
    def text(self) -> str:
        """As it was written, for people."""
        flags = [f"--{name}={value}" if value else f"--{name}" for name, value in self.flags.items()]
        return " ".join((self.word, *flags, self.rest)).strip()


@dataclass(frozen=True, slots=True)
class Trouble:
    """What is not taken of a line, and what to do about it."""

    line: int
    cause: str
    cure: str = ""

    def __str__(self) -> str:
        said = _("Line %(line)s: %(cause)s") % {"line": self.line, "cause": self.cause}
        return f"{said} {self.cure}".strip()


def instructions_read(text: str) -> tuple[list[Instruction], list[Trouble]]:
    """What a Containerfile asks for, in its order, and what of it is none."""
    if len(text.encode()) > TEXT_MAX_BYTES:
        cause = _("A Containerfile holds at most %(most)s KiB.") % {"most": TEXT_MAX_BYTES // 1024}
        return [], [
            Trouble(1, cause, _("Put long scripts into files of the context, and COPY and RUN them."))
        ]
    if "\0" in text:
        return [], [Trouble(1, _("This is no text."))]
    found: list[Instruction] = []
    troubles: list[Trouble] = []
    lines = text.replace("\r\n", "\n").split("\n")
    troubles.extend(_directives(lines))
    for line, joined in _joined(lines):
        word, _space, rest = joined.partition(" ")
        flags: dict[str, str] = {}
        rest = rest.strip()
        while match := _FLAG.match(rest):
            flags[match[1]] = match[2] or ""
            rest = rest[match.end() :]
        found.append(Instruction(line, word.upper(), flags, rest, _list_of(rest)))
    return found, troubles


def _directives(lines: list[str]) -> Iterator[Trouble]:
    for number, line in enumerate(lines, 1):
        match = _DIRECTIVE.fullmatch(line.strip())
        if match is None:
            return
        if match[1].lower() == "escape" and match[2] != "\\":
            yield Trouble(number, _("Lines are continued by \\ here."), _("Take the directive out."))


def _joined(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Each instruction in one line, and on which it begins. Comments and empty lines within one are none of it."""
    begin, held = 0, ""
    for number, line in enumerate(lines, 1):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        begin = begin or number
        if bare.endswith("\\"):
            held += f"{bare[:-1].rstrip()} "
            continue
        yield begin, _spaced(held + bare)
        begin, held = 0, ""
    if held.strip():
        yield begin, _spaced(held.strip())


def _spaced(line: str) -> str:
    """With one blank after its first word, whatever stands there."""
    word, *rest = line.split(None, 1)
    return " ".join((word, *rest))


def _list_of(rest: str) -> tuple[str, ...] | None:
    if not rest.startswith("["):
        return None
    try:
        found = json.loads(rest)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list) or not all(isinstance(word, str) for word in found):
        return None
    return tuple(found)
