"""The business systems that the reader takes part in, and which of them is his default."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from apps.identity.pages.access import cleaned, go, page, show
from apps.identity.pages.requests import TenantRequest
from apps.orgs.forms import DefaultSystemForm
from apps.orgs.permissions import OrgsPermission as P
from apps.orgs.selectors.business_systems import business_system_get
from apps.orgs.services.default_systems import (
    default_system_find,
    default_system_is_usable,
    default_system_set,
    systems_taken_part,
)


@require_http_methods(["GET", "HEAD", "POST"])
@page(P.VIEW)
def own_systems(request: TenantRequest) -> HttpResponse:
    """Choose what work and applications are for where they name no business system."""
    if request.method == "POST":
        chosen: UUID | None = cleaned(DefaultSystemForm(request.POST))["business_system"]
        row = business_system_get(actor=request.actor, uid=chosen) if chosen else None
        default_system_set(actor=request.actor, business_system=row)
        said = _("Your work is for %(name)s, unless it names another.") % {"name": row.name} if row else ""
        messages.success(request, said or _("Your work is for no business system, unless it names one."))
        return go(request, "people:own_systems")
    default = default_system_find(request.actor)
    context = {
        "systems": systems_taken_part(request.actor),
        "default": default,
        "is_refused": default is not None and not default_system_is_usable(request.actor, default),
    }
    return show(request, "orgs/own_systems", context)
