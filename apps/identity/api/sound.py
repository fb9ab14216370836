"""What every body and query of the API is read by: texts without control characters, else refused by field.

A `CharField` of a `SoundSerializer` is a line, a `TextField` has several, a `ProgramField` is let through. Free data
may have several lines wherever it has text.
"""

from datetime import datetime
from typing import Any

from django.utils.functional import cached_property
from rest_framework import serializers
from rest_framework.utils.serializer_helpers import BindingDict

from apps.kernel.control_characters import control_fault

AnyField = serializers.Field[Any, Any, Any, Any]


class TextField(serializers.CharField):
    """A text that may have several lines, and tabs."""


class ProgramField(serializers.CharField):
    """What a program is told, as it is: an argument, the value of a variable, a secret."""


class MomentField(serializers.DateTimeField):
    """A moment. One that the zone takes out of the calendar, as year 1 is east of Greenwich, is refused too."""

    def enforce_timezone(self, value: datetime) -> datetime:
        try:
            return super().enforce_timezone(value)
        except OverflowError:
            self.fail("overflow")


class SoundSerializer(serializers.Serializer[Any]):
    # No docstring: in the description of the API it would stand at every body.
    @cached_property
    def fields(self) -> BindingDict:
        found = super().fields
        for field in found.values():
            _guard(field)
        return found


def _guard(field: AnyField) -> None:
    if isinstance(field, ProgramField) or field.read_only:
        return
    if isinstance(field, TextField):
        field.validators.append(_lines)
    elif isinstance(field, serializers.CharField):
        field.validators.append(_line)
    elif isinstance(field, serializers.ListField):
        _guard(field.child)
    elif isinstance(field, serializers.DictField):
        field.validators.append(_names)
        _guard(field.child)
    elif type(field) in (serializers.JSONField, type(serializers.DictField().child)):
        field.validators.append(_free)


def _line(text: str) -> None:
    _check(text)


def _lines(text: str) -> None:
    _check(text, has_lines=True)


def _names(data: dict[str, Any]) -> None:
    for name in data:
        _check(str(name))


def _free(data: Any) -> None:
    waiting = [data]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            _lines(value)
        elif isinstance(value, dict):
            _names(value)
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def _check(text: str, *, has_lines: bool = False) -> None:
    fault = control_fault(text, has_lines=has_lines)
    if fault:
        raise serializers.ValidationError(fault)
