"""The wire form of Annex A: `{status, code, errorMsg, data}` always, `status` being that of HTTP.

Lengths are counted in bytes of UTF-8 (JC-Q-3); `data` is an empty object where there is nothing to tell (JC-Q-7).
"""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from rest_framework.response import Response

from apps.identity.api.base import ApiView, on_error
from apps.identity.api.schema import ApiSchema
from apps.kernel.errors import InvalidInput

CODE_BYTES = 256
MESSAGE_BYTES = 128
DONE = "ok"
_REFUSAL = {
    "type": "object",
    "properties": {
        "status": {"type": "integer"},
        "code": {"type": "string", "maxLength": CODE_BYTES},
        "errorMsg": {"type": "string", "maxLength": MESSAGE_BYTES},
        "data": {"type": "object"},
    },
    "required": ["status", "code", "errorMsg", "data"],
}


def envelope(
    data: Mapping[str, Any] | None = None, *, status: int = 200, code: str = DONE, message: str = ""
) -> dict[str, Any]:
    """The body of every answer."""
    return {
        "status": status,
        "code": cut(code, CODE_BYTES),
        "errorMsg": cut(message, MESSAGE_BYTES),
        "data": dict(data or {}),
    }


def cut(text: str, most: int) -> str:
    """As much of a text as has at most so many bytes in UTF-8, never half a character."""
    return text.encode("utf-8", "replace")[:most].decode("utf-8", "ignore")


def envelope_of(body: Mapping[str, Any], status: int) -> dict[str, Any]:
    """The envelope of a refusal in the portal's own shape: what is wrong with which field comes first."""
    error = body.get("error", {})
    fields = [f"{name}: {text}" for name, text in error.get("fields", {}).items()]
    message = " ".join(fields) or str(error.get("message", ""))
    return envelope(status=status, code=str(error.get("code", "refused")), message=message)


def length_check(values: Mapping[str, str], most: int) -> None:
    """Raise InvalidInput naming each value that is empty or has more bytes than `most`."""
    wrong: dict[str, object] = {}
    for name, value in values.items():
        if not value:
            wrong[name] = _("It is needed.")
        elif len(value.encode("utf-8", "replace")) > most:
            wrong[name] = _("At most %(most)s bytes.") % {"most": most}
    if wrong:
        raise InvalidInput(fields=wrong)


class WireSchema(ApiSchema):
    """Describes that refusals have the envelope, too."""

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation = super().get_operation(*args, **kwargs)
        if operation is not None:
            refused = {"application/json": {"schema": _REFUSAL}}
            for status in operation["responses"]:
                if status != "200":
                    words = f"Refused: `status` is {status}, `errorMsg` says why, `data` is empty."
                    operation["responses"][status] = {"description": words, "content": refused}
        return operation


class WireView(ApiView):
    """A view of Annex A, the same on every host."""

    plane = "both"
    schema = WireSchema()

    def answer(self, data: Mapping[str, Any]) -> Response:
        """What was asked for, in the envelope."""
        return Response(envelope(data))

    def get_exception_handler(self) -> Any:
        return _on_error


def _on_error(error: Exception, context: dict[str, Any]) -> Response | None:
    found = on_error(error, context)
    if found is not None:
        found.data = envelope_of(found.data, found.status_code)
    return found
