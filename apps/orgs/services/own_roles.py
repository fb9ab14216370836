"""Roles that a tenant puts together itself, beside the built-in ones (PLAT-TEN-30 to PLAT-TEN-34)."""

from typing import Any
from uuid import uuid4

from django.utils.translation import gettext as _

from apps.identity.rules.role_functions import RoleDraft, Side, own_role_check, own_role_fields, unheld_check
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict
from apps.kernel.events import emit
from apps.kernel.service import service
from apps.orgs.events import RoleDeleted
from apps.orgs.models import Invitation, TenantRole
from apps.orgs.permissions import OrgsPermission as P
from apps.orgs.services.roles import administrator_stays, grant_check, scope_fields


@service(P.MANAGE)
def role_make(*, actor: Actor, draft: RoleDraft) -> TenantRole:
    """A role of the tenant's own making, which can be given at once.

    Raises what `own_role_fields` raises.
    """
    code = f"role-{uuid4().hex[:12]}"
    fields = _fields(actor, code, draft)
    act_subject("role", code, name=draft.name, after=fields["permissions"], is_read_only=draft.is_read_only)
    return TenantRole.objects.create(code=code, **fields)


@service(P.MANAGE)
def role_edit(*, actor: Actor, role: TenantRole, draft: RoleDraft) -> TenantRole:
    """Change a role; whoever holds it may do what it says from the next request on.

    Raises:
        Conflict: it is built in, the name is taken, or nobody would be left who may give every role.
        InvalidInput, Forbidden: as for a new one; also where the role did more than the actor's before.
    """
    own_role_check(role)
    grant_check(actor, [role])
    with administrator_stays():
        fields = _fields(actor, role.code, draft)
        act_subject(
            "role",
            role.code,
            name=draft.name,
            before=role.permissions,
            after=fields["permissions"],
            is_read_only=draft.is_read_only,
        )
        TenantRole.objects.filter(pk=role.pk).update(**fields)
    role.refresh_from_db()
    return role


def _fields(actor: Actor, code: str, draft: RoleDraft) -> dict[str, Any]:
    return own_role_fields(
        TenantRole.objects.all(), actor=actor, side=Side.TENANT, grant=P.GRANT, code=code, draft=draft
    ) | scope_fields(draft.data)


@service(P.MANAGE)
def role_delete(*, actor: Actor, role: TenantRole) -> None:
    """Delete a role that nobody holds, no open invitation gives and no open task waits for.

    Raises:
        Conflict: it is built in or in use, with the use.
        Forbidden: it does more than the actor's.
    """
    act_subject("role", role.code, name=role.name_en)
    own_role_check(role)
    grant_check(actor, [role])
    locked = TenantRole.objects.select_for_update().get(pk=role.pk)
    unheld_check(locked.bindings.count())
    promised = Invitation.objects.filter(roles=locked, used_at=None, withdrawn_at=None).first()
    if promised is not None:
        raise Conflict(
            _("The invitation of %(name)s gives this role.") % {"name": promised},
            cure=_("Withdraw the invitation first."),
        )
    emit(RoleDeleted(code=locked.code), actor=actor)
    locked.delete()
