"""My orders: the list, one order, its termination."""

from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST

from apps.approvals.progress import runs_of
from apps.identity.pages.access import cleaned, go, page, show
from apps.identity.pages.lists.declared import Column, PageList, ranked
from apps.identity.pages.lists.pages import show_list
from apps.identity.pages.requests import TenantRequest
from apps.kernel.errors import WeirError
from apps.kernel.translatable import localized
from apps.orders.forms import (
    DURATION_UNITS,
    MoreTimeForm,
    OrdersForm,
    ReasonForm,
    RemarkForm,
    changed_amounts,
)
from apps.orders.models import Order
from apps.orders.selectors import (
    order_end_reason,
    order_get,
    order_is_changeable,
    order_is_extendable,
    order_is_terminable,
    order_list,
    orders_end_at,
    remark_list,
)
from apps.orders.services.again import order_again
from apps.orders.services.changes import CHANGEABLE, change_quote, order_change
from apps.orders.services.operator_ends import order_end
from apps.orders.services.remarks import order_remark
from apps.orders.services.terminations import order_terminate
from apps.orders.states import OrderState
from apps.orgs.selectors.business_systems import business_systems_known
from apps.storage.selectors import volume_by_uid
from apps.tickets.selectors import tickets_of

ORDERS = PageList(
    Column("no", gettext_lazy("Number"), sort="no", value="no"),
    Column(
        "service",
        gettext_lazy("Service"),
        sort=lambda: localized("commodity_name_zh", "commodity_name_en"),
        value="commodity_name",
    ),
    Column("supplier", gettext_lazy("Supplier"), sort="supplier", value="supplier", is_extra=True),
    Column(
        "system",
        gettext_lazy("Business system"),
        sort="business_system__name",
        value="business_system_name",
    ),
    Column("applicant", gettext_lazy("Applicant"), sort="applicant_name", value="applicant_name"),
    Column("form", gettext_lazy("Application"), sort="form__no", value="form.no", is_extra=True),
    Column(
        "state", gettext_lazy("State"), sort=ranked("state", OrderState.values), value="get_state_display"
    ),
    Column("made", gettext_lazy("Made"), sort="created_at", value="created_at"),
    Column("started", gettext_lazy("Started"), sort="started_at", value="started_at", is_extra=True),
    Column("ended", gettext_lazy("Ended"), sort="ended_at", value="ended_at", is_extra=True),
    order="-made",
)


@page("orders.view")
def orders(request: TenantRequest) -> HttpResponseBase:
    """The orders made of approved forms (PLAT-APPLY-18, PLAT-APPLY-21)."""
    chosen = cleaned(OrdersForm(request.GET))
    wanted = chosen | {"business_system": str(chosen["business_system"] or "")}
    context = {
        "chosen": chosen,
        "states": OrderState.choices,
        "systems": business_systems_known(actor=request.actor),
    }
    rows = order_list(actor=request.actor, **wanted)
    return show_list(request, "orders/orders", ORDERS, rows, context)


@page("orders.view")
def order(request: TenantRequest, uid: UUID) -> HttpResponse:
    """One order: what was asked, its time line, its tickets and its resource (PLAT-APPLY-16, -19)."""
    row = order_get(actor=request.actor, uid=uid)
    later = list(row.later_forms.order_by("pk"))
    context = {
        "order": row,
        "end_reason": order_end_reason(row),
        "tickets": tickets_of(row.uid),
        "runs": runs_of(*(form.uid for form in (*reversed(later), row.form))),
        "later_forms": later,
        "volume": volume_by_uid(row.volume_uid) if row.volume_uid else None,
        "kept_days": settings.WEIR_ENDED_VOLUME_DAYS,
        "parts": _changeable(row) if request.actor.may("orders.apply") else [],
        "ends_at": orders_end_at([row]).get(row.uid),
        "may_order_again": request.actor.may("orders.apply") and row.is_ended,
        "may_extend": request.actor.may("orders.apply") and order_is_extendable(row),
        "duration_units": DURATION_UNITS,
        "remarks": remark_list(actor=request.actor, order=row),
        "may_terminate": request.actor.may("orders.terminate") and order_is_terminable(row),
        "may_end": request.actor.kind == "operator"
        and request.actor.may("resources.operate")
        and row.charged_uid is not None
        and not row.is_ended,
        "live": [f"order.{row.uid}", f"form.{row.form.uid}", *(f"form.{form.uid}" for form in later)],
    }
    return show(request, "orders/order", context)


def _changeable(row: Order) -> list[tuple[object, int]]:
    """The parts of a running resource that can be changed, with the bounds of each and what it has now."""
    if not order_is_changeable(row):
        return []
    parts = row.line.commodity.components.select_related("component").filter(component__code__in=CHANGEABLE)
    return [(part, row.quote["amounts"][part.component.code]) for part in parts]


def _longer(row: Order, more_s: int) -> int | None:
    """For how long an order is to run in all; None where it runs without an end."""
    return None if row.duration_s is None else row.duration_s + more_s


@require_GET
@page("orders.apply")
def change_price(request: TenantRequest, uid: UUID) -> HttpResponse:
    """What the order would cost with the amounts on the page; a wrong one is named."""
    row = order_get(actor=request.actor, uid=uid)
    context: dict[str, object]
    try:
        more_s = cleaned(MoreTimeForm(request.GET))["seconds"]
        quote = change_quote(row, changed_amounts(request.GET), _longer(row, more_s))
        context = {"quotes": [(quote, None)], "total": quote.total, "payable": quote.payable}
        context["is_open_ended"] = quote.duration_s is None
    except WeirError as error:
        context = {"error": error}
    return render(request, "orders/_quote.html", context)


@require_POST
@page("orders.apply")
def change(request: TenantRequest, uid: UUID) -> HttpResponse:
    """Apply for another share of a card, or more time, for what runs (PLAT-APPLY-22)."""
    given = cleaned(ReasonForm(request.POST))
    more_s = cleaned(MoreTimeForm(request.POST))["seconds"]
    row = order_get(actor=request.actor, uid=uid)
    form = order_change(
        actor=request.actor,
        order_uid=uid,
        amounts=changed_amounts(request.POST),
        duration_s=_longer(row, more_s),
        reason=given["reason"],
    )
    messages.success(request, _("%(no)s asks for the change of the order.") % {"no": form.no})
    return go(request, "orders:form", form.uid)


@require_POST
@page("orders.apply")
def again(request: TenantRequest, uid: UUID) -> HttpResponse:
    """A draft with all that an order had."""
    form = order_again(actor=request.actor, order_uid=uid)
    return go(request, "orders:form_edit", form.uid)


@require_POST
@page("orders.terminate")
def terminate(request: TenantRequest, uid: UUID) -> HttpResponse:
    """Ask for the end of an order: a form of its own, approved like any other (PLAT-APPLY-20)."""
    given = cleaned(ReasonForm(request.POST))
    form = order_terminate(actor=request.actor, order_uid=uid, reason=given["reason"])
    messages.success(request, _("%(no)s asks for the end of the order.") % {"no": form.no})
    return go(request, "orders:form", form.uid)


@require_POST
@page("resources.operate")
def end(request: TenantRequest, uid: UUID) -> HttpResponse:
    """The computing centre ends what an order delivered."""
    row = order_end(actor=request.actor, order_uid=uid, reason=cleaned(ReasonForm(request.POST))["reason"])
    messages.success(request, _("What %(no)s delivered is being ended.") % {"no": row.no})
    return go(request, "orders:order", uid)


@require_POST
@page("orders.view")
def remark(request: TenantRequest, uid: UUID) -> HttpResponse:
    """Say something about an order to the other side (PLAT-APPLY-17)."""
    order_remark(actor=request.actor, order_uid=uid, text=cleaned(RemarkForm(request.POST))["text"])
    messages.success(request, _("Sent."))
    return go(request, "orders:order", uid)
