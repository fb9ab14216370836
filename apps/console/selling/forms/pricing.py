"""The input of the page of a commodity's prices."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.catalog.models import Commodity, PriceLine
from apps.catalog.types import PriceInput
from apps.console.centre.forms import StyledForm

TIER_ROWS_LEAST = 4


class PriceForm(StyledForm):
    """A price for each component of a commodity, in tiers: up to how much, and what it costs. There are as many rows as
    the longest price that the commodity has had (`price_initial`), with one to spare."""

    effective_from = forms.DateTimeField(
        label=gettext_lazy("From when on"),
        required=False,
        widget=forms.DateTimeInput({"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        help_text=gettext_lazy("Empty: from now on."),
    )

    def __init__(self, *args: Any, commodity: Commodity, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rows = range(max([TIER_ROWS_LEAST, *(_row_of(name) + 2 for name in self.initial)]))
        self.parts = [part.component for part in commodity.components.select_related("component")]
        for part in self.parts:
            self._put(
                f"unit_{part.code}", forms.ChoiceField(label=_("Price for"), choices=PriceLine.OFFERED_UNITS)
            )
            self._put(
                f"method_{part.code}", forms.ChoiceField(label=_("Tier method"), choices=PriceLine.METHODS)
            )
            for row in self.rows:
                upto = forms.DecimalField(label=_("Up to"), required=False, min_value=0, max_digits=18)
                price = forms.DecimalField(
                    label=_("Price"), required=row == 0, min_value=0, max_digits=18, decimal_places=10
                )
                self._put(f"upto_{part.code}_{row}", upto)
                self._put(f"price_{part.code}_{row}", price)

    def _put(self, name: str, field: forms.Field) -> None:
        look = "form-select" if isinstance(field.widget, forms.Select) else "form-control"
        field.widget.attrs |= {"class": look, "data-test": name, "aria-label": str(field.label)}
        self.fields[name] = field

    @property
    def is_begun(self) -> bool:
        """Whether a price stands in it already."""
        return self.is_bound or bool(self.initial)

    @property
    def tables(self) -> list[tuple[Any, forms.BoundField, forms.BoundField, list[tuple[Any, Any]]]]:
        """For each component: unit, method, and the rows of its tiers."""
        return [
            (
                part,
                self[f"unit_{part.code}"],
                self[f"method_{part.code}"],
                [(self[f"upto_{part.code}_{row}"], self[f"price_{part.code}_{row}"]) for row in self.rows],
            )
            for part in self.parts
        ]

    def lines(self) -> list[PriceInput]:
        """The prices as the catalogue takes them: the last tier is without end."""
        return [
            PriceInput(
                component=part.code,
                tiers=self._tiers(part.code),
                unit=self.cleaned_data[f"unit_{part.code}"],
                tier_method=self.cleaned_data[f"method_{part.code}"],
            )
            for part in self.parts
        ]

    def _tiers(self, code: str) -> list[list[Any]]:
        given = self.cleaned_data
        rows = [(given[f"upto_{code}_{row}"], given[f"price_{code}_{row}"]) for row in self.rows]
        return [[_text(upto), _text(price)] for upto, price in rows if price is not None]


def _row_of(name: str) -> int:
    """The row of a tier's field; -1 for other fields."""
    kind, row = name.partition("_")[0], name.rpartition("_")[2]
    return int(row) if kind in ("upto", "price") and row.isdecimal() else -1


def _text(figure: Decimal | None) -> str | None:
    return None if figure is None else f"{figure:f}"


def price_initial(lines: Iterable[PriceLine]) -> dict[str, Any]:
    """The newest prices, to start the next ones from."""
    shown: dict[str, Any] = {}
    for line in lines:
        code = line.component.code
        shown |= {f"unit_{code}": line.unit, f"method_{code}": line.tier_method}
        for row, (upto, price) in enumerate(line.tiers):
            shown |= {f"upto_{code}_{row}": upto, f"price_{code}_{row}": price}
    return shown
