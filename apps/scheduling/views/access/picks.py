"""What the operators' forms of the scheduler offer to choose from: people and devices, by part of a name."""

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from apps.fleet.selectors import device_picks, devices_matching
from apps.identity.pages.access import operator_page
from apps.identity.pages.picks import OFFERED, people_shown, picks_shown
from apps.identity.pages.requests import PortalRequest
from apps.scheduling.permissions import SchedulingPermission as P


@require_safe
@operator_page(P.VIEW)
def people(request: PortalRequest) -> HttpResponse:
    """Whom a limit, a rule or a group may name."""
    return people_shown(request)


@require_safe
@operator_page(P.VIEW)
def devices(request: PortalRequest) -> HttpResponse:
    """What a reservation may keep."""
    return picks_shown(request, lambda words: device_picks(devices_matching(words)[: OFFERED + 1]))
