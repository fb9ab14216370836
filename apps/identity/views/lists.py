"""What a person keeps of the portal's lists: views under a name, and the columns that he wants to see."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.identity.forms import ColumnsForm, SavedViewForm, SavedViewNameForm
from apps.identity.pages.access import cleaned, go, next_url, page
from apps.identity.pages.requests import PortalRequest
from apps.identity.selectors import saved_view_get
from apps.identity.services.saved_views import (
    columns_choose,
    saved_view_delete,
    saved_view_keep,
    saved_view_rename,
)


@require_POST
@page(plane="both")
def columns(request: PortalRequest) -> HttpResponse:
    """Show these columns of a list."""
    given = cleaned(ColumnsForm(request.POST))
    wanted = [] if given["is_usual"] else given["columns"]
    columns_choose(actor=request.actor, page=given["page"], columns=wanted)
    return go(request, next_url(request))


@require_POST
@page(plane="both")
def view_keep(request: PortalRequest) -> HttpResponse:
    """Keep a list as it stands."""
    row = saved_view_keep(actor=request.actor, **cleaned(SavedViewForm(request.POST)))
    messages.success(request, _("The view %(name)s is saved.") % {"name": row.name})
    return go(request, next_url(request))


@require_POST
@page(plane="both")
def view_rename(request: PortalRequest, uid: UUID) -> HttpResponse:
    """Call a view otherwise."""
    found = saved_view_get(request.actor, uid)
    saved_view_rename(actor=request.actor, view=found, **cleaned(SavedViewNameForm(request.POST)))
    return go(request, next_url(request))


@require_POST
@page(plane="both")
def view_delete(request: PortalRequest, uid: UUID) -> HttpResponse:
    """Keep a view no longer."""
    found = saved_view_get(request.actor, uid)
    saved_view_delete(actor=request.actor, view=found)
    messages.success(request, _("The view %(name)s is deleted.") % {"name": found.name})
    return go(request, next_url(request))
