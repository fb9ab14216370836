"""YAML as plain values, with the line on which each stands. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import yaml
from django.utils.translation import gettext as _

MOST_BYTES = 1 << 20
MOST_DEPTH = 24
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_KINDS = frozenset({"str", "int", "float", "bool", "null", "timestamp", "value"})
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
_NUMBER = re.compile(r"[-+]?[0-9]{1,18}\.[0-9]{1,18}")
_OPENING = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
_CLOSING = (yaml.MappingEndEvent, yaml.SequenceEndEvent)

Path = tuple[str | int, ...]


class NotYaml(Exception):
    """What no file of settings is: a line, counted from 1, its cause and its cure."""

    def __init__(self, line: int, cause: str, cure: str) -> None:
        super().__init__(cause)
        self.line, self.cause, self.cure = line, cause, cure


@dataclass(frozen=True)
class Document:
    """One document. `lines`: the line of each value by its path, () being the document."""

    value: Any
    lines: dict[Path, int]
    line: int

    def line_of(self, path: Path) -> int:
        """The line of what stands at the path, or of the nearest thing around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, self.line)

    def under(self, *path: str | int) -> "Document":
        """What stands at the path, as a document of its own."""
        value, count = self.value, len(path)
        for name in path:
            value = value[name]
        lines = {each[count:]: line for each, line in self.lines.items() if each[:count] == path}
        return Document(value, lines, self.line_of(path))


def documents(text: str, *, after: int = 0) -> list[Document]:
    """The documents of a text that begins after so many lines of a file.

    Numbers are whole or exact decimals, never binary fractions. Raises NotYaml: aliases, tags of one's own and a name
    that is given twice are refused, not only what cannot be read.
    """
    if len(text.encode(errors="replace")) > MOST_BYTES:
        raise NotYaml(1 + after, _("The file is larger than 1 MiB."), _("Divide it."))
    try:
        _shape_check(text, after)
        return [_document(node, after) for node in yaml.compose_all(text, Loader=_LOADER) if node is not None]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = (mark.line if mark else 0) + 1 + after
        raise NotYaml(
            line, f"{error.problem or error.context}", _("Correct the YAML of this line.")
        ) from error
    except (yaml.YAMLError, UnicodeError) as error:
        raise NotYaml(1 + after, _("It is no text of YAML."), _("Save it as UTF-8 text.")) from error


def _shape_check(text: str, after: int) -> None:
    """Depth and aliases, looked at before anything is built of them."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        depth += isinstance(event, _OPENING) - isinstance(event, _CLOSING)
        if isinstance(event, yaml.AliasEvent) or depth > MOST_DEPTH:
            raise NotYaml(
                event.start_mark.line + 1 + after,
                _("Aliases and deep nesting are not read."),
                _("Write each queue out."),
            )


def _document(node: yaml.Node, after: int) -> Document:
    lines: dict[Path, int] = {}
    value = _value(node, (), lines, after)
    return Document(value, lines, node.start_mark.line + 1 + after)


def _value(node: yaml.Node, path: Path, lines: dict[Path, int], after: int) -> Any:
    lines.setdefault(path, node.start_mark.line + 1 + after)
    if isinstance(node, yaml.SequenceNode):
        return [_value(each, (*path, index), lines, after) for index, each in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        found = {}
        for name, line, each in _pairs(node, after):
            lines[*path, name] = line
            found[name] = _value(each, (*path, name), lines, after)
        return found
    return _scalar(node, after)


def _pairs(node: yaml.MappingNode, after: int) -> Iterator[tuple[str, int, yaml.Node]]:
    seen = set()
    for key, value in node.value:
        line = key.start_mark.line + 1 + after
        if not isinstance(key, yaml.ScalarNode):
            raise NotYaml(line, _("The name of a setting is a word."), _("Write NAME: VALUE."))
        if key.value in seen:
            raise NotYaml(line, _("%(name)s is given twice.") % {"name": key.value}, _("Take one away."))
        seen.add(key.value)
        yield key.value, line, value


def _scalar(node: yaml.ScalarNode, after: int) -> Any:
    kind = node.tag.removeprefix(_TAG)
    if kind not in _KINDS:
        raise NotYaml(
            node.start_mark.line + 1 + after,
            _("%(tag)s is a tag of its own.") % {"tag": node.tag},
            _("Write the plain value."),
        )
    if kind == "null":
        return None
    if kind == "bool":
        return node.value.lower() in ("yes", "true", "on", "y")
    if kind in ("int", "float"):
        return _number(node.value)
    return node.value


def _number(text: str) -> int | Decimal | str:
    """Octal, sexagesimal and the like stay text: nobody means them in a file of queues."""
    if _WHOLE.fullmatch(text):
        return int(text)
    return Decimal(text) if _NUMBER.fullmatch(text) else text
