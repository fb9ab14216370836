"""Roles of the tenant: who gives them, how far, and that somebody stays who can."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.identity.models import User
from apps.identity.rules.role_functions import data_permission_of
from apps.identity.selectors import belongs, members_enabled
from apps.identity.services.users import BuiltinRole, roles_are_behind
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, Forbidden, InvalidInput
from apps.kernel.planes import current_schema, current_tenant
from apps.kernel.reach import DataPermission, Records
from apps.kernel.service import service
from apps.orgs.models import BusinessSystemUser, Invitation, Member, RoleBinding, TenantRole
from apps.orgs.permissions import OrgsPermission as P
from apps.orgs.selectors.roles import role_list_of


@service(P.MANAGE)
def roles_sync(*, actor: Actor, roles: Iterable[BuiltinRole]) -> None:
    """Bring the built-in roles of the current tenant to what the code says; user-defined ones stay."""
    act_subject("tenant", current_schema())
    for role in roles:
        TenantRole.objects.update_or_create(code=role.code, defaults=role_fields(role))


def roles_follow(*, actor: Actor, roles: Iterable[BuiltinRole]) -> None:
    """After an update: as `roles_sync`, where the current tenant's built-in roles differ from the code."""
    roles = list(roles)
    if roles_are_behind(TenantRole.objects.all(), {role.code: role_fields(role) for role in roles}):
        roles_sync(actor=actor, roles=roles)


def role_fields(role: BuiltinRole) -> dict[str, Any]:
    """What the row of a built-in role says."""
    return role.fields() | scope_fields(role.data)


def scope_fields(data: DataPermission) -> dict[str, str]:
    """What the row of a role says of whose records it reaches."""
    return {f"{records.value}_scope": data.of(records).value for records in Records}


@service(P.MANAGE)
def role_bind(*, actor: Actor, user: User, role: TenantRole) -> RoleBinding:
    """Let a user of this tenant hold a role; binding twice changes nothing. Forbidden beyond the giver's own right."""
    act_subject("user", user.uid, role=role.code)
    if not belongs(user, current_tenant()):
        raise InvalidInput(_("%(user)s does not belong to this tenant.") % {"user": user})
    grant_check(actor, [role])
    return RoleBinding.objects.get_or_create(user=user, role=role)[0]


@service(P.MANAGE)
def role_unbind(*, actor: Actor, user: User, role: TenantRole) -> None:
    """Take one role. Forbidden beyond the taker's own right; Conflict for the last administrator's."""
    act_subject("user", user.uid, role=role.code)
    grant_check(actor, [role])
    with administrator_stays():
        RoleBinding.objects.filter(user=user, role=role).delete()


@service()
def person_gone(*, actor: Actor, user: User) -> None:
    """Somebody no longer belongs to this tenant: roles, organization, business systems and open invitations end."""
    act_subject("user", user.uid, username=user.username)
    with administrator_stays(gone=user):
        RoleBinding.objects.filter(user=user).delete()
    Member.objects.filter(user=user).delete()
    BusinessSystemUser.objects.filter(user=user).delete()
    Invitation.objects.filter(made_by=user, used_at=None, withdrawn_at=None).update(
        withdrawn_at=timezone.now()
    )


def grant_check(actor: Actor, roles: Iterable[TenantRole]) -> None:
    """Forbidden unless the actor may give each role: all of them with `orgs.grant`, else what he may do and whose
    records he reaches himself."""
    cure = _("Ask an administrator who may give every role.")
    for role in roles:
        if may_give(actor, role):
            continue
        if not actor.permissions.issuperset(role.permissions):
            raise Forbidden(_("The role %(role)s may do more than yours.") % {"role": role}, cure=cure)
        raise Forbidden(_("The role %(role)s reaches more records than yours.") % {"role": role}, cure=cure)


def may_give(actor: Actor, role: TenantRole) -> bool:
    """Whether the actor may give and take the role."""
    is_wider = role.data_permission.beyond(data_permission_of(actor)) is not None
    return actor.may(P.GRANT) or (actor.permissions.issuperset(role.permissions) and not is_wider)


def person_reach_check(actor: Actor, user: User) -> None:
    """Forbidden unless the actor may give every role that the user holds: nobody acts upon who may do more."""
    grant_check(actor, role_list_of(user.pk))


def administrators() -> QuerySet[RoleBinding]:
    """The bindings of those who can give every role in the current tenant and may sign in."""
    inside = members_enabled(current_tenant())
    return RoleBinding.objects.filter(
        user__is_active=True,
        user_id__in=inside.values("user_id"),
        role__permissions__contains=[P.MANAGE, P.GRANT],
    )


@contextmanager
def administrator_stays(gone: User | None = None) -> Iterator[None]:
    """What is done inside must leave an administrator where there was one: Conflict otherwise.

    The roles are locked to the end of the transaction: two administrators who take one another's role at the same
    time find, one after the other, that the second is the last. `gone` names who could sign in until just now.
    """
    list(TenantRole.objects.select_for_update(no_key=True).order_by("pk").values_list("pk"))
    was_there = administrators().exists() or (gone is not None and _gives_every_role(gone))
    yield
    if was_there and not administrators().exists():
        raise Conflict(
            _("This is the last administrator: nobody could give roles any more."),
            cure=_("Give the role to somebody else first."),
        )


def _gives_every_role(user: User) -> bool:
    bindings = RoleBinding.objects.filter(user=user, user__is_active=True)
    return bindings.filter(role__permissions__contains=[P.MANAGE, P.GRANT]).exists()
