"""The prices of a commodity: published anew, and seen beforehand as its curves and as what a tenant would pay."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _

from apps.catalog.charts import curve_option
from apps.catalog.models import Commodity, PriceLine
from apps.catalog.permissions import CatalogPermission as P
from apps.catalog.selectors.commodities import commodity_any_get
from apps.catalog.selectors.price_versions import hour_cost, price_examples
from apps.catalog.selectors.prices import price_version_list
from apps.catalog.services.prices import price_lines_drafted, price_publish
from apps.console.selling.forms.pricing import PriceForm, price_initial
from apps.identity.pages.access import go, operator_page, show
from apps.identity.pages.requests import PortalRequest
from apps.kernel.errors import InvalidInput

_ONE = "catalogue_admin:commodity"


@operator_page(P.MANAGE)
def commodity_price(request: PortalRequest, uid: UUID) -> HttpResponse:
    """Publish a price: a published one never changes, this makes a new version."""
    row = commodity_any_get(uid)
    form = PriceForm(request.POST or None, commodity=row, initial=_newest(row))
    if request.method == "POST" and form.is_valid():
        try:
            made = price_publish(
                actor=request.actor,
                commodity_uid=uid,
                lines=form.lines(),
                effective_from=form.cleaned_data["effective_from"],
            )
        except InvalidInput as error:
            form.refuse(_named(form, error))
        else:
            told = {"number": made.number, "name": row}
            messages.success(request, _("Price version %(number)s of %(name)s is published.") % told)
            return go(request, _ONE, uid)
    form.mark()
    return show(
        request, "catalog/operator/price", {"form": form, "row": row}, status=400 if form.errors else 200
    )


def _named(form: PriceForm, error: InvalidInput) -> InvalidInput:
    """The refusal with each component's reason in its table."""
    codes = {part.code for part in form.parts}
    fields = {f"price_{name}_0" if name in codes else name: text for name, text in error.fields.items()}
    return InvalidInput(error.message, fields=fields, cure=error.cure)


@operator_page(P.MANAGE)
def price_preview(request: PortalRequest, uid: UUID) -> HttpResponse:
    """What the prices in the form would come to: their curves, and what a tenant would pay. Nothing is kept."""
    row = commodity_any_get(uid)
    initial = _newest(row)
    if not initial and "preview" not in request.GET:
        return show(request, "catalog/operator/price_preview", {"row": row, "is_blank": True})
    form = PriceForm(request.GET if "preview" in request.GET else initial, commodity=row, initial=initial)
    context: dict[str, Any] = {"row": row}
    # From when on says nothing about how much.
    form.fields.pop("effective_from")
    if not form.is_valid():
        context["problems"] = [(_part_name(form, name), texts[0]) for name, texts in form.errors.items()]
        return show(request, "catalog/operator/price_preview", context)
    try:
        lines = price_lines_drafted(row, form.lines())
    except InvalidInput as error:
        names = {part.code: part.name for part in form.parts}
        context["problems"] = [(names.get(code, code), text) for code, text in error.fields.items()]
        return show(request, "catalog/operator/price_preview", context)
    parts = {part.component.code: part for part in row.components.select_related("component")}
    examples = price_examples(row, lines)
    context |= {
        "curves": [(line, curve_option(line, parts[line.component.code])) for line in lines],
        "examples": examples,
        "rise": _rise(row, lines),
    }
    return show(request, "catalog/operator/price_preview", context)


def _newest(row: Commodity) -> dict[str, Any]:
    newest = price_version_list(commodity=row).first()
    return price_initial(newest.lines.all()) if newest else {}


def _part_name(form: PriceForm, name: str) -> str:
    """The component whose row a field is in."""
    code = name.partition("_")[2]
    found = (part.name for part in form.parts if code == part.code or code.startswith(f"{part.code}_"))
    return next(found, "")


def _rise(row: Commodity, lines: Sequence[PriceLine]) -> Any:
    """By how many per cent the usual amounts become dearer than at the newest prices; None without such. Of exact
    prices: those of an hour in whole cents may be some per cent off."""
    newest = price_version_list(commodity=row).first()
    amounts = {part.component.code: part.default for part in row.components.select_related("component")}
    usual, before = hour_cost(lines, amounts), hour_cost(newest.lines.all(), amounts) if newest else None
    return (usual - before) / before * 100 if usual is not None and before else None
