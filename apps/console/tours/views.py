"""Beginning and ending the guided tour of one's role."""

from django.http import HttpResponse
from django.urls import get_script_prefix
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from apps.console.tours.selectors import stop_address, stops_for
from apps.identity.pages.access import go, page
from apps.identity.pages.requests import PortalRequest
from apps.identity.services.tours import tour_end
from apps.kernel.errors import NotFound


@require_safe
@page(plane="both")
def begin(request: PortalRequest) -> HttpResponse:
    """The first page of the tour of the active role."""
    address = stop_address(stops_for(request.actor), 1)
    if not address:
        raise NotFound(_("There is no tour for your role."))
    return go(request, address)


@require_POST
@page(plane="both")
def end(request: PortalRequest) -> HttpResponse:
    """The tour is over, or not wanted."""
    tour_end(actor=request.actor)
    return go(request, get_script_prefix())
