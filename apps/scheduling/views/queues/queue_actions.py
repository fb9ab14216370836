"""What operators do on the scheduling pages with one press."""

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.identity.pages.access import cleaned, go, operator_page
from apps.identity.pages.requests import PortalRequest
from apps.scheduling.forms.queues import PriorityForm
from apps.scheduling.permissions import SchedulingPermission as P
from apps.scheduling.selectors.entitlements.resource_tickets import user_find
from apps.scheduling.selectors.workloads import queue_get
from apps.scheduling.services.entitlements.access_rules import priority_set
from apps.scheduling.services.queues.queue_settings import queue_remove


@require_POST
@operator_page(P.MANAGE)
def remove_queue(request: PortalRequest, code: str) -> HttpResponse:
    queue_remove(actor=request.actor, queue=queue_get(code))
    messages.success(request, _("Queue %(code)s is removed.") % {"code": code})
    return go(request, "scheduling_admin:queues")


@require_POST
@operator_page(P.MANAGE)
def set_priority(request: PortalRequest, username: str) -> HttpResponse:
    user = user_find(username)
    priority_set(actor=request.actor, user=user, **cleaned(PriorityForm(request.POST)))
    messages.success(request, _("New work of %(name)s follows it.") % {"name": user.display_name})
    return go(request, "scheduling_admin:priorities")
