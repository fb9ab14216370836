"""Roles that operators put together themselves, beside the built-in ones (PLAT-TEN-30 to PLAT-TEN-34)."""

from collections.abc import Iterable
from uuid import uuid4

from apps.identity.models import OperatorRole
from apps.identity.operators import administrator_stays, grant_check
from apps.identity.permissions import IdentityPermission as P
from apps.identity.role_functions import Side, own_role_check, own_role_fields, unheld_check
from apps.kernel.actor import Actor, act_subject
from apps.kernel.service import service


@service(P.MANAGE)
def operator_role_make(
    *, actor: Actor, name: str, permissions: Iterable[str], description: str = "", is_read_only: bool = False
) -> OperatorRole:
    """A role of the operators' own making, which can be given at once.

    Args:
        name: as people see it; one of a kind among the operators' roles.
        permissions: what it allows; what these need is added.
        description: for whom it is.
        is_read_only: it changes nothing; a function that changes something is refused.

    Raises:
        InvalidInput: no function, one that operators' roles cannot have, or one that a read-only role cannot have.
        Conflict: the name is taken.
        Forbidden: it would do more than the actor's role.
    """
    code = f"role-{uuid4().hex[:12]}"
    act_subject("role", code, name=name)
    fields = own_role_fields(
        OperatorRole.objects.all(), actor=actor, side=Side.OPERATOR, grant=P.GRANT, code=code, name=name,
        permissions=permissions, description=description, is_read_only=is_read_only,
    )  # fmt: skip
    return OperatorRole.objects.create(code=code, **fields)


@service(P.MANAGE)
def operator_role_edit(
    *,
    actor: Actor,
    role: OperatorRole,
    name: str,
    permissions: Iterable[str],
    description: str = "",
    is_read_only: bool = False,
) -> OperatorRole:
    """Change a role; whoever holds it may do what it says from the next request on.

    Raises:
        Conflict: it is built in, the name is taken, or nobody would be left who may give every role.
        InvalidInput, Forbidden: as for a new one; also where the role did more than the actor's before.
    """
    own_role_check(role)
    grant_check(actor, [role])
    with administrator_stays():
        fields = own_role_fields(
            OperatorRole.objects.all(), actor=actor, side=Side.OPERATOR, grant=P.GRANT, code=role.code, name=name,
            permissions=permissions, description=description, is_read_only=is_read_only,
        )  # fmt: skip
        act_subject("role", role.code, name=name, before=role.permissions, after=fields["permissions"])
        OperatorRole.objects.filter(pk=role.pk).update(**fields)
    role.refresh_from_db()
    return role


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
