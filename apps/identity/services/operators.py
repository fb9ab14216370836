"""The centre's own people: their accounts and roles (PLAT-TEN-37)."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.identity.models import OperatorBinding, OperatorRole, User
from apps.identity.permissions import IdentityPermission as P
from apps.identity.services.accounts import password_first
from apps.identity.services.password_reset import ResetLink, link_instead_of_password
from apps.identity.services.users import (
    BuiltinRole,
    roles_are_behind,
    sessions_end,
    user_disable,
    user_enable,
    user_name_put,
    user_save_new,
)
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from apps.kernel.service import service


@service(P.MANAGE)
def operator_roles_sync(*, actor: Actor, roles: Iterable[BuiltinRole]) -> None:
    """Bring the built-in operator roles to what the code says; user-defined ones stay as they are."""
    for role in roles:
        OperatorRole.objects.update_or_create(code=role.code, defaults=role.fields())


def operator_roles_follow(*, actor: Actor, roles: Iterable[BuiltinRole]) -> None:
    """After an update: as `operator_roles_sync`, where a centre has been set up and its roles differ from the code."""
    roles = list(roles)
    if roles_are_behind(OperatorRole.objects.all(), {role.code: role.fields() for role in roles}):
        operator_roles_sync(actor=actor, roles=roles)


@service(P.MANAGE)
def operator_make(
    *, actor: Actor, username: str, display_name: str, email: str = "", roles: Iterable[OperatorRole] = ()
) -> tuple[User, str]:
    """An operator with these roles, and a first password that is shown once and must be changed (PLAT-TEN-24)."""
    roles = list(roles)
    grant_check(actor, roles)
    user = User(username=username, display_name=display_name, email=email, is_operator=True)
    user.must_change_password = True
    password = password_first()
    user_save_new(user, password)
    OperatorBinding.objects.bulk_create(OperatorBinding(user=user, role=role) for role in roles)
    act_subject("user", user.uid, username=user.username, roles=[role.code for role in roles])
    return user, password


@service(P.MANAGE)
def operator_role_bind(*, actor: Actor, user: User, role_code: str) -> OperatorBinding:
    """Let an operator hold a role; binding twice changes nothing. Forbidden: a role beyond the giver's own right."""
    act_subject("user", user.uid, role=role_code)
    role = OperatorRole.objects.filter(code=role_code).first()
    if role is None or not user.is_operator:
        raise InvalidInput(_("There is no such operator role, or the user is not an operator."))
    grant_check(actor, [role])
    return OperatorBinding.objects.get_or_create(user=user, role=role)[0]


@service(P.MANAGE)
def operator_roles_set(*, actor: Actor, user: User, roles: Iterable[OperatorRole]) -> None:
    """From now on the operator holds exactly these roles.

    Raises Forbidden where a role that is given or taken may do more than the giver himself, and Conflict where
    nobody would be left who may give roles.
    """
    wanted = {role.pk: role for role in roles}
    operator_check(user)
    with administrator_stays():
        held = {binding.role_id: binding.role for binding in user.operator_bindings.select_related("role")}
        given = [role for pk, role in wanted.items() if pk not in held]
        taken = [role for pk, role in held.items() if pk not in wanted]
        act_subject(
            "user", user.uid, given=[role.code for role in given], taken=[role.code for role in taken]
        )
        grant_check(actor, given + taken)
        OperatorBinding.objects.filter(user=user, role__in=taken).delete()
        OperatorBinding.objects.bulk_create(OperatorBinding(user=user, role=role) for role in given)


@service(P.MANAGE)
def operator_edit(*, actor: Actor, user: User, display_name: str, email: str = "") -> None:
    """Another name or e-mail (PLAT-TEN-24). Forbidden for an operator who may do more than the actor."""
    act_subject("user", user.uid, username=user.username)
    operator_check(user)
    grant_check(actor, roles_of(user))
    user_name_put(user, display_name, email)


@service(P.MANAGE)
def operator_disable(*, actor: Actor, user: User) -> None:
    """The operator signs in no more; his sessions and tokens end at once. Not oneself, not the last administrator."""
    act_subject("user", user.uid, username=user.username)
    operator_check(user)
    _other_check(actor, user)
    with administrator_stays():
        grant_check(actor, roles_of(user))
        user_disable(actor=actor, user=user)


@service(P.MANAGE)
def operator_enable(*, actor: Actor, user: User) -> None:
    act_subject("user", user.uid, username=user.username)
    operator_check(user)
    grant_check(actor, roles_of(user))
    user_enable(actor=actor, user=user)


@service(P.MANAGE)
def operator_password_reset(*, actor: Actor, user: User) -> ResetLink:
    """A link, shown once, with which the operator chooses a new password; the old one and what was open with it end
    (PLAT-TEN-26)."""
    act_subject("user", user.uid, username=user.username)
    operator_check(user)
    _other_check(actor, user)
    grant_check(actor, roles_of(user))
    return link_instead_of_password(user)


@service(P.MANAGE)
def operator_remove(*, actor: Actor, user: User) -> None:
    """The user belongs to the operators' side no more and holds no role there; the account and what it did stay."""
    act_subject("user", user.uid, username=user.username)
    operator_check(user)
    _other_check(actor, user)
    with administrator_stays():
        grant_check(actor, roles_of(user))
        OperatorBinding.objects.filter(user=user).delete()
        User.objects.filter(pk=user.pk).update(is_operator=False, organization=None, post=None)
        sessions_end(user)
        user.api_tokens.filter(tenant=None, revoked_at=None).update(revoked_at=timezone.now())


def grant_check(actor: Actor, roles: Iterable[OperatorRole]) -> None:
    """Forbidden unless the actor may give each role: all of them with `identity.grant`, else what he may do himself."""
    if actor.may(P.GRANT):
        return
    beyond = [role for role in roles if not actor.permissions.issuperset(role.permissions)]
    if beyond:
        raise Forbidden(
            _("The role %(role)s may do more than yours.") % {"role": beyond[0]},
            cure=_("Ask an administrator who may give every role."),
        )


def roles_of(user: User) -> list[OperatorRole]:
    """The roles that an operator holds."""
    return [binding.role for binding in user.operator_bindings.select_related("role")]


def operator_check(user: User) -> None:
    """NotFound for somebody who is no operator."""
    if not user.is_operator:
        raise NotFound()


def _other_check(actor: Actor, user: User) -> None:
    if actor.user_id == user.pk:
        raise Conflict(
            _("You cannot do this to your own account."), cure=_("Ask another administrator to do it.")
        )


def _administrators() -> QuerySet[OperatorBinding]:
    return OperatorBinding.objects.filter(
        user__is_active=True, user__is_operator=True, role__permissions__contains=[P.MANAGE, P.GRANT]
    )


@contextmanager
def administrator_stays() -> Iterator[None]:
    """What is done inside must leave somebody who may give every role where there was one: Conflict otherwise.

    The roles are locked to the end of the transaction: of two who take one another's role the second is refused.
    """
    list(OperatorRole.objects.select_for_update(no_key=True).order_by("pk").values_list("pk"))
    was_there = _administrators().exists()
    yield
    if was_there and not _administrators().exists():
        raise Conflict(
            _("This is the last administrator: nobody could give roles any more."),
            cure=_("Give the role to somebody else first."),
        )
