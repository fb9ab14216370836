"""The operators' pages of user groups, by which queues are theirs (PLAT-CLU-61)."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.identity.pages.access import cleaned, go, operator_page, paged, show
from apps.identity.pages.picks import people_picks
from apps.identity.pages.requests import PortalRequest
from apps.scheduling.forms.entitlements import NewUserGroupForm, UserGroupForm
from apps.scheduling.models import UserGroup
from apps.scheduling.permissions import SchedulingPermission as P
from apps.scheduling.selectors.entitlements.resource_tickets import user_group_get, user_group_list
from apps.scheduling.services.entitlements.user_groups import (
    user_group_change,
    user_group_make,
    user_group_remove,
)


@operator_page(P.VIEW, changes=P.MANAGE)
def user_groups(request: PortalRequest) -> HttpResponse:
    """The groups with their users and queues; a new one."""
    if request.method == "POST":
        row = user_group_make(actor=request.actor, **cleaned(NewUserGroupForm(request.POST)))
        messages.success(request, _("User group %(code)s created.") % {"code": row.code})
        return go(request, "scheduling_admin:user_groups")
    context = {
        "rows": paged(request, user_group_list()),
        "form": NewUserGroupForm(),
        "may_manage": request.actor.may(P.MANAGE),
    }
    return show(request, "scheduling/user_groups", context)


@operator_page(P.VIEW, changes=P.MANAGE)
def user_group(request: PortalRequest, code: str) -> HttpResponse:
    """One group, to be looked at or changed."""
    row = user_group_get(code)
    if request.method == "POST":
        user_group_change(actor=request.actor, group=row, **cleaned(UserGroupForm(request.POST)))
        messages.success(request, _("User group %(code)s is changed.") % {"code": code})
        return go(request, "scheduling_admin:user_groups")
    context = {
        "group": row,
        "form": UserGroupForm(initial=_said(row)),
        "may_manage": request.actor.may(P.MANAGE),
    }
    return show(request, "scheduling/user_group", context)


def _said(row: UserGroup) -> dict[str, Any]:
    return {"name_en": row.name_en, "name_zh": row.name_zh, "users": people_picks(row.users.all())}


@require_POST
@operator_page(P.MANAGE)
def remove_user_group(request: PortalRequest, code: str) -> HttpResponse:
    user_group_remove(actor=request.actor, group=user_group_get(code))
    messages.success(request, _("User group %(code)s is removed.") % {"code": code})
    return go(request, "scheduling_admin:user_groups")
