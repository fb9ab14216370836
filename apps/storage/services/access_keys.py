"""Access keys: made by a person for programs that speak S3, shown once, revoked; and whom one stands for.

A request names its key and is signed with the key's secret, so that the portal needs the secret itself: it is kept
encrypted (`apps.kernel.sealing`). The key's id names its tenant, in whose schema the key lies.
"""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.identity.selectors import user_get
from apps.identity.services.users import tenants_of
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from apps.kernel.planes import current_schema, current_tenant
from apps.kernel.sealing import seal, unseal
from apps.kernel.service import service
from apps.orgs.selectors.roles import reach_of, standing_of
from apps.storage.models import AccessKey
from apps.storage.permissions import StoragePermission as P

KEYS_MOST = 20
DAYS_MOST = 366
DAYS_SHOWN = 90
_NAME_MOST = 80
_USED_EVERY = timedelta(minutes=1)
# The first half of an advisory lock's key; the second is the person.
_LOCK = 0x53333
_PURPOSE = b"access-key:"


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """Whom a key stands for, and what its requests are signed with."""

    actor: Actor
    secret: str


@service(P.VIEW, own=True)
def access_key_make(
    *,
    actor: Actor,
    name: str,
    days: int = DAYS_SHOWN,
    is_read_only: bool = False,
    until: datetime | None = None,
) -> tuple[AccessKey, str]:
    """A key of the actor's own, and its secret, which nobody is shown again. It acts in his present role.

    Args:
        until: when the token with which this is asked for expires: the key lives no longer.
    """
    if actor.kind != "user" or actor.user_id is None:
        raise Forbidden(
            _("Access keys are made by the tenant's people for themselves."),
            cure=_("Sign in as one of them."),
        )
    name = name.strip()
    if not 1 <= len(name) <= _NAME_MOST:
        raise InvalidInput(fields={"name": _("1 to %(most)s characters") % {"most": _NAME_MOST}})
    if not 1 <= days <= DAYS_MOST:
        raise InvalidInput(fields={"days": _("%(least)s to %(most)s") % {"least": 1, "most": DAYS_MOST}})
    # What a person makes at once is made one after another.
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_LOCK, actor.user_id])
    now = timezone.now()
    usable = AccessKey.objects.filter(person_id=actor.user_id, revoked_at=None, expires_at__gt=now)
    if usable.count() >= KEYS_MOST:
        raise Conflict(
            _("You have %(most)s access keys.") % {"most": KEYS_MOST},
            cure=_("Revoke one that is not used."),
        )
    if usable.filter(name=name).exists():
        raise InvalidInput(fields={"name": _("There is a key of this name.")})
    secret, ends = secrets.token_urlsafe(30), now + timedelta(days=days)
    row = AccessKey.objects.create(
        key_id=f"{current_schema()}_{secrets.token_hex(10).upper()}",
        sealed=seal(secret, _PURPOSE),
        name=name,
        person_id=actor.user_id,
        role=actor.role,
        is_read_only=is_read_only,
        expires_at=min(ends, until) if until else ends,
    )
    act_subject("access_key", row.uid, name=name)
    return row, secret


@service(P.VIEW, own=True)
def access_key_revoke(*, actor: Actor, uid: UUID) -> AccessKey:
    """It signs nothing any more; again changes nothing. NotFound for somebody else's."""
    rows = AccessKey.objects.select_for_update(no_key=True).filter(uid=uid, person_id=actor.user_id)
    row = rows.first()
    if row is None:
        raise NotFound()
    act_subject("access_key", row.uid, name=row.name)
    if row.revoked_at is None:
        row.revoked_at = timezone.now()
        row.save(update_fields=["revoked_at"])
    return row


@service(recorded=False)
def access_keys_revoke(*, actor: Actor, user_id: int) -> None:
    """All keys of a person in this tenant end."""
    AccessKey.objects.filter(person_id=user_id, revoked_at=None).update(revoked_at=timezone.now())


def key_schema(key_id: str) -> str:
    """The schema of the tenant that a key's id names; "" where it names none."""
    return key_id.rpartition("_")[0]


def access_key_holder(key_id: str, *, request_id: str = "") -> KeyHolder | None:
    """Whom a key of the current tenant stands for; None where there is no such key, or it holds no longer: expired,
    revoked, its person disabled or gone, its role taken away."""
    row = AccessKey.objects.filter(key_id=key_id, revoked_at=None).first()
    if row is None or not row.is_usable:
        return None
    user, secret = user_get(row.person_id), unseal(row.sealed, _PURPOSE)
    if not user.is_active or not secret or current_tenant() not in tenants_of(user):
        return None
    standing = standing_of(user.pk)
    role = next((role for role in standing.roles if role.code == row.role), None)
    if role is None:
        return None
    now = timezone.now()
    if row.used_at is None or row.used_at < now - _USED_EVERY:
        AccessKey.objects.filter(pk=row.pk).update(used_at=now)
    actor = Actor(
        kind="user",
        name=user.username,
        user_id=user.pk,
        tenant=current_schema(),
        role=role.code,
        permissions=frozenset(role.permissions),
        reach=reach_of(user.pk, role.data_permission, standing.organization),
        request_id=request_id,
        is_read_only=role.is_read_only or row.is_read_only,
        default_system=standing.default_system,
    )
    return KeyHolder(actor, secret)
