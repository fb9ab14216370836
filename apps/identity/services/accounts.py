"""Accounts as the administrators of one tenant keep them: first passwords, and who may enter their tenant.

What may be done to an account here ends at the tenant: an account that is also used elsewhere gets no new password
and no new name from one tenant's administrators. Who may do it to whom is decided in the tenant (`apps.orgs`).
"""

import secrets

from django.utils.translation import gettext as _

from apps.identity.models import Membership, User
from apps.identity.permissions import IdentityPermission as P
from apps.identity.services.password_reset import ResetLink, link_instead_of_password
from apps.identity.services.users import (
    membership_end,
    membership_put,
    tenant_access_end,
    user_name_put,
    user_save_new,
)
from apps.kernel.actor import Actor
from apps.kernel.errors import Conflict, Forbidden
from apps.tenancy.models import Tenant

# Without the characters that are read as others.
_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
_GROUPS, _GROUP = 4, 4


def password_first() -> str:
    """A password for the first sign-in, easily typed from paper: 79 bits."""
    return "-".join("".join(secrets.choice(_ALPHABET) for _n in range(_GROUP)) for _g in range(_GROUPS))


def account_make(*, tenant: Tenant, username: str, display_name: str, email: str) -> tuple[User, str]:
    """A user of this tenant, and his first password, which must be changed."""
    user = User(username=username, display_name=display_name, email=email, must_change_password=True)
    password = password_first()
    user_save_new(user, password)
    membership_put(user, tenant)
    return user, password


def account_join_new(*, tenant: Tenant, username: str, display_name: str, email: str, password: str) -> User:
    """A user of this tenant who chose account and password himself."""
    user = User(username=username, display_name=display_name, email=email)
    user_save_new(user, password)
    membership_put(user, tenant)
    return user


def account_join(*, tenant: Tenant, user: User) -> None:
    """Somebody who has an account belongs to this tenant too. Conflict when he already does."""
    if membership_of(user, tenant) is not None:
        raise Conflict(
            _("%(user)s already belongs to this tenant.") % {"user": user},
            cure=_("Give the roles on the person's page."),
        )
    membership_put(user, tenant)


def membership_of(user: User, tenant: Tenant) -> Membership | None:
    """The user's place in the tenant, enabled or not; None for who never came or has left."""
    return Membership.objects.filter(user=user, tenant=tenant, left_at=None).first()


def account_disable(*, tenant: Tenant, user: User) -> None:
    """The user enters this tenant no more; sessions, and tokens for it, end at once. Roles are kept (PLAT-TEN-27)."""
    Membership.objects.filter(user=user, tenant=tenant, left_at=None).update(is_active=False)
    tenant_access_end(user, tenant)


def account_enable(*, tenant: Tenant, user: User) -> None:
    Membership.objects.filter(user=user, tenant=tenant, left_at=None).update(is_active=True)


def account_leave(*, actor: Actor, tenant: Tenant, user: User) -> None:
    """The user belongs to this tenant no more; the account stays."""
    membership_end(actor, user, tenant)


def account_edit(*, actor: Actor, tenant: Tenant, user: User, display_name: str, email: str) -> None:
    _own_check(actor, user, tenant)
    user_name_put(user, display_name, email)


def account_password_reset(*, actor: Actor, tenant: Tenant, user: User) -> ResetLink:
    """A link with which the person chooses a new password; the old one and what was open with it end (PLAT-TEN-26)."""
    _own_check(actor, user, tenant)
    return link_instead_of_password(user)


def may_keep_account(actor: Actor, user: User, tenant: Tenant) -> bool:
    """Whether the actor may change the account itself: it is used in this tenant alone, or an operator asks.

    Operators' own accounts are kept on the operators' side only.
    """
    if user.is_operator:
        return False
    if actor.kind == "system" or (actor.kind == "operator" and actor.may(P.MANAGE)):
        return True
    return not Membership.objects.filter(user=user, left_at=None).exclude(tenant=tenant).exists()


def _own_check(actor: Actor, user: User, tenant: Tenant) -> None:
    if not may_keep_account(actor, user, tenant):
        raise Forbidden(
            _("%(user)s uses this account outside of this tenant too.") % {"user": user},
            cure=_("The person changes it himself, or the operators of the computing centre do."),
        )
