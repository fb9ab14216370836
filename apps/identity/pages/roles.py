"""The pages of roles, the same for a tenant's and the operators': the list, a role's functions, one's own roles."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils.translation import gettext as _

from apps.identity.forms import RoleFilterForm, RoleForm
from apps.identity.pages.access import cleaned, go, paged, show
from apps.identity.pages.requests import PortalRequest
from apps.identity.rules.role_functions import (
    RECORD_LABELS,
    RoleDraft,
    Side,
    data_permission_of,
    functions_of,
    scope_label,
    scopes_of,
)
from apps.kernel.actor import Actor
from apps.kernel.reach import EVERYTHING, DataPermission, Records, Scope


@dataclass(frozen=True, slots=True)
class RolePages:
    """The pages of one side's roles.

    Attributes:
        side: whose roles they are.
        urls: the namespace of their addresses.
        manage, grant: the permissions to keep roles and to give every role.
        rows, row: selectors of the roles by a part of the name, and of one by its code.
        make, edit, delete: the services.
    """

    side: Side
    urls: str
    manage: str
    grant: str
    rows: Callable[[str], QuerySet[Any]]
    row: Callable[[str], Any]
    make: Callable[..., Any]
    edit: Callable[..., Any]
    delete: Callable[..., None]

    def roles(self, request: PortalRequest) -> HttpResponse:
        chosen = cleaned(RoleFilterForm(request.GET))
        context = {
            "rows": paged(request, self.rows(chosen["search"])),
            "chosen": chosen,
            "may_manage": request.actor.may(self.manage),
            **self._addresses(),
        }
        return show(request, "identity/roles", context)

    def new(self, request: PortalRequest) -> HttpResponse:
        """An empty form, or one filled from the role that `from` names."""
        if request.method == "POST":
            role = self.make(actor=request.actor, draft=_draft(request))
            messages.success(request, _("Role %(name)s created: give it to people now.") % {"name": role})
            return go(request, f"{self.urls}:role", role.code)
        copied = self.row(request.GET["from"]) if request.GET.get("from") else None
        context = {
            "copied": copied,
            "groups": self._groups(request.actor, copied.permissions if copied else [], is_open=True),
            "scopes": self._scopes(request.actor, copied, is_open=True),
            "is_open": True,
            **self._addresses(),
        }
        return show(request, "identity/role", context)

    def one(self, request: PortalRequest, code: str) -> HttpResponse:
        role = self.row(code)
        if request.method == "POST":
            self.edit(actor=request.actor, role=role, draft=_draft(request))
            messages.success(request, _("Saved."))
            return go(request, f"{self.urls}:role", code)
        is_open = (
            not role.is_builtin and request.actor.may(self.manage) and self._reaches(request.actor, role)
        )
        context = {
            "role": role,
            "groups": self._groups(request.actor, role.permissions, is_open=is_open),
            "scopes": self._scopes(request.actor, role, is_open=is_open),
            "is_open": is_open,
            "may_manage": request.actor.may(self.manage),
            **self._addresses(),
        }
        return show(request, "identity/role", context)

    def remove(self, request: PortalRequest, code: str) -> HttpResponse:
        role = self.row(code)
        self.delete(actor=request.actor, role=role)
        messages.success(request, _("The role %(name)s is deleted.") % {"name": role})
        return go(request, f"{self.urls}:role_list")

    def _addresses(self) -> dict[str, str]:
        names = ("role_list", "role_new", "role", "role_delete")
        more = {f"{name}_url": f"{self.urls}:{name}" for name in names}
        return more | {"people_url": f"{self.urls}:{self.urls}"}

    def _reaches(self, actor: Actor, role: Any) -> bool:
        if actor.may(self.grant):
            return True
        is_wider = self.side is Side.TENANT and role.data_permission.beyond(data_permission_of(actor))
        return actor.permissions.issuperset(role.permissions) and not is_wider

    def _scopes(self, actor: Actor, role: Any, *, is_open: bool) -> list[dict[str, Any]]:
        """For each kind of records how far the role reaches, and how far the actor may let it; none for operators,
        who reach whatever a tenant has."""
        if self.side is not Side.TENANT:
            return []
        chosen = role.data_permission if role else DataPermission()
        most = EVERYTHING if actor.may(self.grant) else data_permission_of(actor)
        return [
            {
                "records": records.value,
                "label": RECORD_LABELS[records],
                "is_open": is_open,
                "choices": [
                    {
                        "scope": scope.value,
                        "label": scope_label(records, scope),
                        "is_chosen": chosen.of(records) is scope,
                        "is_open": most.of(records).covers(scope),
                    }
                    for scope in scopes_of(records)
                ],
            }
            for records in Records
        ]

    def _groups(self, actor: Actor, chosen: list[str], *, is_open: bool) -> list[dict[str, Any]]:
        """The functions under their headings: whether chosen, and whether the actor may choose them."""
        functions = functions_of(self.side)
        return [
            {
                "label": label,
                "functions": [
                    {
                        "function": row,
                        "is_chosen": row.permission in chosen,
                        "is_open": is_open and (actor.may(self.grant) or actor.may(row.permission)),
                    }
                    for row in rows
                ],
            }
            for label, rows in groupby(functions, key=lambda row: row.group)
        ]


def _draft(request: PortalRequest) -> RoleDraft:
    """The role as the form asks for it."""
    given = cleaned(RoleForm(request.POST))
    scopes = {records.value: given.pop(records.value) or Scope.OWN for records in Records}
    return RoleDraft(**given, data=DataPermission(**scopes))
