"""Amounts that people say in the unit they like: lengths of time, memory, and what files hold.

The form keeps and gives back one whole number, in the least unit of the field; sent are a figure and, as `<name>_unit`,
how many of the least unit it counts in. Without the latter the figure is in the least unit.
"""

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

from django import forms
from django.template.defaultfilters import filesizeformat
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.kernel.unit_text import mib_text, span_text

_FIGURE_MAX = 20


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: how many of the field's least one it is, and its name."""

    size: int
    name: Any


@dataclass(frozen=True, slots=True)
class Scale:
    """The units of a field, the least first, and how an amount of the least is said in words."""

    units: tuple[Unit, ...]
    text: Callable[[int], str]


def _minutes_text(minutes: int) -> str:
    return span_text(minutes * 60)


_MINUTE, _HOUR, _DAY = gettext_lazy("minutes"), gettext_lazy("hours"), gettext_lazy("days")
_OF_TIME = ((60, _MINUTE), (3600, _HOUR), (86400, _DAY))
SECONDS = Scale((Unit(1, gettext_lazy("seconds")), *(Unit(size, name) for size, name in _OF_TIME)), span_text)
MINUTES = Scale(tuple(Unit(size // 60, name) for size, name in _OF_TIME), _minutes_text)
FILES = Scale(
    (
        Unit(1, gettext_lazy("bytes")),
        *(Unit(1024**power, name) for power, name in ((2, "MiB"), (3, "GiB"), (4, "TiB"))),
    ),
    filesizeformat,
)
MEMORY = Scale((Unit(1, "MiB"), Unit(1024, "GiB"), Unit(1024**2, "TiB")), mib_text)


class UnitWidget(forms.MultiWidget):
    """A figure beside its unit."""

    use_fieldset = False

    def __init__(self, scale: Scale, attrs: Any = None) -> None:
        self.units = scale.units
        figure = forms.NumberInput({"step": "any", "min": 0, "inputmode": "decimal"})
        choice = forms.Select(choices=[(str(unit.size), unit.name) for unit in self.units])
        super().__init__({"": figure, "unit": choice}, attrs)

    def decompress(self, value: Any) -> list[str]:
        """An amount in the largest unit that says it whole."""
        if value in (None, ""):
            return ["", str(self.units[0].size)]
        amount = int(value)
        unit = max((unit.size for unit in self.units if amount and amount % unit.size == 0), default=1)
        return [str(amount // unit), str(unit)]

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> list[str]:
        return [data.get(name, ""), data.get(f"{name}_unit", "")]

    def id_for_label(self, id_: str) -> str:
        return id_

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        context = super().get_context(name, value, attrs)
        figure, choice = (part["attrs"] for part in context["widget"]["subwidgets"])
        whole = context["widget"]["attrs"].get("id") or name
        figure["id"], choice["id"] = whole, f"{whole}-unit"
        figure["class"], choice["class"] = "form-control", "form-select unit-choice"
        choice["aria-label"] = _("Unit")
        choice.pop("required", None)
        if "data-test" in choice:
            choice["data-test"] += "-unit"
        return context

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        return format_html('<div class="input-group">{}</div>', super().render(name, value, attrs, renderer))


class UnitField(forms.Field):
    """An amount; cleaned, a whole number of the least unit, a fraction of it rounded.

    Args:
        scale: what it can be said in.
        least, most: its bounds, in the least unit.
    """

    def __init__(self, scale: Scale, *, least: int = 0, most: int, **options: Any) -> None:
        super().__init__(widget=UnitWidget(scale), **options)
        self.scale = scale
        self.least = least
        self.most = most

    def to_python(self, value: Any) -> int | None:
        text, unit = (str(part or "").strip() for part in value or ("", ""))
        if not text:
            return None
        amount = int((_figure_read(text) * self._size(unit)).to_integral_value(ROUND_HALF_UP))
        if not self.least <= amount <= self.most:
            bound = _("At least %(amount)s.") if amount < self.least else _("At most %(amount)s.")
            shown = self.scale.text(self.least if amount < self.least else self.most)
            raise forms.ValidationError(bound % {"amount": shown})
        return amount

    def _size(self, unit: str) -> int:
        sizes = {"": 1, **{str(one.size): one.size for one in self.scale.units}}
        if unit not in sizes:
            raise forms.ValidationError(_("Choose a unit."))
        return sizes[unit]


def _figure_read(text: str) -> Decimal:
    """A figure as people write it: between blanks, with separators, in the wide digits of Chinese text."""
    plain = unicodedata.normalize("NFKC", text)
    for separator in (" ", ",", "_", "'"):
        plain = plain.replace(separator, "")
    try:
        figure = Decimal(plain) if len(plain) <= _FIGURE_MAX else Decimal("NaN")
    except InvalidOperation:
        figure = Decimal("NaN")
    if not figure.is_finite() or "e" in plain.lower():
        raise forms.ValidationError(_("Enter a number."))
    return figure
