"""Keys of services: made by who owns the service, shown once, sent by programs, revoked."""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.identity.services.users import tenants_of
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from apps.kernel.service import service
from apps.scheduling.locks import workload_lock
from apps.scheduling.models import ServiceKey, Workload
from apps.scheduling.permissions import ResourcePermission as P
from apps.scheduling.selectors.web_pages import is_service, may_open_web
from apps.scheduling.selectors.workloads import workload_get
from apps.tenancy.models import Tenant

PREFIX = "weirsvc_"
KEYS_MOST = 20
_NAME_MOST = 80
_USED_EVERY = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """In whose name a key opens its service, and in which role of the tenant."""

    workload_uid: str
    schema: str
    user_id: int
    role: str


@service(P.OPERATE)
def service_key_make(
    *, actor: Actor, tenant: Tenant, workload_uid: UUID, name: str
) -> tuple[ServiceKey, str]:
    """A key of the actor's own service, and what programs send, which nobody is shown again.

    Raises NotFound for what is no service, Forbidden for somebody else's, Conflict where it is over or has too many.
    """
    row = _own(actor, tenant, workload_uid)
    workload_lock(row.uid)
    name = name.strip()
    if not 1 <= len(name) <= _NAME_MOST:
        raise InvalidInput(fields={"name": _("1 to %(most)s characters") % {"most": _NAME_MOST}})
    if row.is_final:
        raise Conflict(_("%(no)s is over.") % {"no": row.no}, cure=_("Order another one."))
    usable = ServiceKey.plain.filter(workload=row, revoked_at=None)
    if usable.count() >= KEYS_MOST:
        raise Conflict(
            _("%(no)s has %(most)s keys.") % {"no": row.no, "most": KEYS_MOST},
            cure=_("Revoke one that is not used."),
        )
    if usable.filter(name=name).exists():
        raise InvalidInput(fields={"name": _("There is a key of this name.")})
    secret = PREFIX + secrets.token_urlsafe(32)
    assert actor.user_id is not None
    made = ServiceKey.plain.create(
        tenant=tenant,
        workload=row,
        name=name,
        digest=_digest(secret),
        made_by_id=actor.user_id,
        role=actor.role,
    )
    act_subject("workload", row.uid, no=row.no, key=name)
    return made, secret


@service(P.OPERATE)
def service_key_revoke(*, actor: Actor, tenant: Tenant, workload_uid: UUID, key_uid: UUID) -> None:
    """It opens nothing any more; again changes nothing. Whoever may end the service may revoke its keys."""
    row = workload_get(tenant, workload_uid, actor=actor)
    key = ServiceKey.plain.select_for_update(no_key=True).filter(workload=row, uid=key_uid).first()
    if key is None:
        raise NotFound()
    act_subject("workload", row.uid, no=row.no, key=key.name)
    if key.revoked_at is None:
        key.revoked_at = timezone.now()
        key.save(update_fields=["revoked_at"])


def service_key_holder(secret: str, workload_uid: UUID) -> KeyHolder | None:
    """In whose name a key opens this service; None where it does not, or no longer."""
    rows = ServiceKey.objects.across().select_related("tenant", "made_by", "workload")
    key = rows.filter(digest=_digest(secret), revoked_at=None, workload__uid=workload_uid).first()
    if key is None or not key.made_by.is_active or key.workload.is_final:
        return None
    schema = key.tenant.schema_name
    if schema not in {tenant.schema_name for tenant in tenants_of(key.made_by)}:
        return None
    now = timezone.now()
    if key.used_at is None or key.used_at < now - _USED_EVERY:
        ServiceKey.objects.across().filter(pk=key.pk).update(used_at=now)
    return KeyHolder(str(workload_uid), schema, key.made_by_id, key.role)


def _own(actor: Actor, tenant: Tenant, workload_uid: UUID) -> Workload:
    row = workload_get(tenant, workload_uid, actor=actor)
    if not is_service(row):
        raise NotFound(_("%(no)s is no service.") % {"no": row.no})
    if not may_open_web(actor, row):
        raise Forbidden(
            _("The keys of %(no)s are made by who ordered it.") % {"no": row.no},
            cure=_("Order one of your own."),
        )
    return row


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
