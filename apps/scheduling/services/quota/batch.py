"""What many workloads use of their tenants' quotas, in a few statements: `quota_keep` for a scheduling cycle."""

from collections import defaultdict
from collections.abc import Mapping
from uuid import UUID

from apps.kernel.actor import Actor
from apps.kernel.bulk import insert_many, update_many
from apps.kernel.errors import QuotaExceeded
from apps.kernel.prepared_queries import ArrayParam, Param, PreparedValues
from apps.kernel.service import service
from apps.scheduling.models import QuotaHold
from apps.scheduling.services.quota.models import model_room_check
from apps.scheduling.services.quota.room import QuotaUsage, quota_exceeded, quota_rooms
from apps.scheduling.states import HoldState
from apps.tenancy.models import Tenant

Wanted = Mapping[UUID, Mapping[str, int]]


@service(recorded=False, joins=True)
def quotas_use(*, actor: Actor, wanted: Mapping[int, Wanted]) -> dict[UUID, QuotaExceeded]:
    """Let holders of several tenants (by key) use exactly these amounts from now on; who may not, and why.

    All of one holder or nothing. Only what is more than it holds already is checked, in the order given. The caller
    has locked the holders: nobody else changes what they hold.
    """
    refused: dict[UUID, QuotaExceeded] = {}
    for tenant_id in sorted(wanted):
        refused |= _tenant_use(tenant_id, wanted[tenant_id])
    return refused


@service(recorded=False, joins=True)
def quotas_hold(*, actor: Actor, tenant: Tenant, wanted: Wanted, model: str = "") -> None:
    """Hold amounts in process for many new holders, all of them or none; QuotaExceeded names what is left.

    `model`: the one on which alone they may run, so that its quota is asked too (ELA-308).
    """
    rooms = quota_rooms(tenant.pk)
    sums: dict[str, int] = defaultdict(int)
    for amounts in wanted.values():
        for item, amount in amounts.items():
            sums[item] += amount
    for item, asked in sorted(sums.items()):
        if asked > rooms[item].left:
            raise quota_exceeded(tenant, item, rooms[item], asked)
    model_room_check(tenant, rooms, model, sums)
    insert_many(
        [
            QuotaHold(tenant_id=tenant.pk, holder_uid=holder_uid, item=item, amount=amount)
            for holder_uid, amounts in wanted.items()
            for item, amount in amounts.items()
            if amount
        ],
        keyed=False,
    )


def _tenant_use(tenant_id: int, wanted: Wanted) -> dict[UUID, QuotaExceeded]:
    held = _holds_by_holder(tenant_id, wanted)
    mores = {
        holder_uid: {
            item: amount - held[holder_uid].get(item, _NOTHING)[1] for item, amount in amounts.items()
        }
        for holder_uid, amounts in wanted.items()
    }
    # What holds enough already takes from nobody: the quota is neither locked nor summed for it.
    asks = any(amount > 0 for more in mores.values() for amount in more.values())
    rooms = quota_rooms(tenant_id) if asks else defaultdict(QuotaUsage)
    refused, changed, new = {}, [], []
    for holder_uid, amounts in wanted.items():
        rows, more = held[holder_uid], mores[holder_uid]
        if (short := _short(more, rooms)) is not None:
            tenant = Tenant.objects.get(pk=tenant_id)
            refused[holder_uid] = quota_exceeded(tenant, short, rooms[short], more[short])
            continue
        for item, amount in amounts.items():
            rooms[item].used += more[item]
            if item in rows:
                changed.append((rows[item][0], amount, HoldState.USED.value))
            elif amount:
                new.append(_hold(tenant_id, holder_uid, item, amount))
    update_many(
        "scheduling_quotahold",
        {"amount": "bigint", "state": "text"},
        changed,
        "(t.amount, t.state) <> (v.amount, v.state)",
    )
    insert_many(new, keyed=False)
    return refused


_NOTHING = (0, 0)


def _short(more: Mapping[str, int], rooms: Mapping[str, QuotaUsage]) -> str | None:
    """The first item of which less than that is left."""
    return next((item for item in sorted(more) if more[item] > rooms[item].left), None)


_HOLDS = PreparedValues(
    lambda: QuotaHold.plain.filter(tenant_id=Param("tenant"), holder_uid=ArrayParam("holders")),
    "pk",
    "holder_uid",
    "item",
    "amount",
    "state",
)


def _holds_by_holder(tenant_id: int, wanted: Wanted) -> dict[UUID, dict[str, tuple[int, int]]]:
    """Of each holder and item the key of its row and what it holds now."""
    held: dict[UUID, dict[str, tuple[int, int]]] = defaultdict(dict)
    for pk, holder_uid, item, amount, state in _HOLDS.all(tenant=tenant_id, holders=list(wanted)):
        held[holder_uid][item] = (pk, amount if state != HoldState.RELEASED else 0)
    return held


def _hold(tenant_id: int, holder_uid: UUID, item: str, amount: int) -> QuotaHold:
    return QuotaHold(
        tenant_id=tenant_id, holder_uid=holder_uid, item=item, amount=amount, state=HoldState.USED
    )
