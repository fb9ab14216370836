"""What a job file comes to: a request, the files that travel, and what became of each of its directives."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from weir.errors import WeirClientError

# What says how much of a device a share has: said on the command line it takes the place of the file's.
AMOUNTS = frozenset({"compute_percent", "memory_mib", "spec", "environment", "whole_cards"})


@dataclass(frozen=True, slots=True)
class Directive:
    """One line of a job file. `became` says what it is here; where it is not taken, `why`."""

    text: str
    became: str = ""
    why: str = ""

    @property
    def is_taken(self) -> bool:
        return not self.why


@dataclass
class Job:
    """A job as `POST /workloads` takes it (`request`), with the files that travel and the folder it starts in."""

    request: dict[str, Any] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    workdir: Path | None = None
    waits: bool = False
    # What a task of an array is told its number as, where it comes from.
    index_names: tuple[str, ...] = ()
    directives: list[Directive] = field(default_factory=list)

    def take(self, text: str, **fields: Any) -> None:
        """A directive that is taken, as these fields of the request."""
        self.request |= fields
        self.directives.append(
            Directive(text, ", ".join(f"{name}={_shown(value)}" for name, value in fields.items()))
        )

    def note(self, text: str, became: str) -> None:
        """A directive that is taken otherwise than as a field."""
        self.directives.append(Directive(text, became))

    def leave(self, text: str, why: str) -> None:
        """A directive that is not taken."""
        self.directives.append(Directive(text, why=why))

    def take_array(self, text: str, array: str, *names: str) -> None:
        """It is an array, whose tasks are told their number by the names of where it comes from."""
        self.index_names = names
        self.request["array"] = array
        self.note(text, f"array={array}; its number is in {', '.join(('WEIR_ARRAY_INDEX', *names))}")

    def started(self, argv: list[str]) -> list[str]:
        """How a program is started so that it finds those names; none, an image's own, finds WEIR_ARRAY_INDEX alone."""
        if not (argv and self.index_names):
            return argv
        told = " ".join(f'{name}="$WEIR_ARRAY_INDEX"' for name in self.index_names)
        return ["sh", "-c", f'export {told}; exec "$0" "$@"', *argv]

    @property
    def not_taken(self) -> list[Directive]:
        return [each for each in self.directives if not each.is_taken]

    def merged(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The request with what was said on the command line in the file's place."""
        own = dict(self.request)
        if AMOUNTS & options.keys():
            own = {name: value for name, value in own.items() if name not in AMOUNTS}
        env = {**own.get("env", {}), **options.get("env", {})}
        secrets = list(dict.fromkeys([*own.get("secrets", []), *options.get("secrets", [])]))
        # A variable that is given a value is not taken from the centre's secrets.
        secrets = [name for name in secrets if name not in options.get("env", {})]
        whole = {**own, **options, **({"env": env} if env else {})}
        whole.pop("secrets", None)
        return whole | ({"secrets": secrets} if secrets else {})


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return ",".join(map(str, value))
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


Reader = Callable[[Job, str, str], None]


def words_of(line: str, mark: str) -> list[str]:
    """The words of a directive's line behind its mark, without the comment at its end: a # after a blank, as in a
    shell, and not in a word (`REGISTRY#IMAGE`). Raises WeirClientError."""
    text, quote = line.removeprefix(mark), ""
    for at, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "#" and text[at - 1 : at].isspace():
            text = text[:at]
            break
    try:
        return shlex.split(text)
    except ValueError as error:
        raise WeirClientError(f"{line!r} cannot be read: {error}.", "Close its quotation marks.") from error


def count(text: str, what: str) -> int:
    """A number of at least 1. Raises WeirClientError."""
    if not (text.isdecimal() and int(text) >= 1):
        raise WeirClientError(f"{what} {text!r} is no number.", "Write 1 or more.")
    return int(text)
