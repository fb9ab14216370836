"""The tenant's own map: organizations with their members, and the list of business systems."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from apps.identity.forms import OrganizationForm, OrganizationsChosenForm
from apps.identity.pages.access import cleaned, go, page, paged, show
from apps.identity.pages.requests import TenantRequest
from apps.kernel.errors import NotFound
from apps.orgs.forms import MemberSearchForm, OrganizationQuotaForm, TakePartForm
from apps.orgs.models import Organization
from apps.orgs.permissions import OrgsPermission as P
from apps.orgs.selectors.business_systems import business_system_list
from apps.orgs.selectors.organizations import (
    organization_get,
    organization_ids_below,
    organization_list,
    organization_tree,
    organization_uids_below,
)
from apps.orgs.selectors.people import member_get, member_list
from apps.orgs.services.organizations import (
    member_remove,
    organization_create,
    organization_disable,
    organization_enable,
    organization_quotas_set,
    organization_update,
    organizations_delete,
)
from apps.scheduling.selectors.entitlements.quotas import organization_quota_list
from apps.scheduling.selectors.workloads import workload_list
from apps.scheduling.states import FINAL_STATES

# Of an organization's resources so many on its page.
SHOWN = 8
# What the parts of the pages that operators' organizations share lead to.
URLS = {
    "url_one": "orgs:organization",
    "url_add": "orgs:organization_add",
    "url_remove": "orgs:organization_remove",
    "url_enable": "orgs:organization_enable",
    "url_disable": "orgs:organization_disable",
}


@page("orgs.view")
def organizations(request: TenantRequest) -> HttpResponse:
    """The tree of organizations, the members, the business systems (PLAT-TEN-14 to -22)."""
    chosen = cleaned(MemberSearchForm(request.GET))
    actor = request.actor
    context = {
        "tree": organization_tree(actor=actor),
        "found": organization_tree(actor=actor, name=chosen["name"]),
        "systems": business_system_list(actor=actor),
        "rows": paged(request, member_list(actor=actor, search=chosen["search"])),
        "chosen": chosen,
        "may_manage": actor.may(P.MANAGE),
    }
    return show(request, "orgs/organizations", context | URLS)


@require_POST
@page("orgs.manage")
def organization_add(request: TenantRequest) -> HttpResponse:
    given = cleaned(OrganizationForm(request.POST))
    parent = organization_get(actor=request.actor, uid=given["parent"]) if given["parent"] else None
    organization_create(
        actor=request.actor,
        name=given["name"],
        parent=parent,
        description=given["description"],
        attributes=given["attributes"],
    )
    messages.success(request, _("Organization created."))
    return go(request, "orgs:organizations")


@require_http_methods(["GET", "POST"])
@page("orgs.view", changes="orgs.manage")
def organization(request: TenantRequest, uid: UUID) -> HttpResponse:
    """One organization: overview, its people, its business systems (PLAT-TEN-17, PLAT-TEN-19)."""
    actor = request.actor
    row = organization_get(actor=actor, uid=uid)
    if request.method == "POST":
        given = cleaned(OrganizationForm(request.POST))
        above = organization_get(actor=actor, uid=given["parent"]) if given["parent"] else None
        organization_update(
            actor=actor,
            organization=row,
            name=given["name"],
            parent=above,
            description=given["description"],
            attributes=given["attributes"],
        )
        messages.success(request, _("Saved."))
        return go(request, "orgs:organization", uid)
    tree = organization_tree(actor=actor)
    below = organization_ids_below(row)
    context = {
        "organization": row,
        "head_count": next(found.head_count for found in tree if found.organization.pk == row.pk),
        "places": [found for found in tree if found.organization.pk not in below],
        "lower": [found for found in tree if found.organization.parent_id == row.pk],
        "rows": paged(request, member_list(actor=actor, organization=row)),
        "systems": business_system_list(actor=actor).filter(organization=row),
        "attributes_text": "\n".join(f"{name}: {value}" for name, value in row.attributes.items()),
        **_quota(request, row),
        "resources": workload_list(request.entered_tenant, actor=actor)
        .filter(organization__in=organization_uids_below(row))
        .exclude(state__in=FINAL_STATES)[:SHOWN],
        "may_manage": actor.may(P.MANAGE),
        "disabled_hint": _(
            "A disabled organization takes no new members and business systems; those it has stay."
        ),
    }
    return show(request, "orgs/organization", context | URLS)


def _quota(request: TenantRequest, row: Organization) -> dict[str, Any]:
    """The lines of its quota, each with the field that sets it."""
    lines = organization_quota_list(request.entered_tenant, row.uid)
    form = OrganizationQuotaForm(
        initial={line.item: line.quota.total if line.quota else None for line in lines}
    )
    return {"quota_lines": [(line, form[line.item]) for line in lines]}


@require_POST
@page("orgs.manage")
def organization_quota(request: TenantRequest, uid: UUID) -> HttpResponse:
    """What it and all below it may hold together (PLAT-TEN-18)."""
    row = organization_get(actor=request.actor, uid=uid)
    organization_quotas_set(
        actor=request.actor, organization=row, totals=cleaned(OrganizationQuotaForm(request.POST))
    )
    messages.success(request, _("Saved."))
    return go(request, "orgs:organization", uid)


@require_POST
@page("orgs.manage")
def organization_switch(request: TenantRequest, uid: UUID, state: str) -> HttpResponse:
    """Enable or disable it."""
    row = organization_get(actor=request.actor, uid=uid)
    change = organization_enable if state == "enable" else organization_disable
    change(actor=request.actor, organization=row)
    messages.success(request, _("Saved."))
    return go(request, "orgs:organization", uid)


@require_POST
@page("orgs.manage")
def organization_remove(request: TenantRequest) -> HttpResponse:
    """Delete the chosen ones, all or none (PLAT-TEN-14)."""
    rows = organization_list(actor=request.actor)
    chosen = set(cleaned(OrganizationsChosenForm(request.POST, rows))["chosen"])
    number = organizations_delete(
        actor=request.actor, organizations=[row for row in rows if str(row.uid) in chosen]
    )
    text = ngettext("%(count)d organization is deleted.", "%(count)d organizations are deleted.", number)
    messages.success(request, text % {"count": number})
    return go(request, "orgs:organizations")


@require_POST
@page("orgs.manage")
def member_take_out(request: TenantRequest, uid: UUID) -> HttpResponse:
    """Somebody belongs to the organization no more; account and roles stay (PLAT-TEN-17)."""
    member = member_get(actor=request.actor, uid=cleaned(TakePartForm(request.POST))["member"])
    if member.organization.uid != uid:
        raise NotFound()
    member_remove(actor=request.actor, member=member)
    messages.success(request, _("%(name)s belongs to no organization now.") % {"name": member})
    return go(request, "orgs:organization", uid)
