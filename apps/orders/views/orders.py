"""My orders: the list, one order, its termination."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.approvals.selectors import process_list
from apps.identity.pages.access import cleaned, go, page, paged, show
from apps.identity.pages.requests import TenantRequest
from apps.orders.forms import OrdersForm, TerminationForm
from apps.orders.selectors import order_end_reason, order_get, order_is_terminable, order_list
from apps.orders.services.terminations import order_terminate
from apps.orders.states import OrderState
from apps.orgs.selectors import business_system_list
from apps.tickets.selectors import tickets_of


@page("orders.view")
def orders(request: TenantRequest) -> HttpResponse:
    """The orders made of approved forms (PLAT-APPLY-18, PLAT-APPLY-21)."""
    chosen = cleaned(OrdersForm(request.GET))
    wanted = chosen | {"business_system": str(chosen["business_system"] or "")}
    context = {
        "rows": paged(request, order_list(actor=request.actor, **wanted)),
        "chosen": chosen,
        "states": OrderState.choices,
        "systems": business_system_list(actor=request.actor),
    }
    return show(request, "orders/orders", context)


@page("orders.view")
def order(request: TenantRequest, uid: UUID) -> HttpResponse:
    """One order: what was asked, its time line, its tickets and its resource (PLAT-APPLY-16, -19)."""
    row = order_get(actor=request.actor, uid=uid)
    terminations = list(row.terminations.all())
    context = {
        "order": row,
        "end_reason": order_end_reason(row),
        "tickets": tickets_of(row.uid),
        "processes": [
            process for form in (*reversed(terminations), row.form) for process in process_list(form.uid)
        ],
        "terminations": terminations,
        "may_terminate": request.actor.may("orders.terminate") and order_is_terminable(row),
        "live": [f"order.{row.uid}", f"form.{row.form.uid}", *(f"form.{form.uid}" for form in terminations)],
    }
    return show(request, "orders/order", context)


@require_POST
@page("orders.terminate")
def terminate(request: TenantRequest, uid: UUID) -> HttpResponse:
    """Ask for the end of an order: a form of its own, approved like any other (PLAT-APPLY-20)."""
    given = cleaned(TerminationForm(request.POST))
    form = order_terminate(actor=request.actor, order_uid=uid, reason=given["reason"])
    messages.success(request, _("%(no)s asks for the end of the order.") % {"no": form.no})
    return go(request, "orders:form", form.uid)
