"""The tenant's own map: organizations with their members, business systems with who takes part."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.identity.page_access import cleaned, go, page, paged, show
from apps.identity.requests import TenantRequest
from apps.identity.selectors import user_names
from apps.orgs.forms import BusinessSystemForm, MemberSearchForm, OrganizationForm, TakePartForm
from apps.orgs.selectors import (
    business_system_get,
    business_system_list,
    business_system_user_ids,
    member_get,
    member_list,
    organization_get,
    organization_tree,
)
from apps.orgs.services.business_systems import (
    business_system_create,
    business_system_member_add,
    business_system_member_remove,
)
from apps.orgs.services.organizations import organization_create


@page("orgs.view")
def organizations(request: TenantRequest) -> HttpResponse:
    """The tree of organizations, the members, the business systems (PLAT-TEN-14 to -22)."""
    chosen = cleaned(MemberSearchForm(request.GET))
    actor = request.actor
    context = {
        "tree": organization_tree(actor=actor),
        "systems": business_system_list(actor=actor),
        "rows": paged(request, member_list(actor=actor, search=chosen["search"])),
        "chosen": chosen,
    }
    return show(request, "orgs/organizations", context)


@require_POST
@page("orgs.manage")
def organization_add(request: TenantRequest) -> HttpResponse:
    given = cleaned(OrganizationForm(request.POST))
    parent = organization_get(actor=request.actor, uid=given["parent"]) if given["parent"] else None
    organization_create(
        actor=request.actor, name=given["name"], parent=parent, description=given["description"]
    )
    messages.success(request, _("The organization is there."))
    return go(request, "orgs:organizations")


@require_POST
@page("orgs.manage")
def business_system_add(request: TenantRequest) -> HttpResponse:
    given = cleaned(BusinessSystemForm(request.POST))
    row = business_system_create(
        actor=request.actor,
        name=given["name"],
        number=given["number"],
        organization=organization_get(actor=request.actor, uid=given["organization"]),
        parent=business_system_get(actor=request.actor, uid=given["parent"]) if given["parent"] else None,
    )
    messages.success(request, _("The business system is there."))
    return go(request, "orgs:business_system", row.uid)


@page("orgs.view")
def business_system(request: TenantRequest, uid: UUID) -> HttpResponse:
    """One business system and who takes part in it (PLAT-TEN-22)."""
    actor = request.actor
    row = business_system_get(actor=actor, uid=uid)
    taking_part = set(business_system_user_ids(row))
    members = {member.user_id: member for member in member_list(actor=actor)}
    names = user_names(taking_part)
    context = {
        "system": row,
        "people": [(names[pk], members.get(pk)) for pk in sorted(taking_part, key=names.__getitem__)],
        "others": [member for pk, member in members.items() if pk not in taking_part],
    }
    return show(request, "orgs/business_system", context)


@require_POST
@page("orgs.manage")
def take_part(request: TenantRequest, uid: UUID) -> HttpResponse:
    row = business_system_get(actor=request.actor, uid=uid)
    member = member_get(actor=request.actor, uid=cleaned(TakePartForm(request.POST))["member"])
    business_system_member_add(actor=request.actor, business_system=row, user=member.user)
    return go(request, "orgs:business_system", uid)


@require_POST
@page("orgs.manage")
def leave(request: TenantRequest, uid: UUID) -> HttpResponse:
    row = business_system_get(actor=request.actor, uid=uid)
    member = member_get(actor=request.actor, uid=cleaned(TakePartForm(request.POST))["member"])
    business_system_member_remove(actor=request.actor, business_system=row, user=member.user)
    return go(request, "orgs:business_system", uid)
