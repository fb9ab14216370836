"""The operators' pages of reservations, and of the calls of a site's hooks that came to nothing."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.fleet.selectors import device_names
from apps.identity.pages.access import cleaned, go, operator_page, paged, show
from apps.identity.pages.requests import PortalRequest
from apps.scheduling.forms.reservations import ReservationForm
from apps.scheduling.hooks import hooks as registered
from apps.scheduling.permissions import SchedulingPermission as P
from apps.scheduling.selectors.workloads import hook_call_list, reservation_list
from apps.scheduling.services.hooks import hook_call_retry
from apps.scheduling.services.queues.reservations import reservation_cancel, reservation_make


@operator_page(P.VIEW, changes=P.MANAGE)
def reservations(request: PortalRequest) -> HttpResponse:
    """What is kept of the pool now and later, and a form to keep more (ELA-305)."""
    if request.method == "POST":
        row = reservation_make(actor=request.actor, **cleaned(ReservationForm(request.POST)))
        messages.success(request, _("%(name)s is reserved.") % {"name": row.name})
        return go(request, "scheduling_admin:reservations")
    rows = paged(request, reservation_list())
    context = {
        "rows": rows,
        "device_names": device_names({uid for row in rows for uid in row.device_uids}),
        "form": ReservationForm(),
        "may_manage": request.actor.may(P.MANAGE),
        "live": ["reservations"],
    }
    return show(request, "scheduling/reservations", context)


@require_POST
@operator_page(P.MANAGE)
def cancel_reservation(request: PortalRequest, uid: UUID) -> HttpResponse:
    row = reservation_cancel(actor=request.actor, uid=uid)
    messages.success(request, _("%(name)s is given back; what runs there goes on.") % {"name": row.name})
    return go(request, "scheduling_admin:reservations")


@operator_page(P.VIEW)
def hooks(request: PortalRequest) -> HttpResponse:
    """The site's hooks, and their calls that were not made yet or were given up (ELA-1102, ELA-1103)."""
    told = [(name, [kind.label for kind in sorted(each.kinds)]) for name, each in sorted(registered.items())]
    context = {
        "registered": told,
        "rows": paged(request, hook_call_list()),
        "may_manage": request.actor.may(P.MANAGE),
        "live": ["hooks"],
    }
    return show(request, "scheduling/hooks", context)


@require_POST
@operator_page(P.MANAGE)
def retry_hook(request: PortalRequest, uid: UUID) -> HttpResponse:
    row = hook_call_retry(actor=request.actor, uid=uid)
    messages.success(request, _("%(hook)s is called again.") % {"hook": row.hook})
    return go(request, "scheduling_admin:hooks")
