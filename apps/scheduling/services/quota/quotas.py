"""Quotas of tenants: set, hold while a form is in process, use, give back."""

from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput
from apps.kernel.service import service
from apps.scheduling.models import QuotaHold, TenantQuota
from apps.scheduling.permissions import SchedulingPermission as P
from apps.scheduling.selectors.usage.model_usage import MODEL_ITEMS, pool_models
from apps.scheduling.services.quota.room import quota_exceeded, quota_rooms
from apps.scheduling.states import HoldState, QuotaItem
from apps.tenancy.models import Tenant

_MOST = 10**12
# What a new tenant may hold until an operator says otherwise (ELA-307): a rule, not the absence of one.
DEFAULTS = {
    QuotaItem.INSTANCES.value: 16,
    QuotaItem.COMPUTE_PERCENT.value: 800,
    QuotaItem.GPU_MEMORY_MIB.value: 64 * 1024,
    QuotaItem.HOST_CPU_MILLI.value: 64_000,
    QuotaItem.HOST_MEMORY_MIB.value: 256 * 1024,
    QuotaItem.STORAGE_MIB.value: 100 * 1024,
}


@service(P.MANAGE)
def quota_set(*, actor: Actor, tenant: Tenant, item: str, total: int, model: str = "") -> TenantQuota:
    """Set the most a tenant may hold (PLAT-TEN-10), or with a `model` the most of it on devices of that model, beside
    the whole (ELA-308). What is held beyond it stays; new asks are refused."""
    if item not in QuotaItem.values or not 0 <= total <= _MOST:
        raise InvalidInput(
            _("A quota is one of %(items)s and a whole number from 0.")
            % {"items": ", ".join(QuotaItem.values)},
            fields={"item": item, "total": total},
        )
    if model and item not in MODEL_ITEMS:
        raise InvalidInput(
            _("A quota on a model is one of %(items)s.") % {"items": ", ".join(MODEL_ITEMS)},
            fields={"item": item, "model": model},
        )
    if model and model not in (known := pool_models()):
        raise InvalidInput(
            _("The pool has no device of model %(model)s.") % {"model": model},
            cure=_("Name one of these: %(models)s.") % {"models": ", ".join(known)},
            fields={"model": model},
        )
    act_subject("tenant", tenant.schema_name, item=item, total=total, **({"model": model} if model else {}))
    row, is_new = TenantQuota.plain.select_for_update().get_or_create(
        tenant=tenant, item=item, model=model, defaults={"total": total}
    )
    if not is_new:
        if row.allocated > total:
            raise Conflict(
                _("%(allocated)s are allocated to organizations.") % {"allocated": row.allocated},
                cure=_("Take some back first."),
            )
        row.total = total
        row.save(update_fields=["total", "updated_at"])
    return row


@service(P.MANAGE)
def quota_defaults(*, actor: Actor, tenant: Tenant) -> None:
    """Give a new tenant the default quotas."""
    for item, total in DEFAULTS.items():
        quota_set(actor=actor, tenant=tenant, item=item, total=total)


@service()
def quota_hold(
    *,
    actor: Actor,
    tenant: Tenant,
    holder_uid: UUID,
    amounts: dict[str, int],
    organization: UUID | None = None,
) -> None:
    """Hold `amounts` in process for `holder_uid`, all or nothing, against the organization, all above it and the
    tenant; QuotaExceeded names what is left, and where.

    The quota rows are locked in item order, so parallel asks are served one after the other.
    """
    act_subject("quota_hold", holder_uid, **amounts)
    if short := quota_rooms(tenant.pk).short(organization, amounts):
        raise quota_exceeded(tenant, *short, amounts[short[0]])
    QuotaHold.plain.filter(tenant=tenant, holder_uid=holder_uid, state=HoldState.RELEASED).delete()
    if QuotaHold.plain.filter(tenant=tenant, holder_uid=holder_uid).exists():
        raise Conflict(_("Its quota is already held."))
    QuotaHold.plain.bulk_create(
        QuotaHold(
            tenant=tenant, organization_id=organization, holder_uid=holder_uid, item=item, amount=amount
        )
        for item, amount in amounts.items()
        if amount
    )


@service()
def quota_use(*, actor: Actor, tenant: Tenant, holder_uid: UUID) -> None:
    """What was in process is used now: its resource is being delivered."""
    _move(tenant, holder_uid, (HoldState.IN_PROCESS,), HoldState.USED)


@service()
def quota_keep(
    *,
    actor: Actor,
    tenant: Tenant,
    holder_uid: UUID,
    amounts: dict[str, int],
    organization: UUID | None = None,
) -> None:
    """Let `holder_uid` use exactly `amounts` from now on, all or nothing: only what is more than it holds already
    is checked, against the organization, all above it and the tenant. QuotaExceeded names what is left, and where."""
    act_subject("quota_hold", holder_uid, **amounts)
    # Locked before it is read what is held.
    rooms = quota_rooms(tenant.pk)
    holds = QuotaHold.plain.filter(tenant=tenant, holder_uid=holder_uid)
    held = dict(holds.exclude(state=HoldState.RELEASED).values_list("item", "amount"))
    more = {item: amount - held.get(item, 0) for item, amount in amounts.items()}
    if short := rooms.short(organization, more):
        raise quota_exceeded(tenant, *short, more[short[0]])
    for item, amount in sorted(amounts.items()):
        if not amount and item not in held:
            continue
        holds.update_or_create(
            item=item,
            defaults={"amount": amount, "state": HoldState.USED},
            create_defaults={
                "tenant": tenant,
                "organization_id": organization,
                "holder_uid": holder_uid,
                "item": item,
                "amount": amount,
                "state": HoldState.USED,
            },
        )


@service()
def quota_release(*, actor: Actor, tenant: Tenant, holder_uid: UUID) -> None:
    """Give back whatever `holder_uid` holds; doing it twice changes nothing."""
    _move(tenant, holder_uid, (HoldState.IN_PROCESS, HoldState.USED), HoldState.RELEASED)


def _move(tenant: Tenant, holder_uid: UUID, sources: tuple[str, ...], to: str) -> None:
    act_subject("quota_hold", holder_uid)
    rows = QuotaHold.plain.filter(tenant=tenant, holder_uid=holder_uid, state__in=sources)
    rows.update(state=to, updated_at=timezone.now())
