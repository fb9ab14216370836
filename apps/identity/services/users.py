"""Signing in, users with their passwords, and memberships."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth.hashers import check_password, make_password
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, models, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.identity.events import MembershipEnded, TokensEnded
from apps.identity.models import (
    ApiToken,
    IdempotentCall,
    Membership,
    SignIn,
    User,
)
from apps.identity.permissions import IdentityPermission as P
from apps.kernel.actor import Actor, act_subject, current_act
from apps.kernel.errors import InvalidInput, Throttled, Unauthenticated
from apps.kernel.events import emit
from apps.kernel.reach import EVERYTHING, DataPermission
from apps.kernel.service import service
from apps.tenancy.models import Tenant
from apps.tenancy.selectors import tenant_list
from apps.tenancy.states import TenantState

LOCK_AFTER = 5
LOCK_ALL_AFTER = 50
# The first half of the advisory lock's key; the second is the account.
_LOCK_SPACE = 0x51611
LOCK_FOR = timedelta(minutes=15)
_UNUSABLE = make_password(None)


@dataclass(frozen=True, slots=True)
class BuiltinRole:
    """A role that ships with the product (annex B): code, names, permission codes, whether it changes nothing, and
    in a tenant's role whose records it reaches."""

    code: str
    name_en: str
    name_zh: str
    permissions: frozenset[str]
    is_read_only: bool = False
    data: DataPermission = EVERYTHING

    def fields(self) -> dict[str, Any]:
        """What its row says."""
        return {
            "name_en": self.name_en,
            "name_zh": self.name_zh,
            "permissions": sorted(self.permissions),
            "is_read_only": self.is_read_only,
            "is_builtin": True,
        }


def roles_are_behind(rows: Iterable[Any], said: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether built-in roles are kept, and not all of them as the code says: by code, what its row is to say."""
    kept = {row.code: row for row in rows if row.is_builtin}
    return bool(kept) and any(
        code not in kept or any(getattr(kept[code], name) != value for name, value in fields.items())
        for code, fields in said.items()
    )


# --- signing in ------------------------------------------------------------------------------------------------


def credentials_check(*, username: str, password: str, schema: str | None, address: str | None) -> User:
    """The enabled user with this password, or a refusal that does not say which part was wrong.

    He must be allowed to enter the tenant `schema`, or with "" any side at all; with None nobody asks where to.

    Every attempt is recorded outside any transaction of the caller; five wrong ones within 15 minutes lock the
    account for the rest of them to their address, fifty to everybody (PLAT-CFG-40, PLAT-CFG-41).
    """
    username = username.strip()[:64]
    user = User.objects.filter(username__iexact=username).first()
    # Counted under the account's own name: other spellings that the database takes for the same give no new tries.
    account = (user.username if user else username).lower()
    attempt = _attempt_begin(account, user, schema, address)
    # An unknown account costs the same time as a wrong password: neither is told from the other.
    accepted = check_password(password, user.password if user else _UNUSABLE) and bool(
        user and user.is_active
    )
    accepted = accepted and may_enter(user, schema)
    _attempt_end(attempt, is_accepted=accepted)
    if not accepted or user is None:
        raise Unauthenticated(
            _("The account or the password is wrong, or the account may not enter here."),
            cure=_("Check both, and the address of your portal."),
        )
    return user


def _attempt_begin(account: str, user: User | None, schema: str | None, address: str | None) -> SignIn:
    """Count an attempt before its password is looked at, as a wrong one: of many at once no more than the bound pass.

    Raises:
        Throttled: too many wrong ones from this address, or from all addresses together.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        # Guesses for one account go one after another through here; other accounts do not wait.
        cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [_LOCK_SPACE, account])
        _lock_check(account, address)
        return SignIn.objects.create(
            username=account, user=user, schema=schema or "", address=address, is_accepted=False
        )


def _attempt_end(attempt: SignIn, *, is_accepted: bool) -> None:
    if is_accepted:
        attempt.is_accepted = True
        attempt.save(update_fields=["is_accepted"])


def _lock_check(account: str, address: str | None) -> None:
    """Refuse after `LOCK_AFTER` wrong attempts in a row from one address, and `LOCK_ALL_AFTER` from all.

    Who only knows an account's name locks out himself, not its owner who signs in from elsewhere.
    """
    since = timezone.now() - LOCK_FOR
    attempts = SignIn.objects.filter(username=account, at__gte=since).order_by("-at")
    for found, most in ((attempts.filter(address=address), LOCK_AFTER), (attempts, LOCK_ALL_AFTER)):
        recent = list(found[:most])
        if len(recent) == most and not any(attempt.is_accepted for attempt in recent):
            minutes = max(1, round((recent[-1].at + LOCK_FOR - timezone.now()).total_seconds() / 60))
            raise Throttled(
                _("The account is locked after %(count)s wrong sign-ins.") % {"count": most},
                cure=_("Try again in %(minutes)s minutes.") % {"minutes": minutes},
            )


def may_enter(user: User | None, schema: str | None) -> bool:
    """Whether somebody may sign in to the tenant `schema`; with "" to any side at all, with None wherever it is."""
    if user is None or schema is None:
        return user is not None
    if not schema:
        return user.is_operator or user.memberships.filter(is_active=True).exists()
    return user.memberships.filter(
        is_active=True, tenant__schema_name=schema, tenant__state="active"
    ).exists()


# --- users -----------------------------------------------------------------------------------------------------


def password_check(password: str, user: User) -> None:
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
    """A user without any membership yet (PLAT-TEN-24).

    A password that another person chose is a first one: its user changes it before anything else.
    """
    user = User(
        username=username,
        display_name=display_name,
        email=email,
        is_operator=is_operator,
        must_change_password=actor.is_user,
    )
    user_save_new(user, password)
    act_subject("user", user.uid, username=user.username)
    return user


def user_save_new(user: User, password: str) -> None:
    """Check and keep a user who is not there yet, inside a service."""
    user.username, user.display_name = user.username.strip(), " ".join(user.display_name.split())
    _account_free_check(user.username)
    password_check(password, user)
    user.set_password(password)
    user_fields_check(user)
    try:
        with transaction.atomic():
            user.save()
    except IntegrityError:
        # Somebody took the name between the look and the write.
        _account_free_check(user.username)
        raise


def _account_free_check(username: str) -> None:
    if User.objects.filter(username__iexact=username).exists():
        reason = _("The login account %(name)s is taken.") % {"name": username}
        raise InvalidInput(reason, fields={"username": reason}, cure=_("Choose another one."))


def user_name_put(user: User, display_name: str, email: str) -> None:
    """Another name or e-mail, inside a service."""
    user.display_name, user.email = " ".join(display_name.split()), email.strip()
    user_fields_check(user)
    user.save(update_fields=["display_name", "email"])


def user_fields_check(user: User) -> None:
    try:
        user.full_clean()
    except ValidationError as error:
        raise InvalidInput(
            fields={name: " ".join(texts) for name, texts in error.message_dict.items()}
        ) from error


@service(P.MANAGE)
def user_disable(*, actor: Actor, user: User) -> None:
    """The user signs in no more and every open session and token ends at its next use (PLAT-TEN-27)."""
    act_subject("user", user.uid, username=user.username)
    User.objects.filter(pk=user.pk).update(is_active=False)
    sessions_end(user)
    tokens_end(user)


def tokens_end(user: User, tenant: Tenant | None = None) -> None:
    """What programs act by in the user's name ends, in one tenant or everywhere: his API tokens here, other keys where
    they are kept. Inside a service."""
    tokens = ApiToken.objects.filter(user=user, revoked_at=None)
    memberships = user.memberships.exclude(tenant__state=TenantState.DELETED)
    if tenant is not None:
        tokens, memberships = tokens.filter(tenant=tenant), memberships.filter(tenant=tenant)
    tokens.update(revoked_at=timezone.now())
    schemas = tuple(memberships.values_list("tenant__schema_name", flat=True))
    act = current_act()
    if schemas and act is not None:
        emit(TokensEnded(schemas=schemas, user_id=user.pk), actor=act.actor)


def sessions_end(user: User) -> None:
    """Every session of the user that is open now ends at its next use, and does not come back to life."""
    User.objects.filter(pk=user.pk).update(session_epoch=models.F("session_epoch") + 1)


@service(P.MANAGE)
def user_enable(*, actor: Actor, user: User) -> None:
    act_subject("user", user.uid, username=user.username)
    User.objects.filter(pk=user.pk).update(is_active=True)


@service(P.MANAGE)
def membership_add(*, actor: Actor, user: User, tenant: Tenant) -> Membership:
    """Let a user into a tenant; what the user may do there is bound in the tenant itself."""
    act_subject("user", user.uid, tenant=tenant.schema_name)
    return membership_put(user, tenant)


def membership_put(user: User, tenant: Tenant) -> Membership:
    """The user belongs to the tenant from now on, inside a service."""
    defaults = {"is_active": True, "left_at": None}
    return Membership.objects.update_or_create(user=user, tenant=tenant, defaults=defaults)[0]


@service(P.MANAGE)
def membership_remove(*, actor: Actor, user: User, tenant: Tenant) -> None:
    """End a membership with its tokens and, inside the tenant, its roles: coming back begins without any."""
    act_subject("user", user.uid, tenant=tenant.schema_name)
    membership_end(actor, user, tenant)


def membership_end(actor: Actor, user: User, tenant: Tenant) -> None:
    """The user belongs to the tenant no more, inside a service."""
    rows = Membership.objects.filter(user=user, tenant=tenant, left_at=None)
    rows.update(is_active=False, left_at=timezone.now())
    tenant_access_end(user, tenant)
    emit(MembershipEnded(schema=tenant.schema_name, user_id=user.pk), actor=actor)


def present_password_check(*, user: User, password: str, address: str | None, schema: str = "") -> None:
    """That somebody who is signed in knows the password; wrong ones count as wrong sign-ins do.

    Recorded outside any transaction of the caller, so that a refusal does not forget them.

    Raises:
        InvalidInput: it is wrong.
        Throttled: it was wrong too often.
    """
    attempt = _attempt_begin(user.username.lower(), user, schema, address)
    is_right = user.check_password(password)
    _attempt_end(attempt, is_accepted=is_right)
    if not is_right:
        raise InvalidInput(_("The present password is wrong."), fields={"old_password": _("Wrong.")})


def tenant_access_end(user: User, tenant: Tenant) -> None:
    """End the user's sessions, and the tokens made for this tenant."""
    sessions_end(user)
    tokens_end(user, tenant)


@service(own=True)
def password_change(*, actor: Actor, user: User, old_password: str, new_password: str) -> None:
    """A user sets a new password of his own; the old one and every API token stop working (PLAT-TEN-26)."""
    act_subject("user", user.uid)
    if actor.user_id != user.pk or not user.check_password(old_password):
        raise InvalidInput(_("The present password is wrong."), fields={"old_password": _("Wrong.")})
    password_check(new_password, user)
    if user.check_password(new_password):
        reason = _("It is the present password.")
        raise InvalidInput(_("Choose another password."), fields={"new_password": reason})
    password_put(user, new_password, must_change=False)


def password_put(user: User, password: str | None, *, must_change: bool) -> None:
    """The user's password from now on, None for none that opens; sessions and tokens made with the old one end. Inside
    a service."""
    user.set_password(password)
    user.must_change_password = must_change
    user.save(update_fields=["password", "must_change_password"])
    # Who changes a password may fear that somebody else has it, and made a token with it.
    tokens_end(user)


def tenants_of(user: User) -> list[Tenant]:
    """The active tenants a user may enter."""
    ids = user.memberships.filter(is_active=True).values("tenant_id")
    return list(tenant_list().filter(pk__in=ids, state="active"))


def idempotent_calls_prune(*, older_than: timedelta = timedelta(days=2)) -> int:
    """Forget answers nobody will ask for again."""
    from_at = timezone.now() - older_than
    with transaction.atomic():
        return IdempotentCall.objects.filter(created_at__lt=from_at).delete()[0]
