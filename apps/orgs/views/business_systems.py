"""Business systems: made, changed, moved, disabled and deleted, and who takes part in them."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from apps.identity.pages.access import cleaned, go, page, paged, show
from apps.identity.pages.requests import TenantRequest
from apps.identity.selectors import user_names
from apps.orgs.forms import BusinessSystemForm, BusinessSystemsChosenForm, ProgressForm, TakePartForm
from apps.orgs.models import BusinessSystem
from apps.orgs.permissions import OrgsPermission as P
from apps.orgs.selectors.business_systems import (
    business_system_get,
    business_system_list,
    business_system_user_ids,
    progress_list,
)
from apps.orgs.selectors.organizations import organization_get, organization_list
from apps.orgs.selectors.people import member_get, member_list
from apps.orgs.services.business_systems import (
    business_system_create,
    business_system_disable,
    business_system_enable,
    business_system_member_add,
    business_system_member_remove,
    business_system_update,
    business_systems_delete,
)
from apps.orgs.services.progress import progress_report, progress_withdraw
from apps.orgs.states import ReportState


def _said(request: TenantRequest) -> dict[str, Any]:
    """What the form of a business system says, with the rows that it names."""
    given = cleaned(BusinessSystemForm(request.POST))
    return given | {
        "organization": organization_get(actor=request.actor, uid=given["organization"]),
        "parent": business_system_get(actor=request.actor, uid=given["parent"]) if given["parent"] else None,
    }


@require_POST
@page("orgs.manage")
def business_system_add(request: TenantRequest) -> HttpResponse:
    row = business_system_create(actor=request.actor, **_said(request))
    messages.success(request, _("Business system created."))
    return go(request, "orgs:business_system", row.uid)


@require_http_methods(["GET", "POST"])
@page("orgs.view", changes="orgs.manage")
def business_system(request: TenantRequest, uid: UUID) -> HttpResponse:
    """One business system and who takes part in it (PLAT-TEN-22); posted, it is changed or moved."""
    actor = request.actor
    row = business_system_get(actor=actor, uid=uid)
    if request.method == "POST":
        business_system_update(actor=actor, business_system=row, **_said(request))
        messages.success(request, _("Saved."))
        return go(request, "orgs:business_system", uid)
    taking_part = set(business_system_user_ids(row))
    members = {member.user_id: member for member in member_list(actor=actor)}
    names = user_names(taking_part)
    context = {
        "system": row,
        "people": [(names[pk], members.get(pk)) for pk in sorted(taking_part, key=names.__getitem__)],
        "others": [member for pk, member in members.items() if pk not in taking_part],
        "parts": business_system_list(actor=actor).filter(parent=row),
        "may_manage": actor.may(P.MANAGE),
        "reports": paged(request, progress_list(actor=actor, business_system=row)),
        "may_report": row.is_enabled and (actor.may(P.MANAGE) or actor.user_id in taking_part),
        "is_awaited": row.reports.filter(state=ReportState.WAITING).exists(),
        "report_form": ProgressForm(initial={"stage": row.stage, "done_percent": row.done_percent}),
    }
    if context["may_manage"]:
        context |= {"organizations": organization_list(actor=actor), "above": _above(request, row)}
    return show(request, "orgs/business_system", context)


def _above(request: TenantRequest, row: BusinessSystem) -> list[BusinessSystem]:
    """The business systems that this one may be part of."""
    if row.children.exists():
        return []
    return list(business_system_list(actor=request.actor).filter(parent=None).exclude(pk=row.pk))


@require_POST
@page("orgs.manage")
def business_system_switch(request: TenantRequest, uid: UUID, state: str) -> HttpResponse:
    """Enable or disable it."""
    row = business_system_get(actor=request.actor, uid=uid)
    change = business_system_enable if state == "enable" else business_system_disable
    change(actor=request.actor, business_system=row)
    messages.success(request, _("Saved."))
    return go(request, "orgs:business_system", uid)


@require_POST
@page("orgs.manage")
def business_system_remove(request: TenantRequest) -> HttpResponse:
    """Delete the chosen ones that nothing was ever done for, all or none."""
    rows = business_system_list(actor=request.actor)
    chosen = set(cleaned(BusinessSystemsChosenForm(request.POST, rows))["chosen"])
    number = business_systems_delete(
        actor=request.actor, business_systems=[row for row in rows if str(row.uid) in chosen]
    )
    text = ngettext(
        "%(count)d business system is deleted.", "%(count)d business systems are deleted.", number
    )
    messages.success(request, text % {"count": number})
    return go(request, "orgs:organizations")


@require_POST
@page("orgs.view")
def report(request: TenantRequest, uid: UUID) -> HttpResponse:
    """Say how far it is; who decides confirms it in the inbox (PLAT-TEN-23)."""
    row = business_system_get(actor=request.actor, uid=uid)
    given = cleaned(ProgressForm(request.POST))
    made = progress_report(actor=request.actor, business_system=row, **given)
    messages.success(request, _("%(no)s is reported and waits to be confirmed.") % {"no": made.no})
    return go(request, "orgs:business_system", uid)


@require_POST
@page("orgs.view")
def report_withdraw(request: TenantRequest, uid: UUID) -> HttpResponse:
    row = progress_withdraw(actor=request.actor, uid=uid)
    messages.success(request, _("%(no)s is withdrawn.") % {"no": row.no})
    return go(request, "orgs:business_system", row.business_system.uid)


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
