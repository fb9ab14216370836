"""What operators do on the scheduling pages with one press."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.identity.pages import cleaned, go, operator_page
from apps.scheduling.desk_forms import PriorityForm
from apps.scheduling.permissions import SchedulingPermission as P
from apps.scheduling.rights_list import user_find
from apps.scheduling.selectors import queue_get
from apps.scheduling.services.queues import queue_remove
from apps.scheduling.services.rights import priority_set, special_act, validity_remove


@require_POST
@operator_page(P.MANAGE)
def remove_queue(request: HttpRequest, code: str) -> HttpResponse:
    queue_remove(actor=request.actor, queue=queue_get(code))
    messages.success(request, _("Queue %(code)s is removed.") % {"code": code})
    return go(request, "schedule:queues")


@require_POST
@operator_page(P.MANAGE)
def set_priority(request: HttpRequest, username: str) -> HttpResponse:
    user = user_find(username)
    priority_set(actor=request.actor, user=user, **cleaned(PriorityForm(request.POST)))
    messages.success(request, _("New work of %(name)s follows it.") % {"name": user.display_name})
    return go(request, "schedule:priorities")


@require_POST
@operator_page(P.MANAGE)
def remove_validity(request: HttpRequest) -> HttpResponse:
    """One or several at once (PLAT-AICFG-33)."""
    count = validity_remove(
        actor=request.actor, pks=[int(pk) for pk in request.POST.getlist("rule") if pk.isdecimal()]
    )
    messages.success(request, _("%(count)s rules are removed; their limits have ended.") % {"count": count})
    return go(request, "schedule:validity")


@require_POST
@operator_page(P.MANAGE)
def special(request: HttpRequest, pk: int, act: str) -> HttpResponse:
    special_act(actor=request.actor, pk=pk, act=act)
    messages.success(request, _("The special specification is changed; it holds at once."))
    return go(request, "schedule:specials")
