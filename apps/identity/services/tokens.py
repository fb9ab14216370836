"""Tokens: of people for the API, and of nodes, one to join with and one to speak with ever after."""

import hashlib
import secrets
from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.identity.models import AgentToken, ApiToken, Membership, User
from apps.identity.permissions import IdentityPermission as P
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, Unauthenticated
from apps.kernel.service import service
from apps.tenancy.models import Tenant

TOKEN_MAX_DAYS = 366


def digest_of(secret: str) -> str:
    """SHA-256 of a random secret: enough, since tokens carry 256 bits of their own."""
    return hashlib.sha256(secret.encode()).hexdigest()


# --- API tokens ------------------------------------------------------------------------------------------------


@service(own=True)
def api_token_make(
    *,
    actor: Actor,
    user: User,
    name: str,
    days: int = 30,
    tenant: Tenant | None = None,
    until: datetime | None = None,
) -> tuple[ApiToken, str]:
    """A new key of the user's own: the row and the secret, which is shown once and kept nowhere.

    Args:
        until: when the key with which this one is asked for expires: it lives no longer.
    """
    if actor.kind != "system" and actor.user_id != user.pk:
        raise InvalidInput(_("A token can only be made by its own user."))
    if not 1 <= days <= TOKEN_MAX_DAYS:
        raise InvalidInput(
            _("A token lives 1 to %(days)s days.") % {"days": TOKEN_MAX_DAYS}, fields={"days": days}
        )
    if tenant and not Membership.objects.filter(user=user, tenant=tenant, is_active=True).exists():
        raise InvalidInput(_("You are not a member of %(tenant)s.") % {"tenant": tenant})
    secret = "weir_" + secrets.token_urlsafe(32)
    expires_at = timezone.now() + timedelta(days=days)
    token = ApiToken.objects.create(
        user=user,
        tenant=tenant,
        name=name.strip()[:80] or "token",
        digest=digest_of(secret),
        hint=secret[:10],
        expires_at=min(expires_at, until) if until else expires_at,
    )
    act_subject("api_token", token.uid, days=days)
    return token, secret


@service(own=True)
def api_token_revoke(*, actor: Actor, token: ApiToken) -> None:
    act_subject("api_token", token.uid)
    if actor.user_id != token.user_id:
        actor.require(P.MANAGE)
    if not ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()):
        raise Conflict(_("The token is already revoked."))


@service(recorded=False)
def tenant_tokens_revoke(*, actor: Actor, tenant: Tenant) -> None:
    """Every API token for a tenant stops working."""
    ApiToken.objects.filter(tenant=tenant, revoked_at=None).update(revoked_at=timezone.now())


def api_token_get(digest: str) -> ApiToken | None:
    """The usable token with this digest, with its user; None for every other."""
    token = ApiToken.objects.select_related("user", "tenant").filter(digest=digest).first()
    return token if token is not None and token.is_usable and token.user.is_active else None


def api_token_user(secret: str) -> ApiToken:
    """The usable token of a secret, with its user; Unauthenticated for every other."""
    token = api_token_get(digest_of(secret))
    if token is None:
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
