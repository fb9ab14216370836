"""Secrets of people and tenants: set, replaced, deleted, and given to the nodes that start work with them.

No answer, record, log or error holds a value: it is sealed as it comes in, and unsealed in the one reply to the node
that is to start the slice.
"""

import re
from collections.abc import Collection, Mapping
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.fleet.models import Secret
from apps.fleet.models.secrets import SECRET_NAME
from apps.kernel import sealing
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Forbidden, InvalidInput, NotFound
from apps.kernel.service import service
from apps.tenancy.models import Tenant

VALUE_MOST = 32_768
SECRETS_MOST = 500
_PURPOSE = b"weir secrets of work\x00"
# What the node itself says, and what decides which programs and libraries are loaded.
_TAKEN = re.compile(r"(WEIR|SLURM)_|(HOME|PATH|LD_PRELOAD|LD_LIBRARY_PATH|PYTHONPATH)$")
_FOR_ALL = "orgs.manage"


@service()
def secret_set(
    *, actor: Actor, tenant: Tenant, name: str, secret_value: str, is_shared: bool = False
) -> Secret:
    """Set one's own secret, or with `is_shared` one of all people of the tenant; one that is there is replaced, for
    work that starts from now on. Authority is the caller's, but that sharing takes who manages the organization.

    Raises InvalidInput, Forbidden.
    """
    if is_shared:
        actor.require(_FOR_ALL)
    elif actor.user_id is None:
        raise Forbidden()
    _check(name, secret_value)
    owner = None if is_shared else actor.user_id
    mine = Secret.plain.filter(tenant=tenant, owner_id=owner)
    if mine.exclude(name=name).count() >= SECRETS_MOST:
        raise InvalidInput(
            _("There are %(most)s secrets.") % {"most": SECRETS_MOST}, cure=_("Delete what is not used.")
        )
    # Two who set the same one at once make one row, and the later value stays.
    row, _is_new = Secret.plain.update_or_create(
        tenant=tenant,
        owner_id=owner,
        name=name,
        defaults={
            "sealed": sealing.seal(secret_value, _PURPOSE),
            "changed_by_id": actor.user_id,
            "changed_at": timezone.now(),
        },
    )
    act_subject("secret", row.uid, name=name, shared=is_shared)
    return row


def _check(name: str, value: str) -> None:
    wrong: dict[str, object] = {}
    if not re.fullmatch(SECRET_NAME, name):
        wrong["name"] = _("A variable's name: letters, digits and _, not a digit first, 128 at most.")
    elif _TAKEN.match(name):
        wrong["name"] = _("The node sets this variable itself.")
    # How long it is may be said; what it is never.
    if not 1 <= len(value) <= VALUE_MOST:
        wrong["value"] = _("1 to %(most)s characters") % {"most": VALUE_MOST}
    elif "\x00" in value:
        wrong["value"] = _("It holds a zero byte, which no variable can.")
    if wrong:
        raise InvalidInput(fields=wrong)


@service()
def secret_delete(*, actor: Actor, tenant: Tenant, secret_uid: UUID) -> None:
    """Delete a secret of one's own, or for who manages the organization one of all. Work that waits with it is refused
    when its turn comes; work that runs keeps what it was given. Raises NotFound."""
    row = (
        secrets_seen(tenant, actor)
        .select_for_update(no_key=True, of=("self",))
        .filter(uid=secret_uid)
        .first()
    )
    if row is None:
        raise NotFound()
    if row.owner_id is None:
        actor.require(_FOR_ALL)
    act_subject("secret", row.uid, name=row.name, shared=row.owner_id is None)
    row.delete()


def secrets_seen(tenant: Tenant, actor: Actor) -> QuerySet[Secret]:
    """The secrets that an actor may name: his own, and those of all; one's own first of the same name."""
    mine = Q(owner=None) | Q(owner_id=actor.user_id) if actor.user_id is not None else Q(owner=None)
    return Secret.plain.filter(mine, tenant=tenant).select_related("changed_by")


def secrets_find(tenant: Tenant, actor: Actor, names: Collection[str]) -> dict[str, str]:
    """By name the key of each secret, one's own before one of all. Raises InvalidInput for one that is not there."""
    found: dict[str, str] = {}
    for row in secrets_seen(tenant, actor).filter(name__in=names).order_by("owner_id"):
        if row.name not in found or row.owner_id is not None:
            found[row.name] = str(row.uid)
    missing = [name for name in names if name not in found]
    if missing:
        raise InvalidInput(
            _("There is no secret %(name)s.") % {"name": missing[0]},
            cure=_("Set it first, on the page of secrets or by weir secret set."),
            fields={"secrets": missing[0]},
        )
    return found


def secrets_missing(keys: Mapping[str, str]) -> list[str]:
    """Which of these, by name, are not there any more; nothing is read where none is named."""
    if not keys:
        return []
    there = {str(uid) for uid in Secret.plain.filter(uid__in=keys.values()).values_list("uid", flat=True)}
    return sorted(name for name, uid in keys.items() if uid not in there)


def secrets_unsealed(tenant_id: int, keys: Mapping[str, str]) -> dict[str, str]:
    """The values, for the node that starts the slice and nobody else; they count as used now."""
    rows = Secret.objects.across().filter(tenant_id=tenant_id, uid__in=keys.values())
    sealed = {str(uid): text for uid, text in rows.values_list("uid", "sealed")}
    rows.update(used_at=timezone.now())
    return {name: sealing.unseal(sealed[uid], _PURPOSE) for name, uid in keys.items() if uid in sealed}
