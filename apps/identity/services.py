"""Sign-in, users, memberships, operators' roles, and every kind of token."""

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.hashers import check_password, make_password
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.identity.events import MembershipEnded
from apps.identity.models import (
    AgentToken,
    ApiToken,
    IdempotentCall,
    Membership,
    OperatorBinding,
    OperatorRole,
    SignIn,
    User,
)
from apps.identity.permissions import IdentityPermission as P
from apps.kernel.acts import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, Throttled, Unauthenticated
from apps.kernel.events import emit
from apps.kernel.service import service
from apps.tenancy.models import Tenant
from apps.tenancy.selectors import tenant_list

LOCK_AFTER = 5
LOCK_FOR = timedelta(minutes=15)
TOKEN_MAX_DAYS = 366
_UNUSABLE = make_password(None)


@dataclass(frozen=True, slots=True)
class BuiltinRole:
    """A role that ships with the product: code, names and permission codes (annex B)."""

    code: str
    name_en: str
    name_zh: str
    permissions: frozenset[str]


def digest_of(secret: str) -> str:
    """SHA-256 of a random secret: enough, since tokens carry 256 bits of their own."""
    return hashlib.sha256(secret.encode()).hexdigest()


# --- signing in ------------------------------------------------------------------------------------------------


def credentials_check(*, username: str, password: str, schema: str, address: str | None) -> User:
    """The enabled user with this password, or a refusal that does not say which part was wrong.

    Every attempt is recorded outside any transaction of the caller; five wrong ones within 15 minutes lock the
    account for the rest of them (PLAT-CFG-40, PLAT-CFG-41).
    """
    username = username.strip()[:64]
    user = User.objects.filter(username__iexact=username).first()
    # Counted under the account's own name: other spellings that the database takes for the same give no new tries.
    account = (user.username if user else username).lower()
    _lock_check(account)
    # An unknown account costs the same time as a wrong password: neither is told from the other.
    accepted = check_password(password, user.password if user else _UNUSABLE) and bool(
        user and user.is_active
    )
    accepted = accepted and _may_enter(user, schema)
    SignIn.objects.create(username=account, user=user, schema=schema, address=address, is_accepted=accepted)
    if not accepted or user is None:
        raise Unauthenticated(
            _("The account or the password is wrong, or the account may not enter here."),
            cure=_("Check both, and the address of your portal."),
        )
    return user


def _lock_check(account: str) -> None:
    since = timezone.now() - LOCK_FOR
    attempts = SignIn.objects.filter(username=account, at__gte=since).order_by("-at")[:LOCK_AFTER]
    recent = list(attempts)
    if len(recent) == LOCK_AFTER and not any(attempt.is_accepted for attempt in recent):
        minutes = max(1, round((recent[-1].at + LOCK_FOR - timezone.now()).total_seconds() / 60))
        raise Throttled(
            _("The account is locked after %(count)s wrong sign-ins.") % {"count": LOCK_AFTER},
            cure=_("Try again in %(minutes)s minutes.") % {"minutes": minutes},
        )


def _may_enter(user: User | None, schema: str) -> bool:
    if user is None:
        return False
    if not schema:
        return user.is_operator or user.memberships.filter(is_active=True).exists()
    return user.memberships.filter(
        is_active=True, tenant__schema_name=schema, tenant__state="active"
    ).exists()


# --- users -----------------------------------------------------------------------------------------------------


def _password_check(password: str, user: User) -> None:
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise InvalidInput(
            _("The password is too weak."), fields={"password": " ".join(error.messages)}
        ) from error


@service(P.MANAGE)
def user_create(
    *,
    actor: Actor,
    username: str,
    display_name: str,
    password: str,
    email: str = "",
    is_operator: bool = False,
) -> User:
    """A user without any membership yet (PLAT-TEN-24)."""
    user = User(
        username=username.strip(), display_name=display_name.strip(), email=email, is_operator=is_operator
    )
    if User.objects.filter(username__iexact=user.username).exists():
        raise InvalidInput(_("The login account %(name)s is taken.") % {"name": user.username})
    _password_check(password, user)
    user.set_password(password)
    try:
        user.full_clean()
    except ValidationError as error:
        raise InvalidInput(
            fields={name: " ".join(texts) for name, texts in error.message_dict.items()}
        ) from error
    user.save()
    act_subject("user", user.uid, username=user.username)
    return user


@service(P.MANAGE)
def user_disable(*, actor: Actor, user: User) -> None:
    """The user signs in no more and every open session and token ends at its next use (PLAT-TEN-27)."""
    act_subject("user", user.uid, username=user.username)
    User.objects.filter(pk=user.pk).update(is_active=False)
    ApiToken.objects.filter(user=user, revoked_at=None).update(revoked_at=timezone.now())


@service(P.MANAGE)
def user_enable(*, actor: Actor, user: User) -> None:
    act_subject("user", user.uid, username=user.username)
    User.objects.filter(pk=user.pk).update(is_active=True)


@service(P.MANAGE)
def membership_add(*, actor: Actor, user: User, tenant: Tenant) -> Membership:
    """Let a user into a tenant; what the user may do there is bound in the tenant itself."""
    act_subject("user", user.uid, tenant=tenant.schema_name)
    row, _made = Membership.objects.update_or_create(user=user, tenant=tenant, defaults={"is_active": True})
    return row


@service(P.MANAGE)
def membership_remove(*, actor: Actor, user: User, tenant: Tenant) -> None:
    """End a membership with its tokens and, inside the tenant, its roles: coming back begins without any."""
    act_subject("user", user.uid, tenant=tenant.schema_name)
    Membership.objects.filter(user=user, tenant=tenant).update(is_active=False)
    ApiToken.objects.filter(user=user, tenant=tenant, revoked_at=None).update(revoked_at=timezone.now())
    emit(MembershipEnded(schema=tenant.schema_name, user_id=user.pk), actor=actor)


@service()
def password_change(*, actor: Actor, user: User, old_password: str, new_password: str) -> None:
    """A user sets a new password of his own; the old one and every API token stop working (PLAT-TEN-26)."""
    act_subject("user", user.uid)
    if actor.user_id != user.pk or not user.check_password(old_password):
        raise InvalidInput(_("The present password is wrong."), fields={"old_password": _("Wrong.")})
    _password_check(new_password, user)
    user.set_password(new_password)
    user.save(update_fields=["password"])
    # Who changes a password may fear that somebody else has it, and made a token with it.
    ApiToken.objects.filter(user=user, revoked_at=None).update(revoked_at=timezone.now())


# --- operators' roles ------------------------------------------------------------------------------------------


@service(P.MANAGE)
def operator_roles_sync(*, actor: Actor, roles: Iterable[BuiltinRole]) -> None:
    """Bring the built-in operator roles to what the code says; user-defined ones stay as they are."""
    for role in roles:
        OperatorRole.objects.update_or_create(
            code=role.code,
            defaults={
                "name_en": role.name_en,
                "name_zh": role.name_zh,
                "permissions": sorted(role.permissions),
                "is_builtin": True,
            },
        )


@service(P.MANAGE)
def operator_role_bind(*, actor: Actor, user: User, role_code: str) -> OperatorBinding:
    act_subject("user", user.uid, role=role_code)
    role = OperatorRole.objects.filter(code=role_code).first()
    if role is None or not user.is_operator:
        raise InvalidInput(_("There is no such operator role, or the user is not an operator."))
    return OperatorBinding.objects.get_or_create(user=user, role=role)[0]


@service(P.MANAGE)
def operator_role_unbind(*, actor: Actor, user: User, role_code: str) -> None:
    """Take a role from an operator. Nobody takes one from himself: so somebody who can give it back remains."""
    act_subject("user", user.uid, role=role_code)
    if actor.user_id == user.pk:
        raise Conflict(
            _("You cannot take a role from yourself."), cure=_("Ask another administrator to do it.")
        )
    if not OperatorBinding.objects.filter(user=user, role__code=role_code).delete()[0]:
        raise Conflict(_("The user does not hold this role."))


# --- API tokens ------------------------------------------------------------------------------------------------


@service()
def api_token_make(
    *, actor: Actor, user: User, name: str, days: int = 30, tenant: Tenant | None = None
) -> tuple[ApiToken, str]:
    """A new key of the user's own: the row and the secret, which is shown once and kept nowhere."""
    if actor.kind != "system" and actor.user_id != user.pk:
        raise InvalidInput(_("A token can only be made by its own user."))
    if not 1 <= days <= TOKEN_MAX_DAYS:
        raise InvalidInput(
            _("A token lives 1 to %(days)s days.") % {"days": TOKEN_MAX_DAYS}, fields={"days": days}
        )
    if tenant and not Membership.objects.filter(user=user, tenant=tenant, is_active=True).exists():
        raise InvalidInput(_("You are not a member of %(tenant)s.") % {"tenant": tenant})
    secret = "weir_" + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        user=user,
        tenant=tenant,
        name=name.strip()[:80] or "token",
        digest=digest_of(secret),
        hint=secret[:10],
        expires_at=timezone.now() + timedelta(days=days),
    )
    act_subject("api_token", token.uid, days=days)
    return token, secret


@service()
def api_token_revoke(*, actor: Actor, token: ApiToken) -> None:
    act_subject("api_token", token.uid)
    if actor.user_id != token.user_id:
        actor.require(P.MANAGE)
    if not ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()):
        raise Conflict(_("The token is already revoked."))


def api_token_user(secret: str) -> ApiToken:
    """The usable token of a secret, with its user; Unauthenticated for every other."""
    token = ApiToken.objects.select_related("user", "tenant").filter(digest=digest_of(secret)).first()
    if token is None or not token.is_usable or not token.user.is_active:
        raise Unauthenticated(
            _("The API token is unknown, expired or revoked."),
            cure=_("Make a new one and send it as a bearer token."),
        )
    stale = timezone.now() - timedelta(minutes=1)
    if token.used_at is None or token.used_at < stale:
        ApiToken.objects.filter(pk=token.pk).update(used_at=timezone.now())
    return token


# --- agent tokens ----------------------------------------------------------------------------------------------


@service("fleet.manage")
def join_token_make(*, actor: Actor, note: str, ttl_s: int = 3600) -> tuple[AgentToken, str]:
    """A one-time token with which one node may join: the row and the secret, shown once."""
    if not 60 <= ttl_s <= 30 * 86400:
        raise InvalidInput(_("A join token lives 60 seconds to 30 days."), fields={"ttl_s": ttl_s})
    secret = "weirjoin_" + secrets.token_urlsafe(32)
    expires_at = timezone.now() + timedelta(seconds=ttl_s)
    token = AgentToken.objects.create(
        kind=AgentToken.Kind.JOIN, note=note[:120], digest=digest_of(secret), expires_at=expires_at
    )
    act_subject("agent_token", token.uid, note=note)
    return token, secret


@service()
def join_token_use(*, actor: Actor, secret: str, node_uid: str) -> str:
    """Spend a join token for `node_uid` and give the node its own credential. A token is spent once.

    The same node may ask again while its credential was never used: then the answer was lost on its way.
    """
    now = timezone.now()
    fresh = AgentToken.objects.filter(
        kind=AgentToken.Kind.JOIN, digest=digest_of(secret), revoked_at=None, expires_at__gt=now
    )
    if not fresh.filter(used_at=None).update(used_at=now, node_uid=node_uid):
        _lost_answer_check(fresh.filter(node_uid=node_uid).exists(), node_uid)
    credential = "weirnode_" + secrets.token_urlsafe(32)
    _credentials_of(node_uid).filter(revoked_at=None).update(revoked_at=now)
    token = AgentToken.objects.create(
        kind=AgentToken.Kind.NODE, node_uid=node_uid, digest=digest_of(credential)
    )
    act_subject("agent_token", token.uid, node=node_uid)
    return credential


def _credentials_of(node_uid: str) -> QuerySet[AgentToken]:
    return AgentToken.objects.filter(kind=AgentToken.Kind.NODE, node_uid=node_uid)


def _lost_answer_check(is_own_token: bool, node_uid: str) -> None:
    if not is_own_token or _credentials_of(node_uid).exclude(used_at=None).exists():
        raise Unauthenticated(
            _("The join token is unknown, spent, expired or revoked."),
            cure=_("Ask an operator for a new one."),
        )


def agent_authenticate(secret: str) -> AgentToken:
    """The node credential of a secret; Unauthenticated when unknown or revoked."""
    token = AgentToken.objects.filter(
        kind=AgentToken.Kind.NODE, digest=digest_of(secret), revoked_at=None
    ).first()
    if token is None:
        raise Unauthenticated(
            _("The node's credential is unknown or revoked."), cure=_("Join the node again.")
        )
    if token.used_at is None:
        AgentToken.objects.filter(pk=token.pk).update(used_at=timezone.now())
    return token


@service("fleet.manage")
def agent_token_revoke(*, actor: Actor, token: AgentToken) -> None:
    """A revoked join token lets nobody in; a revoked credential stops its agent at the next message."""
    act_subject("agent_token", token.uid, node=token.node_uid)
    if not AgentToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()):
        raise Conflict(_("The token is already revoked."))


def tenants_of(user: User) -> list[Tenant]:
    """The active tenants a user may enter."""
    ids = user.memberships.filter(is_active=True).values("tenant_id")
    return list(tenant_list().filter(pk__in=ids, state="active"))


def idempotent_calls_prune(*, older_than: timedelta = timedelta(days=2)) -> int:
    """Forget answers nobody will ask for again."""
    from_at = timezone.now() - older_than
    with transaction.atomic():
        return IdempotentCall.objects.filter(created_at__lt=from_at).delete()[0]
