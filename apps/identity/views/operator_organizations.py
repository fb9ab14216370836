"""The operators' pages of the centre's own organizations (PLAT-TEN-36)."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from apps.identity.forms import (
    OrganizationForm,
    OrganizationsChosenForm,
    OrganizationSearchForm,
    TakeOutForm,
)
from apps.identity.models import OperatorOrganization
from apps.identity.pages.access import cleaned, go, operator_page, paged, show
from apps.identity.pages.requests import PortalRequest
from apps.identity.permissions import IdentityPermission as P
from apps.identity.rules.organizations import ids_below
from apps.identity.selectors import (
    operator_get,
    operator_list,
    operator_organization_get,
    operator_organization_list,
    operator_organization_tree,
)
from apps.identity.services import operator_organizations as services
from apps.kernel.errors import NotFound

VIEW, MANAGE = "identity.view", "identity.manage"
# What the parts of the pages that tenants' organizations share lead to.
URLS = {
    "url_one": "operators:organization",
    "url_add": "operators:organization_add",
    "url_remove": "operators:organization_remove",
    "url_enable": "operators:organization_enable",
    "url_disable": "operators:organization_disable",
}


@operator_page(VIEW)
def organizations(request: PortalRequest) -> HttpResponse:
    """The tree of the centre's own organizations."""
    chosen = cleaned(OrganizationSearchForm(request.GET))
    context = {
        "tree": operator_organization_tree(actor=request.actor),
        "found": operator_organization_tree(actor=request.actor, name=chosen["name"]),
        "chosen": chosen,
        "may_manage": request.actor.may(P.MANAGE),
    }
    return show(request, "identity/operator_organizations", context | URLS)


@require_POST
@operator_page(MANAGE)
def organization_add(request: PortalRequest) -> HttpResponse:
    given = cleaned(OrganizationForm(request.POST))
    services.operator_organization_create(
        actor=request.actor, **given | {"parent": _row(request, given["parent"])}
    )
    messages.success(request, _("Organization created."))
    return go(request, "operators:organizations")


def _row(request: PortalRequest, uid: UUID | None) -> OperatorOrganization | None:
    return operator_organization_get(actor=request.actor, uid=uid) if uid else None


@require_http_methods(["GET", "POST"])
@operator_page(VIEW, changes=MANAGE)
def organization(request: PortalRequest, uid: UUID) -> HttpResponse:
    """One organization: overview and its operators."""
    actor = request.actor
    row = operator_organization_get(actor=actor, uid=uid)
    if request.method == "POST":
        given = cleaned(OrganizationForm(request.POST))
        services.operator_organization_update(
            actor=actor, organization=row, **given | {"parent": _row(request, given["parent"])}
        )
        messages.success(request, _("Saved."))
        return go(request, "operators:organization", uid)
    tree = operator_organization_tree(actor=actor)
    below = ids_below(OperatorOrganization.objects.all(), row.pk)
    context = {
        "organization": row,
        "head_count": next(found.head_count for found in tree if found.organization.pk == row.pk),
        "places": [found for found in tree if found.organization.pk not in below],
        "lower": [found for found in tree if found.organization.parent_id == row.pk],
        "rows": paged(request, operator_list(actor=actor).filter(organization=row)),
        "attributes_text": "\n".join(f"{name}: {value}" for name, value in row.attributes.items()),
        "may_manage": actor.may(P.MANAGE),
        "disabled_hint": _("A disabled organization takes nobody new; who is in it stays."),
    }
    return show(request, "identity/operator_organization", context | URLS)


@require_POST
@operator_page(MANAGE)
def organization_switch(request: PortalRequest, uid: UUID, state: str) -> HttpResponse:
    """Enable or disable it."""
    row = operator_organization_get(actor=request.actor, uid=uid)
    services.operator_organization_switch(actor=request.actor, organization=row, is_enabled=state == "enable")
    messages.success(request, _("Saved."))
    return go(request, "operators:organization", uid)


@require_POST
@operator_page(MANAGE)
def organization_remove(request: PortalRequest) -> HttpResponse:
    """Delete the chosen ones, all or none."""
    rows = operator_organization_list(actor=request.actor)
    chosen = set(cleaned(OrganizationsChosenForm(request.POST, rows))["chosen"])
    number = services.operator_organizations_delete(
        actor=request.actor, organizations=[row for row in rows if str(row.uid) in chosen]
    )
    text = ngettext("%(count)d organization is deleted.", "%(count)d organizations are deleted.", number)
    messages.success(request, text % {"count": number})
    return go(request, "operators:organizations")


@require_POST
@operator_page(MANAGE)
def take_out(request: PortalRequest, uid: UUID) -> HttpResponse:
    """An operator is in the organization no more; account and roles stay."""
    user = operator_get(actor=request.actor, uid=cleaned(TakeOutForm(request.POST))["member"])
    if user.organization is None or user.organization.uid != uid:
        raise NotFound()
    services.operator_move(actor=request.actor, user=user, organization=None)
    messages.success(request, _("%(name)s belongs to no organization now.") % {"name": user})
    return go(request, "operators:organization", uid)
