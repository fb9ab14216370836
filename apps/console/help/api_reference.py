"""The API's description (docs/openapi.yaml) as pages: its operations by what they are about, each with its fields."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from django.conf import settings

from apps.kernel.errors import NotFound

_METHODS = ("get", "post", "put", "patch", "delete")
# A schema within a schema is written out this deep.
_DEPTH = 3
_SUCCESS = ("200", "201", "202", "204")


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter, or a field of what is sent or answered; `name` says where in it (`lines[].amounts`)."""

    name: str
    kind: str
    is_required: bool
    text: str


@dataclass(frozen=True, slots=True)
class Operation:
    """One call: what it takes, what it answers, and an example of what is sent as JSON."""

    id: str
    group: str
    method: str
    path: str
    text: str
    parameters: tuple[Field, ...]
    sent: tuple[Field, ...]
    answered: tuple[Field, ...]
    status: str
    example: str

    @property
    def summary(self) -> str:
        """Its first sentence."""
        return self.text.partition("\n")[0].split(". ")[0].rstrip(".")

    @property
    def anchor(self) -> str:
        return self.id.replace("_", "-")

    @property
    def short_path(self) -> str:
        """As `weir api` and the client take it."""
        return self.path.removeprefix("/api/v1/")

    @property
    def is_read(self) -> bool:
        return self.method == "get"

    @property
    def path_names(self) -> list[str]:
        return [part.strip("{}") for part in self.path.split("/") if part.startswith("{")]


@dataclass(frozen=True, slots=True)
class Group:
    """The operations about one kind of thing."""

    name: str
    operations: tuple[Operation, ...]

    @property
    def title(self) -> str:
        return self.name.replace("-", " ").capitalize()


def groups() -> tuple[Group, ...]:
    """All of them, by name."""
    path: Path = settings.WEIR_DOCS / "openapi.yaml"
    return _kept(path, path.stat().st_mtime_ns)


def group_get(name: str) -> Group:
    """The group of that name.

    Raises:
        NotFound: there is none.
    """
    for group in groups():
        if group.name == name:
            return group
    raise NotFound()


def operations_found(question: str) -> list[Operation]:
    """The operations in whose path or text all words of the question stand."""
    words = question.casefold().split()
    return [
        one
        for group in groups()
        for one in group.operations
        if words and all(word in f"{one.method} {one.path} {one.text}".casefold() for word in words)
    ]


@lru_cache(maxsize=1)
def _kept(path: Path, changed_ns: int) -> tuple[Group, ...]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    description = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
    found: dict[str, list[Operation]] = {}
    for operation in _operations(description):
        found.setdefault(operation.group, []).append(operation)
    return tuple(Group(name, tuple(found[name])) for name in sorted(found))


def _operations(description: Mapping[str, Any]) -> Iterator[Operation]:
    schemas = _Schemas(description["components"]["schemas"])
    for path, methods in description["paths"].items():
        for method in _METHODS:
            if method in methods:
                yield _operation(path, method, methods[method], schemas)


def _operation(path: str, method: str, said: Mapping[str, Any], schemas: "_Schemas") -> Operation:
    sent = _schema_of(said.get("requestBody", {}))
    status = next((code for code in _SUCCESS if code in said["responses"]), "")
    answered = _schema_of(said["responses"].get(status, {}))
    return Operation(
        id=said["operationId"],
        group=said["tags"][0],
        method=method,
        path=path,
        text=said.get("description", "").strip(),
        parameters=tuple(map(_parameter, said.get("parameters", ()))),
        sent=tuple(schemas.fields(sent)),
        answered=tuple(schemas.fields(answered)),
        status=status,
        example=json.dumps(schemas.example(sent), indent=2, ensure_ascii=False) if sent else "",
    )


def _schema_of(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of JSON, else of whatever else is sent."""
    content = body.get("content", {})
    found: Mapping[str, Any] = content.get("application/json") or next(iter(content.values()), {})
    return found.get("schema") or {}


def _parameter(said: Mapping[str, Any]) -> Field:
    is_needed = said.get("required", False)
    return Field(said["name"], _kind(said.get("schema", {})), is_needed, _words(said.get("description", "")))


def _words(text: str) -> str:
    """A description without the list of what a field may be: its kind says that."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("* `")).strip()


def _kind(schema: Mapping[str, Any]) -> str:
    """The type in a few words: `integer`, `string (uuid)`, `draft | listed`."""
    if "enum" in schema:
        return " | ".join(json.dumps(one, ensure_ascii=False).strip('"') for one in schema["enum"])
    if schema.get("type") == "array":
        return f"{_kind(schema.get('items', {}))}[]"
    kind = str(schema.get("type", "object"))
    return f"{kind} ({schema['format']})" if "format" in schema else kind


class _Schemas:
    """The named schemas, followed to a bounded depth: some hold themselves."""

    def __init__(self, named: Mapping[str, Any]) -> None:
        self._named = named

    def fields(self, schema: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterator[Field]:
        whole = self._whole(schema)
        if whole.get("type") == "array":
            yield from self.fields(whole.get("items", {}), f"{prefix}[]", depth)
            return
        needed = whole.get("required", ())
        for name, one in whole.get("properties", {}).items():
            part = self._whole(one)
            place = f"{prefix}.{name}".lstrip(".")
            yield Field(place, self._kind(part), name in needed, _words(part.get("description", "")))
            if depth + 1 < _DEPTH and self._has_fields(part):
                yield from self.fields(part, place, depth + 1)

    def example(self, schema: Mapping[str, Any], depth: int = 0) -> Any:
        """A value of that schema: what must be given, and nothing else below the first level."""
        whole = self._whole(schema)
        if "default" in whole and whole.get("type") != "object":
            return whole["default"]
        if "enum" in whole:
            return whole["enum"][0]
        if whole.get("type") == "array":
            return [] if depth > _DEPTH else [self.example(whole.get("items", {}), depth + 1)]
        if "properties" in whole:
            names = whole.get("required") or list(whole["properties"])[:3]
            return {
                name: self.example(whole["properties"][name], depth + 1) for name in names if depth <= _DEPTH
            }
        return _SAMPLES.get(str(whole.get("format")), _SAMPLES.get(str(whole.get("type")), {}))

    def _whole(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """A schema with what it refers to put in its place; its own words count before those."""
        found: dict[str, Any] = dict(schema)
        for reference in self._references(schema):
            found = {**self._whole(self._named.get(reference, {})), **found}
        return found

    @staticmethod
    def _references(schema: Mapping[str, Any]) -> Iterable[str]:
        said = [schema, *schema.get("allOf", ()), *schema.get("oneOf", ())]
        return [one["$ref"].rpartition("/")[2] for one in said if "$ref" in one]

    def _kind(self, whole: Mapping[str, Any]) -> str:
        if whole.get("type") == "array":
            return f"{_kind(self._whole(whole.get('items', {})))}[]"
        return _kind(whole)

    def _has_fields(self, whole: Mapping[str, Any]) -> bool:
        inner = self._whole(whole.get("items", {})) if whole.get("type") == "array" else whole
        return "properties" in inner


_SAMPLES: dict[str, Any] = {
    "string": "…",
    "integer": 1,
    "int64": 1,
    "number": 1,
    "decimal": "1.00",
    "boolean": True,
    "uuid": "00000000-0000-4000-8000-000000000000",
    "date-time": "2030-01-31T08:00:00Z",
    "date": "2030-01-31",
    "email": "somebody@example.org",
    "uri": "https://example.org/",
}
