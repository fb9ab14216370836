"""The form of a ticket: its fields as they are written down, and the values that people give them."""

import re
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from django.utils.translation import gettext as _

from apps.kernel.control_characters import control_fault
from apps.kernel.errors import InvalidInput
from apps.kernel.translatable import localized
from apps.ticketing.states import FieldKind, FieldState

FIELDS_MOST, CHOICES_MOST = 30, 40
LABEL_MOST, SHORT_MOST, LONG_MOST = 80, 300, 4000
STEPS = ("opening", "handling")
Values = Mapping[str, Any]


def label_of(field: Values) -> str:
    """What a field is called in the language of the reader."""
    return localized(field["label_zh"], field["label_en"])


def fields_clean(fields: Iterable[Values]) -> list[dict[str, Any]]:
    """A form's fields, complete and sound; InvalidInput naming the field and what is wrong."""
    kept: list[dict[str, Any]] = []
    for given in fields:
        field = _clean(given, len(kept) + 1)
        if any(field["name"] == other["name"] for other in kept):
            raise _wrong(field["label_en"], _("The form has such a field already: choose another name."))
        kept.append(field)
    if len(kept) > FIELDS_MOST:
        raise _wrong("fields", _("A form has at most %(most)s fields.") % {"most": FIELDS_MOST})
    return kept


def _wrong(name: str, reason: str) -> InvalidInput:
    return InvalidInput(reason, fields={name: reason})


def _clean(given: Values, number: int) -> dict[str, Any]:
    place = _("Field %(number)s") % {"number": number}
    if not isinstance(given, Mapping):
        raise _wrong(place, _("A field is an object."))
    label_zh, label_en = _text(given.get("label_zh")), _text(given.get("label_en"))
    label_zh, label_en = label_zh or label_en, label_en or label_zh
    if not label_zh or max(len(label_zh), len(label_en)) > LABEL_MOST:
        raise _wrong(place, _("It needs a name of at most %(most)s characters.") % {"most": LABEL_MOST})
    field = {
        "name": _text(given.get("name")) or _name(label_en, number),
        "label_zh": label_zh,
        "label_en": label_en,
        "kind": given.get("kind", FieldKind.TEXT),
        "is_required": bool(given.get("is_required")),
        "choices": _choices(given.get("choices")),
        "value": given.get("value", ""),
        **{step: given.get(step, FieldState.READ_WRITE) for step in STEPS},
        "steps": _states_by_step(given.get("steps")),
    }
    states = [*(field[step] for step in STEPS), *field["steps"].values()]
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,47}", field["name"]):
        raise _wrong(place, _("Its name for programs has small letters, digits and _ only."))
    if field["kind"] not in FieldKind.values:
        raise _wrong(label_en, _("There is no such kind of field."))
    if any(state not in FieldState.values for state in states):
        raise _wrong(label_en, _("It is read and written, read only or hidden at each step."))
    if (field["kind"] == FieldKind.CHOICE) != bool(field["choices"]):
        raise _wrong(label_en, _("A choice needs something to choose from, and nothing else has choices."))
    if field["is_required"] and FieldState.READ_WRITE not in states:
        raise _wrong(label_en, _("Nobody can fill it in, so it cannot be required."))
    if field["value"] not in ("", None):
        field["value"] = _value(field, field["value"])
    else:
        field["value"] = ""
    return field


def _states_by_step(given: object) -> dict[str, Any]:
    """By a step's key what is done with the field there, where that is otherwise than at the rest."""
    return {str(key): state for key, state in given.items() if state} if isinstance(given, Mapping) else {}


def state_at(field: Values, step: str) -> str:
    """What may be done with a field, a `FieldState`, at "opening", or for who works on the ticket at the step of that
    key ("handling", or no key: where the ticket has one step)."""
    if step == "opening":
        return str(field["opening"])
    return str(field.get("steps", {}).get(step, field["handling"]))


def _text(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _name(label: str, number: int) -> str:
    plain = re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_")[:40]
    return plain if re.match(r"[a-z]", plain) else f"field_{number}"


def _choices(given: object) -> list[str]:
    found = [_text(each) for each in given] if isinstance(given, list) else []
    kept = [each for each in dict.fromkeys(found) if each]
    if len(kept) > CHOICES_MOST or any(len(each) > LABEL_MOST for each in kept):
        raise _wrong(
            "choices", _("At most %(most)s choices, each of 80 characters.") % {"most": CHOICES_MOST}
        )
    return kept


def values_begin(fields: Iterable[Values]) -> dict[str, Any]:
    """What stands in a form before anybody has written in it."""
    return {field["name"]: field["value"] for field in fields if field["value"] != ""}


def values_take(
    fields: Iterable[Values], kept: Values, given: Values, *, step: str, is_final: bool
) -> dict[str, Any]:
    """What the form holds after somebody wrote in it at a step: only into fields that are written then.

    Args:
        step: as in `state_at`.
        is_final: the step ends with this, so what is required has to be there.

    Raises:
        InvalidInput: a field that is not written at this step or is none, a wrong value, or a required one missing.
    """
    open_fields = {field["name"]: field for field in fields if state_at(field, step) == FieldState.READ_WRITE}
    wrong: dict[str, object] = {
        name: _("The form has no such field.") for name in set(given) - set(open_fields)
    }
    values = dict(kept)
    for name, field in open_fields.items():
        if name in given:
            try:
                values[name] = _value(field, given[name])
            except InvalidInput as error:
                wrong[label_of(field)] = error.message
        if values.get(name) in ("", None):
            values.pop(name, None)
            if is_final and field["is_required"]:
                wrong[label_of(field)] = _("Fill this in.")
    if wrong:
        raise InvalidInput(_("The form is not filled in right."), fields=wrong)
    return values


def _value(field: Values, given: Any) -> Any:
    """A value as it is kept; "" for none."""
    if given is None or (isinstance(given, str) and not given.strip()):
        return ""
    match field["kind"]:
        case FieldKind.NUMBER:
            return _number(field, given)
        case FieldKind.DATE:
            return _date(field, given)
        case FieldKind.CHOICE if given in field["choices"]:
            return given
        case FieldKind.TEXT | FieldKind.LONG if isinstance(given, str):
            most = SHORT_MOST if field["kind"] == FieldKind.TEXT else LONG_MOST
            if len(given) > most:
                raise _wrong(label_of(field), _("At most %(most)s characters.") % {"most": most})
            fault = control_fault(given, has_lines=field["kind"] == FieldKind.LONG)
            if fault:
                raise _wrong(label_of(field), fault)
            return given.strip()
    raise _wrong(label_of(field), _("This is no valid value here."))


def _number(field: Values, given: Any) -> int | float:
    try:
        number = float(given) if not isinstance(given, bool) else None
    except (TypeError, ValueError):
        number = None
    if number is None or not abs(number) < 10**15:
        raise _wrong(label_of(field), _("A number is wanted."))
    return int(number) if number.is_integer() else number


def _date(field: Values, given: Any) -> str:
    try:
        return date.fromisoformat(given).isoformat()
    except (TypeError, ValueError):
        raise _wrong(label_of(field), _("A date is wanted.")) from None
