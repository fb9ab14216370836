"""Who was let in to somebody's running work, and by what: kept as secrets, asked about again while it is open."""

import hashlib
import secrets
from dataclasses import dataclass
from typing import Any

from django.core.cache import cache

from apps.identity.pages.sessions import watcher_id
from apps.identity.services.tokens import api_token_get
from apps.identity.services.users import tenants_of


@dataclass(frozen=True, slots=True)
class AskedBy:
    """The session of a browser, or the API token by its digest, by which something was asked for."""

    session_key: str = ""
    token_digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkAccess:
    """Who was let in to which workload, and in which role of the tenant.

    `session_key` is that of the browser that was signed in to the portal: access ends with it. Where it was asked for
    with an API token it is empty, and access ends with the token of `token_digest`.
    """

    workload_uid: str
    schema: str
    user_id: int
    role: str
    session_key: str
    token_digest: str


def access_holds(access: WorkAccess) -> bool:
    """Whether the session or token that it came from, the account and the membership of the tenant still hold."""
    if access.session_key:
        return watcher_id(access.session_key, (access.schema,)) == access.user_id
    token = api_token_get(access.token_digest)
    if token is None or token.user_id != access.user_id:
        return False
    return access.schema in {tenant.schema_name for tenant in tenants_of(token.user)}


def secret_keep(kind: str, value: dict[str, Any], seconds: int) -> str:
    """A secret that stands for this value."""
    secret = secrets.token_urlsafe(32)
    cache.set(_key(kind, secret), value, seconds)
    return secret


def secret_read(kind: str, secret: str) -> dict[str, Any] | None:
    """What a secret stands for; None for every other, and when its time is over."""
    found: dict[str, Any] | None = cache.get(_key(kind, secret))
    return found


def secret_use(kind: str, secret: str) -> bool:
    """Make a secret worthless; whether it was none before: of two that use it at once one does."""
    return bool(cache.delete(_key(kind, secret)))


def _key(kind: str, secret: str) -> str:
    """Who can read the cache cannot use what is in it."""
    return f"work-{kind}.{hashlib.sha256(secret.encode()).hexdigest()}"
