"""The cart, and the live quote beside whatever is being configured."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from apps.catalog.selectors.commodities import commodity_get, commodity_list
from apps.catalog.selectors.prices import quote_get
from apps.catalog.types import Quote
from apps.identity.pages.access import cleaned, go, page, show
from apps.identity.pages.requests import TenantRequest
from apps.kernel.errors import InvalidInput, WeirError
from apps.kernel.money import ZERO
from apps.orders.forms import DURATION_UNITS, WITHOUT_END, ChosenLinesForm, DurationForm, QuoteForm, line_of
from apps.orders.models import CartLine
from apps.orders.selectors import cart_list
from apps.orders.services.carts import cart_add, cart_remove
from apps.orders.services.drafts import form_draft, quotes_make
from apps.orders.types import LineInput, amounts_delivered
from apps.scheduling.selectors.workloads import expected_start_get
from apps.tenancy.models import Tenant

CHOSEN_DURATION = "weir_duration"


@dataclass(frozen=True, slots=True)
class PricedLine:
    """A line of the cart with what it costs, or in words why that cannot be said."""

    uid: UUID
    quote: Quote | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class PricedCart:
    """The lines of a cart, and in CNY what the chosen ones come to together; without an end, over 30 days."""

    lines: Sequence[PricedLine]
    total: Decimal
    is_open_ended: bool
    # Of what is chosen some cannot be priced as it stands: the total would say too little.
    is_partial: bool


def cart_prices(
    tenant: Tenant, rows: Sequence[CartLine], seconds: int | None, chosen: Set[UUID]
) -> PricedCart:
    """What each line costs for that long, and all that are chosen together. One that is not offered for so long, or
    has no price now, says so in its place."""
    lines, now = [], timezone.now()
    for row in rows:
        try:
            quoted = quote_get(
                tenant=tenant,
                commodity=row.commodity,
                amounts=dict(row.amounts),
                count=row.count,
                duration_s=seconds,
                at=now,
            )
            line = PricedLine(row.uid, quoted)
        except WeirError as error:
            problem = " ".join(map(str, error.fields.values())) or str(error.message)
            line = PricedLine(row.uid, None, problem)
        lines.append(line)
    counted = [line for line in lines if line.uid in chosen]
    total = sum((line.quote.total for line in counted if line.quote), ZERO)
    is_partial = any(line.quote is None for line in counted)
    return PricedCart(lines, total, seconds is None, is_partial)


def quote_context(tenant: Tenant, lines: list[LineInput], given: dict) -> dict[str, object]:
    """The quotes of some lines, their sum, and when each that runs would start."""
    commodities = [commodity_get(tenant=tenant, uid=line.commodity_uid) for line in lines]
    quotes = quotes_make(commodities, lines, given["seconds"], given["coupon"])
    return {
        "quotes": [
            (quote, _expected_start(tenant, quote) if each.is_scheduled else None)
            for quote, each in zip(quotes, commodities, strict=True)
        ],
        "total": sum(quote.total for quote in quotes),
        "payable": sum(quote.payable for quote in quotes),
        "is_open_ended": given["seconds"] is None,
    }


def _expected_start(tenant: Tenant, quote: Quote) -> object:
    amounts = amounts_delivered(quote.amounts, quote.count)
    return expected_start_get(tenant=tenant, amounts=amounts, duration_s=quote.duration_s)


@require_GET
@page("catalog.view")
def quote(request: TenantRequest, uid: UUID) -> HttpResponse:
    """What the configuration on the page costs now; a wrong figure is named in its place."""
    commodity_get(tenant=request.entered_tenant, uid=uid)
    try:
        given = cleaned(QuoteForm(request.GET))
        context = quote_context(request.entered_tenant, [line_of(request.GET, uid)], given)
    except WeirError as error:
        context = {"error": error}
    return render(request, "orders/_quote.html", context)


@require_POST
@page("orders.apply")
def add(request: TenantRequest, uid: UUID) -> HttpResponse:
    line = line_of(request.POST, uid)
    is_said = "duration_unit" in request.POST
    chosen_s = cleaned(DurationForm(request.POST))["seconds"] if is_said else None
    cart_add(
        actor=request.actor,
        commodity_uid=uid,
        amounts=dict(line.amounts),
        count=line.count,
        duration_s=chosen_s,
        is_open_ended=is_said and chosen_s is None,
    )
    if is_said:
        # How long was asked for beside the quote; the cart does not ask for it a second time.
        request.session[CHOSEN_DURATION] = [
            request.POST.get("duration") or "1",
            request.POST["duration_unit"],
        ]
    messages.success(request, _("Added to cart."))
    return go(request, "orders:cart")


@page("orders.apply")
def cart(request: TenantRequest) -> HttpResponse:
    """Services put together before applying, each with its price and all with their sum (PLAT-APPLY-1)."""
    rows = _rows(request)
    open_ids = (
        set(commodity_list(tenant=request.entered_tenant).values_list("pk", flat=True)) if rows else set()
    )
    duration, unit = request.session.get(CHOSEN_DURATION, ("1", "3600"))
    if unit not in {code for code, _label in _units(rows)}:
        # What was chosen beside another service is not offered for these.
        duration, unit = "1", "3600"
    offered = [row for row in rows if row.commodity_id in open_ids]
    seconds = cleaned(DurationForm({"duration": duration, "duration_unit": unit}))["seconds"]
    priced = cart_prices(request.entered_tenant, offered, seconds, {row.uid for row in offered})
    found = {line.uid: line for line in priced.lines}
    context = {
        "rows": [(row, found.get(row.uid)) for row in rows],
        "priced": priced,
        "duration": duration,
        "units": [(code, label, code == unit) for code, label in _units(rows)],
    }
    return show(request, "orders/cart", context)


@require_GET
@page("orders.apply")
def prices(request: TenantRequest) -> HttpResponse:
    """What the lines of the cart cost for the time that stands beside them, and what those that are ticked cost
    together."""
    rows = _rows(request)
    open_ids = set(commodity_list(tenant=request.entered_tenant).values_list("pk", flat=True))
    offered = [row for row in rows if row.commodity_id in open_ids]
    ticked = set(request.GET.getlist("lines"))
    try:
        seconds = cleaned(DurationForm(request.GET))["seconds"]
    except WeirError as error:
        return render(request, "orders/_cart_prices.html", {"error": error})
    chosen = {row.uid for row in offered if str(row.uid) in ticked}
    priced = cart_prices(request.entered_tenant, offered, seconds, chosen)
    return render(request, "orders/_cart_prices.html", {"priced": priced})


def _rows(request: TenantRequest) -> list[CartLine]:
    return list(cart_list(actor=request.actor).prefetch_related("commodity__components__component"))


def _units(rows: list[CartLine]) -> list[tuple[str, object]]:
    """What durations are counted in; without an end only where all that is in the cart is sold so."""
    is_open_ended = bool(rows) and all(row.commodity.is_open_ended for row in rows)
    return [*DURATION_UNITS, *([WITHOUT_END] if is_open_ended else [])]


@require_POST
@page("orders.apply")
def remove(request: TenantRequest, uid: UUID) -> HttpResponse:
    cart_remove(actor=request.actor, line_uid=uid)
    return go(request, "orders:cart")


@require_POST
@page("orders.apply")
def make_form(request: TenantRequest) -> HttpResponse:
    """An application form of the chosen lines, as a draft to be completed (PLAT-APPLY-3)."""
    if not request.POST.getlist("lines"):
        raise InvalidInput(_("No service is chosen."), cure=_("Tick at least one line of the cart."))
    given = cleaned(ChosenLinesForm(request.POST))
    chosen = [row for row in cart_list(actor=request.actor) if row.uid in given["lines"]]
    form = form_draft(
        actor=request.actor,
        lines=[LineInput(row.commodity.uid, row.amounts, row.count) for row in reversed(chosen)],
        duration_s=given["seconds"],
        cart_uids=given["lines"],
    )
    return go(request, "orders:form_edit", form.uid)
