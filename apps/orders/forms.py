"""The shape of what the pages of applications and orders send."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.catalog.states import FieldKind
from apps.kernel.errors import InvalidInput
from apps.kernel.forms import SoundForm, command_read, variables_read
from apps.orders.services.delivered_work import SCRIPT_MOST
from apps.orders.states import FormState, OrderState
from apps.orders.types import LineInput

DURATION_UNITS = [
    ("60", gettext_lazy("minutes")),
    ("3600", gettext_lazy("hours")),
    ("86400", gettext_lazy("days")),
]
# What stands in the place of a unit where something is to run until somebody ends it.
WITHOUT_END = ("open", gettext_lazy("without an end"))
_MOST = 10**9
_LINES_MOST = 20


class DurationForm(SoundForm):
    """A length of time as a figure and its unit; `seconds` after cleaning, None for what runs without an end."""

    duration = forms.IntegerField(
        label=gettext_lazy("Duration"), min_value=1, max_value=10**6, required=False
    )
    duration_unit = forms.ChoiceField(
        label=gettext_lazy("Unit of the duration"), choices=[*DURATION_UNITS, WITHOUT_END]
    )

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        unit = data.get("duration_unit")
        if unit == WITHOUT_END[0]:
            data["seconds"] = None
        elif unit and "duration" in data:
            if data["duration"] is None:
                self.add_error("duration", self.fields["duration"].error_messages["required"])
            else:
                data["seconds"] = data["duration"] * int(unit)
        return data


class QuoteForm(DurationForm):
    coupon = forms.UUIDField(label=gettext_lazy("Compute coupon"), required=False)


class ApplicationFormForm(QuoteForm):
    business_system = forms.UUIDField(label=gettext_lazy("Business system"), required=False)
    remark = forms.CharField(
        label=gettext_lazy("Remark"), required=False, max_length=1000, widget=forms.Textarea
    )


class ChosenLinesForm(DurationForm):
    lines = forms.Field(label=gettext_lazy("Services"), widget=forms.MultipleHiddenInput)

    def clean_lines(self) -> list[UUID]:
        try:
            return [UUID(value) for value in self.cleaned_data["lines"]]
        except ValueError as error:
            raise ValidationError(_("This is not an identifier.")) from error


class FormsForm(SoundForm):
    tab = forms.ChoiceField(
        label=gettext_lazy("Tab"),
        required=False,
        choices=[("all", "all"), ("in_progress", "in_progress"), ("completed", "completed")],
    )
    search = forms.CharField(label=gettext_lazy("Number"), required=False, max_length=80)
    state = forms.ChoiceField(
        label=gettext_lazy("State"), required=False, choices=[("", ""), *FormState.choices]
    )
    business_system = forms.UUIDField(label=gettext_lazy("Business system"), required=False)

    def clean_tab(self) -> str:
        return self.cleaned_data["tab"] or "all"


class OrdersForm(SoundForm):
    search = forms.CharField(label=gettext_lazy("Number"), required=False, max_length=80)
    state = forms.ChoiceField(
        label=gettext_lazy("State"), required=False, choices=[("", ""), *OrderState.choices]
    )
    business_system = forms.UUIDField(label=gettext_lazy("Business system"), required=False)
    supplier = forms.CharField(label=gettext_lazy("Supplier"), required=False, max_length=120)


class ExecuteForm(SoundForm):
    text = forms.CharField(label=gettext_lazy("Note"), required=False, max_length=2000, widget=forms.Textarea)


class RemarkForm(SoundForm):
    text = forms.CharField(label=gettext_lazy("Remark"), max_length=2000, widget=forms.Textarea)


class ReasonForm(SoundForm):
    reason = forms.CharField(label=gettext_lazy("Reason"), max_length=1000, widget=forms.Textarea)


class MoreTimeForm(SoundForm):
    """How much longer something is to run; `seconds` after cleaning, 0 where nothing is said."""

    more = forms.IntegerField(label=gettext_lazy("Longer by"), min_value=0, max_value=10**6, required=False)
    more_unit = forms.ChoiceField(
        label=gettext_lazy("Unit of the duration"), choices=DURATION_UNITS, required=False
    )

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        data["seconds"] = (data.get("more") or 0) * int(data.get("more_unit") or 3600)
        return data


def changed_amounts(data: Mapping[str, Any]) -> dict[str, int]:
    """Every `amount_<component>` that the page of a change sends."""
    mark = "amount_"
    return {name.removeprefix(mark): whole(data, name) for name in data if name.startswith(mark)}


def whole(data: Mapping[str, Any], name: str) -> int:
    """A whole number out of a form; InvalidInput naming the field."""
    text = str(data.get(name, "")).strip()
    if not text.isdecimal() or len(text) > len(str(_MOST)):
        raise InvalidInput(fields={name: _("A whole number is wanted.")})
    return int(text)


class ProgramForm(SoundForm):
    """The buyer's own program."""

    command = forms.CharField(label=gettext_lazy("Command"), required=False, max_length=8000)
    script = forms.CharField(
        label=gettext_lazy("Script"),
        required=False,
        max_length=SCRIPT_MOST,
        strip=False,
        widget=forms.Textarea,
    )
    variables = forms.CharField(
        label=gettext_lazy("Environment variables"),
        required=False,
        max_length=SCRIPT_MOST,
        widget=forms.Textarea,
    )
    image = forms.CharField(label=gettext_lazy("Container image"), required=False, max_length=100)
    assets = forms.CharField(label=gettext_lazy("Assets"), required=False, max_length=2000)
    secrets = forms.CharField(label=gettext_lazy("Secrets"), required=False, max_length=2000)

    def clean_command(self) -> list[str]:
        return command_read(self.cleaned_data["command"])

    def clean_script(self) -> str:
        script: str = self.cleaned_data["script"].replace("\r\n", "\n")
        return script if script.strip() else ""

    def clean_variables(self) -> dict[str, str]:
        return variables_read(self.cleaned_data["variables"])

    def clean_assets(self) -> list[str]:
        return _words(self.cleaned_data["assets"])

    def clean_secrets(self) -> list[str]:
        return _words(self.cleaned_data["secrets"])


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def program_of(data: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The buyer's own program as a page says it, without what it does not say; InvalidInput naming the field."""
    mark = f"{prefix}program_"
    form = ProgramForm({name: data.get(f"{mark}{name}", "") for name in ProgramForm.base_fields})
    if not form.is_valid():
        wrong = {str(form.fields[name].label): texts for name, texts in form.errors.items()}
        raise InvalidInput(fields={label: " ".join(map(str, texts)) for label, texts in wrong.items()})
    given = form.cleaned_data
    said = {
        "argv": given["command"], "script": given["script"], "env": given["variables"], "image": given["image"],
        "assets": given["assets"], "secrets": given["secrets"],
    }  # fmt: skip
    return {name: value for name, value in said.items() if value}


def program_shown(program: Mapping[str, Any]) -> dict[str, str]:
    """A line's own program as its page asks for it."""
    return {
        "command": shlex.join(program.get("argv", ())),
        "script": program.get("script", ""),
        "variables": "\n".join(f"{name}={value}" for name, value in program.get("env", {}).items()),
        "image": program.get("image", ""),
        "assets": ", ".join(program.get("assets", ())),
        "secrets": ", ".join(program.get("secrets", ())),
    }


def line_of(data: Mapping[str, Any], commodity_uid: UUID, prefix: str = "") -> LineInput:
    """One service: every `<prefix>amount_<component>`, `<prefix>count` and `<prefix>program_<field>`."""
    mark = f"{prefix}amount_"
    codes = [name.removeprefix(mark) for name in data if name.startswith(mark)]
    amounts = {code: whole(data, mark + code) for code in codes}
    return LineInput(commodity_uid, amounts, whole(data, f"{prefix}count"), program_of(data, prefix))


def lines_of(data: Mapping[str, Any]) -> list[LineInput]:
    """The services of an application form: `line_<n>_commodity` with their amounts, in the order of n."""
    found = []
    for place in range(_LINES_MOST):
        uid = data.get(f"line_{place}_commodity")
        if uid is None:
            continue
        try:
            found.append(line_of(data, UUID(uid), f"line_{place}_"))
        except ValueError as error:
            raise InvalidInput(fields={f"line_{place}": _("This is not an identifier.")}) from error
    return found


@dataclass(frozen=True, slots=True)
class FieldAsked:
    """A field of a form template as a page asks for it: `value` in `unit`, one of `units`, or one of `options`."""

    field: Mapping[str, Any]
    value: object = ""
    unit: int = 1
    units: Sequence[tuple[int, Any]] = ()
    options: Sequence[tuple[str, str]] = ()


def preview(fields: Iterable[Mapping[str, Any]]) -> list[FieldAsked]:
    """A form's fields as its applicants see them, outside of any tenant: whom it offers, nobody can say there."""
    return [
        FieldAsked(field)
        if field["kind"] in (FieldKind.PERSON, FieldKind.QUEUE, FieldKind.MODEL)
        else asked(field, field.get("default", ""), ())
        for field in fields
    ]


_UNITS: Mapping[str, Sequence[tuple[int, Any]]] = {
    FieldKind.DURATION: [(int(seconds), name) for seconds, name in DURATION_UNITS],
    FieldKind.MEMORY: [(1, "MiB"), (1024, "GiB")],
}


def asked(field: Mapping[str, Any], value: object, options: Sequence[tuple[str, str]] | None) -> FieldAsked:
    """A field with what stands in it, a figure in the largest unit that shows it whole; `options`: what it offers
    beside its own choices."""
    kind = field["kind"]
    offered = options or [(one, one) for one in field.get("choices", ())]
    units = _UNITS.get(kind, ())
    if not units:
        return FieldAsked(field, _plain(value), options=offered)
    amount = value if isinstance(value, int | float) else field.get("minimum", 0)
    unit = max((one for one, _name in units if amount and amount % one == 0), default=units[0][0])
    return FieldAsked(field, _plain(value / unit) if isinstance(value, int | float) else "", unit, units)


def _plain(value: object) -> object:
    """A number as it is typed in, without idle places."""
    return f"{value:.10g}" if isinstance(value, float) else value


def further_of(data: MultiValueDict, fields: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The values of the form's own fields, sent as `data_<name>`, figures with their unit as `data_<name>_unit`:
    numbers as numbers, durations in seconds, memory in MiB."""
    found: dict[str, Any] = {}
    for field in fields:
        name, kind = field["name"], field["kind"]
        text = str(data.get(f"data_{name}", "")).strip()
        if not text:
            continue
        if kind in _UNITS:
            unit = whole(data, f"data_{name}_unit") if f"data_{name}_unit" in data else 1
            found[name] = round(_number(name, text) * unit)
        else:
            found[name] = _number(name, text) if kind == FieldKind.NUMBER else text
    return found


def _number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError as error:
        raise InvalidInput(fields={name: _("A number is wanted.")}) from error
    if not isfinite(number):
        raise InvalidInput(fields={name: _("A number is wanted.")})
    return number
