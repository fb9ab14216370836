"""Roles that operators put together themselves, beside the built-in ones (PLAT-TEN-30 to PLAT-TEN-34)."""

from typing import Any
from uuid import uuid4

from apps.identity.models import OperatorRole
from apps.identity.permissions import IdentityPermission as P
from apps.identity.rules.role_functions import RoleDraft, Side, own_role_check, own_role_fields, unheld_check
from apps.identity.services.operators import administrator_stays, grant_check
from apps.kernel.actor import Actor, act_subject
from apps.kernel.service import service


@service(P.MANAGE)
def operator_role_make(*, actor: Actor, draft: RoleDraft) -> OperatorRole:
    """A role of the operators' own making, which can be given at once.

    Raises what `own_role_fields` raises.
    """
    code = f"role-{uuid4().hex[:12]}"
    fields = _fields(actor, code, draft)
    act_subject("role", code, name=draft.name, after=fields["permissions"], is_read_only=draft.is_read_only)
    return OperatorRole.objects.create(code=code, **fields)


@service(P.MANAGE)
def operator_role_edit(*, actor: Actor, role: OperatorRole, draft: RoleDraft) -> OperatorRole:
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
        OperatorRole.objects.filter(pk=role.pk).update(**fields)
    role.refresh_from_db()
    return role


def _fields(actor: Actor, code: str, draft: RoleDraft) -> dict[str, Any]:
    return own_role_fields(
        OperatorRole.objects.all(), actor=actor, side=Side.OPERATOR, grant=P.GRANT, code=code, draft=draft
    )


@service(P.MANAGE)
def operator_role_delete(*, actor: Actor, role: OperatorRole) -> None:
    """Delete a role that nobody holds.

    Raises:
        Conflict: it is built in, or somebody holds it.
        Forbidden: it does more than the actor's.
    """
    act_subject("role", role.code, name=role.name_en)
    own_role_check(role)
    grant_check(actor, [role])
    locked = OperatorRole.objects.select_for_update().get(pk=role.pk)
    unheld_check(locked.bindings.count())
    locked.delete()
