"""How an API view is described: what `drf_spectacular` does not see of what every view of ours does."""

from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import append_meta, force_instance
from rest_framework.pagination import BasePagination
from rest_framework.serializers import FileField, ModelSerializer

_PROBLEM = "Problem"
# Why a call was refused, by status; a component of each is written once and referred to.
_REFUSALS = {
    "400": "The input is not valid; `fields` says where.",
    "401": "Not signed in, or by a token that is no longer valid.",
    "403": "The active role does not allow this.",
    "404": "There is no such thing here, or it is another tenant's.",
    "409": "Its present state, another's change or a quota stands against it.",
    "413": "The request is too large.",
    "415": "The body is of a kind that is not read here.",
    "429": "Too many wrong attempts.",
    "503": "Busy or away: send it again after as many seconds as `Retry-After` says.",
}
_EVERY = ("400", "401", "403", "404", "503")
_WRITING = ("409", "413", "415")


class ApiSchema(AutoSchema):
    """Adds the refusals, the pages of lists, files, what may be null and what is always answered; says of a view only
    what it says itself."""

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation = super().get_operation(*args, **kwargs)
        if operation is not None:
            operation["responses"] |= {
                status: {"$ref": f"#/components/responses/Refused{status}"} for status in self._refusals()
            }
            if "requestBody" in operation:
                # A body of optional fields is `{}`: generated clients then have one way of calling.
                operation["requestBody"]["required"] = True
        return operation

    def map_parsers(self) -> list[str]:
        """One kind of body for each call: the form where a file is sent, JSON everywhere else.

        Forms are read everywhere, but a client generated of two kinds with the same fields sends both at once.
        """
        kinds: list[str] = super().map_parsers()  # type: ignore[no-untyped-call]
        if len(kinds) < 2:
            return kinds
        sent = force_instance(self.get_request_serializer())  # type: ignore[no-untyped-call]
        has_file = any(isinstance(field, FileField) for field in getattr(sent, "fields", {}).values())
        return [kind for kind in kinds if kind.startswith("multipart/") is has_file]

    def get_description(self) -> str:  # type: ignore[override]
        """The method's words, else those of its own class: never those of a class that it stands on."""
        method = getattr(self.view, self.method.lower())
        return str(super().get_description()) if method.__doc__ or type(self.view).__doc__ else ""

    def _refusals(self) -> list[str]:
        is_read = self.method in ("GET", "HEAD", "OPTIONS")
        attempts = ["429"] if getattr(self.view, "counts_attempts", False) else []
        return sorted([*_EVERY, *(() if is_read else _WRITING), *attempts])

    def _get_paginator(self) -> BasePagination | None:
        # What an act answers is never a page, even where it answers with several rows.
        paginator: BasePagination | None = super()._get_paginator()  # type: ignore[no-untyped-call]
        return paginator if self.method == "GET" else None

    def _map_basic_serializer(self, serializer: Any, direction: str) -> dict[str, Any]:
        described: dict[str, Any] = super()._map_basic_serializer(  # type: ignore[no-untyped-call]
            serializer, direction
        )
        # A row is answered with all its columns, those too that may be left out of what is sent.
        row = force_instance(serializer)  # type: ignore[no-untyped-call]
        if direction == "response" and isinstance(row, ModelSerializer):
            described["required"] = sorted(described["properties"])
        return described

    def _map_serializer_field(self, field: Any, direction: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
        if direction == "request" and isinstance(field, FileField):
            return {"type": "string", "format": "binary", "description": str(field.help_text or "")}
        described: dict[str, Any] = super()._map_serializer_field(  # type: ignore[no-untyped-call]
            field, direction, *args, **kwargs
        )
        # What is shown where there is nothing to show.
        is_null = direction == "response" and field.default is None
        return append_meta(described, {"nullable": True}) if is_null else described


def refusals_describe(result: dict[str, Any], **_generator: Any) -> dict[str, Any]:
    """Add the one shape of all refusals, and a response of each status, to the document's components."""
    text = {"type": "string"}
    fields = {"type": "object", "additionalProperties": text, "description": "A sentence by field."}
    error = {
        "type": "object",
        "properties": {"code": text, "message": text, "cure": text, "fields": fields},
        "required": ["code", "message", "cure"],
    }
    components = result["components"]
    components["schemas"][_PROBLEM] = {
        "type": "object",
        "properties": {"error": error},
        "required": ["error"],
        "description": "Why something was refused, and what to do about it. `code` is for programs.",
    }
    components["schemas"] = dict(sorted(components["schemas"].items()))
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{_PROBLEM}"}}}
    components["responses"] = {
        f"Refused{status}": {"description": words, "content": content, **_headers(status)}
        for status, words in _REFUSALS.items()
    }
    return result


def _headers(status: str) -> dict[str, Any]:
    if status != "503":
        return {}
    return {"headers": {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds."}}}
