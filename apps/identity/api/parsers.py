"""JSON as the API takes it: text that the database can hold, nested no deeper than anybody needs."""

from collections.abc import Mapping
from typing import Any, BinaryIO

from django.utils.translation import gettext as _
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser


class SoundJSONParser(JSONParser):
    """Refuses NUL characters and halves of surrogate pairs wherever they stand: in values, keys and free data."""

    def parse(
        self,
        stream: BinaryIO,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        try:
            data = super().parse(stream, media_type, parser_context)
        except RecursionError as error:
            raise ParseError(_("The JSON is nested too deeply.")) from error
        _texts_check(data)
        return data


def _texts_check(data: Any) -> None:
    waiting = [data]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            _text_check(value)
        elif isinstance(value, dict):
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, list):
            waiting += value


def _text_check(text: str) -> None:
    try:
        is_sound = "\x00" not in text and text.encode() is not None
    except UnicodeEncodeError:
        is_sound = False
    if not is_sound:
        raise ParseError(_("A text holds a NUL character or half of a surrogate pair."))
