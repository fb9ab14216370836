"""People, their roles, and every kind of token, on the operator pages."""

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.identity.admin_base import Act, OperatorAdmin, OperatorInline, column
from apps.identity.models import (
    AgentToken,
    ApiToken,
    Membership,
    OperatorRole,
    SignIn,
    User,
)
from apps.identity.permissions import IdentityPermission as P
from apps.identity.services.tokens import agent_token_revoke, api_token_revoke
from apps.identity.services.users import user_disable, user_enable
from apps.kernel.actor import Actor

FLEET_VIEW, FLEET_MANAGE = "fleet.view", "fleet.manage"


def _user_disable(actor: Actor, row: User, given: Mapping[str, Any]) -> str:
    user_disable(actor=actor, user=row)
    return _("%(name)s signs in no more.") % {"name": row.username}


def _user_enable(actor: Actor, row: User, given: Mapping[str, Any]) -> str:
    user_enable(actor=actor, user=row)
    return _("%(name)s can sign in now.") % {"name": row.username}


def _agent_token_revoke(actor: Actor, row: AgentToken, given: Mapping[str, Any]) -> str:
    agent_token_revoke(actor=actor, token=row)
    return _("The token is revoked.")


def _api_token_revoke(actor: Actor, row: ApiToken, given: Mapping[str, Any]) -> str:
    api_token_revoke(actor=actor, token=row)
    return _("The token is revoked.")


class MembershipInline(OperatorInline):
    model = Membership
    fields = ["tenant", "is_active", "created_at"]


@admin.register(User)
class UserAdmin(OperatorAdmin):
    """Tenants' people over all tenants; the operators' own have a page of their own (PLAT-TEN-37)."""

    view_permission = P.VIEW
    list_display = ["username", "display_name", "email", "is_active", "created_at"]
    list_filter = ["is_active", "memberships__tenant"]
    search_fields = ["username", "display_name", "email"]
    fields = ["username", "display_name", "email", "language", "is_active", "created_at"]
    inlines = [MembershipInline]
    row_acts = [
        Act(
            "disable",
            gettext_lazy("Disable"),
            P.MANAGE,
            _user_disable,
            hint=gettext_lazy("Open sessions and API tokens end at their next use."),
            is_danger=True,
            applies=lambda row: row.is_active,
        ),
        Act(
            "enable",
            gettext_lazy("Enable"),
            P.MANAGE,
            _user_enable,
            applies=lambda row: not row.is_active,
        ),
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        rows: QuerySet[User] = super().get_queryset(request)
        return rows.filter(is_operator=False)


@admin.register(OperatorRole)
class OperatorRoleAdmin(OperatorAdmin):
    view_permission = P.VIEW
    list_display = ["code", "name_en", "name_zh", "is_builtin", "created_at"]
    list_filter = ["is_builtin"]
    search_fields = ["code", "name_en", "name_zh"]


@admin.register(ApiToken)
class ApiTokenAdmin(OperatorAdmin):
    view_permission = P.VIEW
    list_display = ["name", "hint", "user", "tenant", "expires_at", "used_at", "revoked_at"]
    list_filter = ["tenant"]
    list_select_related = ["user", "tenant"]
    search_fields = ["name", "hint", "user__username"]
    exclude = ["digest"]
    row_acts = [
        Act(
            "revoke",
            gettext_lazy("Revoke"),
            P.MANAGE,
            _api_token_revoke,
            is_danger=True,
            applies=lambda row: row.revoked_at is None,
        )
    ]


@admin.register(AgentToken)
class AgentTokenAdmin(OperatorAdmin):
    view_permission = FLEET_VIEW
    list_display = ["created_at", "kind", "note", "node_uid", "shown_state", "expires_at", "used_at"]
    list_filter = ["kind"]
    search_fields = ["note", "node_uid"]
    exclude = ["digest"]
    add_page = (FLEET_MANAGE, "fleet:join")
    row_acts = [
        Act(
            "revoke",
            gettext_lazy("Revoke"),
            FLEET_MANAGE,
            _agent_token_revoke,
            hint=gettext_lazy("A revoked credential stops its agent at the next message."),
            is_danger=True,
            applies=lambda row: row.revoked_at is None,
        )
    ]

    @column(description=gettext_lazy("state"), is_state=True)
    def shown_state(self, row: AgentToken) -> tuple[str, str]:
        if row.revoked_at:
            return "revoked", _("Revoked")
        is_spent = row.kind == AgentToken.Kind.JOIN and row.used_at is not None
        return ("spent", _("Spent")) if is_spent else ("usable", _("Usable"))


@admin.register(SignIn)
class SignInAdmin(OperatorAdmin):
    view_permission = "audit.view"
    list_display = ["at", "username", "schema", "address", "is_accepted"]
    list_filter = ["is_accepted", "schema"]
    search_fields = ["username", "address"]
