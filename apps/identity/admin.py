"""People, their roles, and every kind of token, on the operators' desk."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import admin
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.decorators import display

from apps.identity.admin_base import Act, ActForm, DeskAdmin, DeskInline, Secret
from apps.identity.models import (
    AgentToken,
    ApiToken,
    Membership,
    OperatorBinding,
    OperatorRole,
    SignIn,
    User,
)
from apps.identity.permissions import IdentityPermission as P
from apps.identity.services import (
    agent_token_revoke,
    api_token_revoke,
    join_token_make,
    membership_add,
    membership_remove,
    operator_role_bind,
    operator_role_unbind,
    user_create,
    user_disable,
    user_enable,
)
from apps.kernel.acts import Actor
from apps.tenancy.selectors import tenant_active_list, tenant_list

FLEET_VIEW, FLEET_MANAGE = "fleet.view", "fleet.manage"


class UserForm(ActForm):
    username = forms.CharField(label=gettext_lazy("Login account"), max_length=64)
    display_name = forms.CharField(label=gettext_lazy("Name"), max_length=120)
    email = forms.EmailField(label=gettext_lazy("E-mail"), required=False)
    password = forms.CharField(
        label=gettext_lazy("First password"), strip=False, widget=forms.PasswordInput, max_length=256
    )
    is_operator = forms.BooleanField(label=gettext_lazy("Operator side"), required=False)


class RoleForm(ActForm):
    role = forms.ModelChoiceField(OperatorRole.objects.all(), label=gettext_lazy("Role"))


class HeldRoleForm(ActForm):
    role = forms.ModelChoiceField(OperatorRole.objects.all(), label=gettext_lazy("Role"))

    def prepare(self) -> None:
        self.fields["role"].queryset = OperatorRole.objects.filter(bindings__user=self.row)


class TenantForm(ActForm):
    tenant = forms.ModelChoiceField(tenant_active_list(), label=gettext_lazy("Tenant"))


class MembershipForm(ActForm):
    tenant = forms.ModelChoiceField(tenant_list(), label=gettext_lazy("Tenant"))

    def prepare(self) -> None:
        held = self.row.memberships.filter(is_active=True)
        self.fields["tenant"].queryset = tenant_list().filter(pk__in=held.values("tenant"))


class JoinTokenForm(ActForm):
    note = forms.CharField(label=gettext_lazy("For which node"), max_length=120)
    ttl_s = forms.IntegerField(
        label=gettext_lazy("Lives for (seconds)"), min_value=60, max_value=30 * 86400, initial=3600
    )


def _user_create(actor: Actor, row: None, given: Mapping[str, Any]) -> str:
    user = user_create(actor=actor, **given)
    return _("%(name)s can sign in now.") % {"name": user.username}


def _user_disable(actor: Actor, row: User, given: Mapping[str, Any]) -> str:
    user_disable(actor=actor, user=row)
    return _("%(name)s signs in no more.") % {"name": row.username}


def _user_enable(actor: Actor, row: User, given: Mapping[str, Any]) -> str:
    user_enable(actor=actor, user=row)
    return _("%(name)s can sign in now.") % {"name": row.username}


def _role_bind(actor: Actor, row: User, given: Mapping[str, Any]) -> str:
    operator_role_bind(actor=actor, user=row, role_code=given["role"].code)
    return _("%(name)s holds the role %(role)s.") % {"name": row.username, "role": given["role"]}


def _role_unbind(actor: Actor, row: User, given: Mapping[str, Any]) -> str:
    operator_role_unbind(actor=actor, user=row, role_code=given["role"].code)
    return _("%(name)s does not hold the role %(role)s any more.") % {
        "name": row.username,
        "role": given["role"],
    }


def _membership_add(actor: Actor, row: User, given: Mapping[str, Any]) -> str:
    membership_add(actor=actor, user=row, tenant=given["tenant"])
    return _("%(name)s belongs to %(tenant)s.") % {"name": row.username, "tenant": given["tenant"]}


def _membership_remove(actor: Actor, row: User, given: Mapping[str, Any]) -> str:
    membership_remove(actor=actor, user=row, tenant=given["tenant"])
    return _("%(name)s enters %(tenant)s no more.") % {"name": row.username, "tenant": given["tenant"]}


def _join_token_make(actor: Actor, row: None, given: Mapping[str, Any]) -> Secret:
    token, secret = join_token_make(actor=actor, **given)
    return Secret(_("One node may join with this token: %(note)s.") % {"note": token.note}, secret)


def _agent_token_revoke(actor: Actor, row: AgentToken, given: Mapping[str, Any]) -> str:
    agent_token_revoke(actor=actor, token=row)
    return _("The token is revoked.")


def _api_token_revoke(actor: Actor, row: ApiToken, given: Mapping[str, Any]) -> str:
    api_token_revoke(actor=actor, token=row)
    return _("The token is revoked.")


class BindingInline(DeskInline):
    model = OperatorBinding
    fields = ["role", "created_at"]


class MembershipInline(DeskInline):
    model = Membership
    fields = ["tenant", "is_active", "created_at"]


@admin.register(User)
class UserAdmin(DeskAdmin):
    view_permission = P.VIEW
    list_display = ["username", "display_name", "email", "is_operator", "is_active", "created_at"]
    list_filter = ["is_operator", "is_active", "memberships__tenant"]
    search_fields = ["username", "display_name", "email"]
    fields = ["username", "display_name", "email", "language", "is_operator", "is_active", "created_at"]
    inlines = [BindingInline, MembershipInline]
    add_act = Act("add", gettext_lazy("Create a user"), P.MANAGE, _user_create, UserForm)
    row_acts = [
        Act(
            "disable",
            gettext_lazy("Disable"),
            P.MANAGE,
            _user_disable,
            hint=gettext_lazy("Open sessions and API tokens end at their next use."),
            icon="block",
            is_danger=True,
            applies=lambda row: row.is_active,
        ),
        Act(
            "enable",
            gettext_lazy("Enable"),
            P.MANAGE,
            _user_enable,
            icon="check",
            applies=lambda row: not row.is_active,
        ),
        Act(
            "bind_role",
            gettext_lazy("Give an operator role"),
            P.MANAGE,
            _role_bind,
            RoleForm,
            icon="badge",
            applies=lambda row: row.is_operator,
        ),
        Act(
            "unbind_role",
            gettext_lazy("Take an operator role"),
            P.MANAGE,
            _role_unbind,
            HeldRoleForm,
            icon="remove_moderator",
            is_danger=True,
            applies=lambda row: row.operator_bindings.exists(),
        ),
        Act(
            "add_membership",
            gettext_lazy("Let into a tenant"),
            P.MANAGE,
            _membership_add,
            TenantForm,
            hint=gettext_lazy("What the user may do there is decided in the tenant itself."),
            icon="login",
        ),
        Act(
            "remove_membership",
            gettext_lazy("Take out of a tenant"),
            P.MANAGE,
            _membership_remove,
            MembershipForm,
            icon="logout",
            is_danger=True,
            applies=lambda row: row.memberships.filter(is_active=True).exists(),
        ),
    ]


@admin.register(OperatorRole)
class OperatorRoleAdmin(DeskAdmin):
    view_permission = P.VIEW
    list_display = ["code", "name_en", "name_zh", "is_builtin", "created_at"]
    list_filter = ["is_builtin"]
    search_fields = ["code", "name_en", "name_zh"]


@admin.register(ApiToken)
class ApiTokenAdmin(DeskAdmin):
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
            icon="key_off",
            is_danger=True,
            applies=lambda row: row.revoked_at is None,
        )
    ]


@admin.register(AgentToken)
class AgentTokenAdmin(DeskAdmin):
    view_permission = FLEET_VIEW
    list_display = ["created_at", "kind", "note", "node_uid", "shown_state", "expires_at", "used_at"]
    list_filter = ["kind"]
    search_fields = ["note", "node_uid"]
    exclude = ["digest"]
    add_act = Act(
        "add",
        gettext_lazy("Make a join token"),
        FLEET_MANAGE,
        _join_token_make,
        JoinTokenForm,
        hint=gettext_lazy("One node may join with it, once, within its time."),
    )
    row_acts = [
        Act(
            "revoke",
            gettext_lazy("Revoke"),
            FLEET_MANAGE,
            _agent_token_revoke,
            hint=gettext_lazy("A revoked credential stops its agent at the next message."),
            icon="key_off",
            is_danger=True,
            applies=lambda row: row.revoked_at is None,
        )
    ]

    @display(
        description=gettext_lazy("state"), label={"revoked": "danger", "usable": "success", "spent": "info"}
    )
    def shown_state(self, row: AgentToken) -> tuple[str, str]:
        if row.revoked_at:
            return "revoked", _("Revoked")
        is_spent = row.kind == AgentToken.Kind.JOIN and row.used_at is not None
        return ("spent", _("Spent")) if is_spent else ("usable", _("Usable"))


@admin.register(SignIn)
class SignInAdmin(DeskAdmin):
    view_permission = "audit.view"
    list_display = ["at", "username", "schema", "address", "is_accepted"]
    list_filter = ["is_accepted", "schema"]
    search_fields = ["username", "address"]
