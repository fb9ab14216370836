"""What many workloads use of their tenants' quotas, in a few statements: `quota_keep` for a scheduling cycle."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from apps.kernel.actor import Actor
from apps.kernel.bulk import insert_many, update_many
from apps.kernel.errors import QuotaExceeded
from apps.kernel.prepared_queries import ArrayParam, Param, PreparedValues
from apps.kernel.service import service
from apps.scheduling.models import QuotaHold
from apps.scheduling.services.quota.models import model_room_check
from apps.scheduling.services.quota.room import quota_exceeded, quota_rooms
from apps.scheduling.states import HoldState
from apps.tenancy.models import Tenant

Wanted = Mapping[UUID, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class QuotaUse:
    """What one holder is to use of the quotas of its tenant (by key) and of its organization and those above."""

    tenant_id: int
    holder_uid: UUID
    organization: UUID | None
    amounts: Mapping[str, int]


@service(recorded=False, joins=True)
def quotas_use(*, actor: Actor, wanted: Iterable[QuotaUse]) -> dict[UUID, QuotaExceeded]:
    """Let holders of several tenants use exactly these amounts from now on; who may not, and why.

    All of one holder or nothing. Only what is more than it holds already is checked, in the order given. The caller
    has locked the holders: nobody else changes what they hold.
    """
    refused: dict[UUID, QuotaExceeded] = {}
    by_tenant: dict[int, list[QuotaUse]] = defaultdict(list)
    for use in wanted:
        by_tenant[use.tenant_id].append(use)
    for tenant_id in sorted(by_tenant):
        refused |= _tenant_use(tenant_id, by_tenant[tenant_id])
    return refused


@service(recorded=False, joins=True)
def quotas_hold(
    *, actor: Actor, tenant: Tenant, wanted: Wanted, organization: UUID | None, model: str = ""
) -> None:
    """Hold amounts in process for many new holders, all of them or none; QuotaExceeded names what is left, and where.

    `organization`: theirs, which is held against with all above it. `model`: the one on which alone they may run, so
    that its quota is asked too (ELA-308).
    """
    rooms = quota_rooms(tenant.pk)
    sums: dict[str, int] = defaultdict(int)
    for amounts in wanted.values():
        for item, amount in amounts.items():
            sums[item] += amount
    if short := rooms.short(organization, sums):
        raise quota_exceeded(tenant, *short, sums[short[0]])
    model_room_check(tenant, rooms, model, sums)
    insert_many(
        [
            QuotaHold(
                tenant_id=tenant.pk,
                organization_id=organization,
                holder_uid=holder_uid,
                item=item,
                amount=amount,
            )
            for holder_uid, amounts in wanted.items()
            for item, amount in amounts.items()
            if amount
        ],
        keyed=False,
    )


def _tenant_use(tenant_id: int, wanted: list[QuotaUse]) -> dict[UUID, QuotaExceeded]:
    held = _holds_by_holder(tenant_id, [use.holder_uid for use in wanted])
    mores = {
        use.holder_uid: {
            item: amount - held[use.holder_uid].get(item, _NOTHING)[1] for item, amount in use.amounts.items()
        }
        for use in wanted
    }
    # What holds enough already takes from nobody: the quota is neither locked nor summed for it.
    asks = any(amount > 0 for more in mores.values() for amount in more.values())
    rooms = quota_rooms(tenant_id) if asks else None
    refused, changed, new = {}, [], []
    for use in wanted:
        rows, more = held[use.holder_uid], mores[use.holder_uid]
        if rooms is not None and (short := rooms.short(use.organization, more)):
            tenant = Tenant.objects.get(pk=tenant_id)
            refused[use.holder_uid] = quota_exceeded(tenant, *short, more[short[0]])
            continue
        for item, amount in use.amounts.items():
            if rooms is not None:
                rooms.take(use.organization, item, more[item])
            if item in rows:
                changed.append((rows[item][0], amount, HoldState.USED.value))
            elif amount:
                new.append(_hold(use, item, amount))
    update_many(
        "scheduling_quotahold",
        {"amount": "bigint", "state": "text"},
        changed,
        "(t.amount, t.state) <> (v.amount, v.state)",
    )
    insert_many(new, keyed=False)
    return refused


_NOTHING = (0, 0)


_HOLDS = PreparedValues(
    lambda: QuotaHold.plain.filter(tenant_id=Param("tenant"), holder_uid=ArrayParam("holders")),
    "pk",
    "holder_uid",
    "item",
    "amount",
    "state",
)


def _holds_by_holder(tenant_id: int, holders: list[UUID]) -> dict[UUID, dict[str, tuple[int, int]]]:
    """Of each holder and item the key of its row and what it holds now."""
    held: dict[UUID, dict[str, tuple[int, int]]] = defaultdict(dict)
    for pk, holder_uid, item, amount, state in _HOLDS.all(tenant=tenant_id, holders=holders):
        held[holder_uid][item] = (pk, amount if state != HoldState.RELEASED else 0)
    return held


def _hold(use: QuotaUse, item: str, amount: int) -> QuotaHold:
    return QuotaHold(
        tenant_id=use.tenant_id,
        organization_id=use.organization,
        holder_uid=use.holder_uid,
        item=item,
        amount=amount,
        state=HoldState.USED,
    )
