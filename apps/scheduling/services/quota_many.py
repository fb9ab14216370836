"""What many workloads use of their tenants' quotas, in a few statements: `quota_keep` for a scheduling cycle."""

from collections import defaultdict
from collections.abc import Mapping
from uuid import UUID

from django.db.models import Sum
from django.utils.translation import gettext as _

from apps.kernel.acts import Actor
from apps.kernel.bulk import insert_many, update_many
from apps.kernel.errors import QuotaExceeded
from apps.kernel.service import service
from apps.scheduling.models import QuotaHold, TenantQuota
from apps.scheduling.states import HoldState, QuotaItem
from apps.tenancy.models import Tenant

Wanted = Mapping[UUID, Mapping[str, int]]


@service(recorded=False)
def quotas_use(*, actor: Actor, wanted: Mapping[int, Wanted]) -> dict[UUID, QuotaExceeded]:
    """Let holders of several tenants (by key) use exactly these amounts from now on; who may not, and why.

    All of one holder or nothing. Only what is more than it holds already is checked, in the order given.
    """
    refused: dict[UUID, QuotaExceeded] = {}
    for tenant_id in sorted(wanted):
        refused |= _tenant_use(tenant_id, wanted[tenant_id])
    return refused


@service(recorded=False)
def quotas_hold(*, actor: Actor, tenant: Tenant, wanted: Wanted) -> None:
    """Hold amounts in process for many new holders, all of them or none; QuotaExceeded names what is left."""
    left = _left(tenant.pk)
    sums: dict[str, int] = defaultdict(int)
    for amounts in wanted.values():
        for item, amount in amounts.items():
            sums[item] += amount
    for item, asked in sorted(sums.items()):
        if asked > max(0, left.get(item, 0)):
            raise _exceeded(item, asked, left.get(item, 0))
    insert_many(
        [
            QuotaHold(tenant_id=tenant.pk, holder_uid=holder_uid, item=item, amount=amount)
            for holder_uid, amounts in wanted.items()
            for item, amount in amounts.items()
            if amount
        ]
    )


def _tenant_use(tenant_id: int, wanted: Wanted) -> dict[UUID, QuotaExceeded]:
    left = _left(tenant_id)
    held = _held(tenant_id, wanted)
    refused, changed, new = {}, [], []
    for holder_uid, amounts in wanted.items():
        rows = held[holder_uid]
        more = {item: amount - rows.get(item, _NOTHING)[1] for item, amount in amounts.items()}
        short = next((item for item in sorted(more) if more[item] > max(0, left.get(item, 0))), None)
        if short is not None:
            refused[holder_uid] = _exceeded(short, more[short], left.get(short, 0))
            continue
        for item, amount in amounts.items():
            left[item] = left.get(item, 0) - more[item]
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
    insert_many(new)
    return refused


_NOTHING = (0, 0)


def _held(tenant_id: int, wanted: Wanted) -> dict[UUID, dict[str, tuple[int, int]]]:
    """Of each holder and item the key of its row and what it holds now."""
    held: dict[UUID, dict[str, tuple[int, int]]] = defaultdict(dict)
    rows = QuotaHold.plain.filter(tenant_id=tenant_id, holder_uid__in=list(wanted))
    for pk, holder_uid, item, amount, state in rows.values_list(
        "pk", "holder_uid", "item", "amount", "state"
    ):
        held[holder_uid][item] = (pk, amount if state != HoldState.RELEASED else 0)
    return held


def _hold(tenant_id: int, holder_uid: UUID, item: str, amount: int) -> QuotaHold:
    return QuotaHold(
        tenant_id=tenant_id, holder_uid=holder_uid, item=item, amount=amount, state=HoldState.USED
    )


def _left(tenant_id: int) -> dict[str, int]:
    """What of each item nobody holds, its row locked: parallel asks are served one after the other."""
    rows = TenantQuota.plain.select_for_update().filter(tenant_id=tenant_id).order_by("item")
    totals = dict(rows.values_list("item", "total"))
    counted = (HoldState.IN_PROCESS, HoldState.USED)
    holds = QuotaHold.plain.filter(tenant_id=tenant_id, state__in=counted)
    sums = dict(holds.values_list("item").annotate(sum=Sum("amount")).order_by())
    return {item: total - sums.get(item, 0) for item, total in totals.items()}


def _exceeded(item: str, more: int, left: int) -> QuotaExceeded:
    return QuotaExceeded(
        _("Of %(item)s %(left)s are left, %(asked)s more are asked.")
        % {"item": QuotaItem(item).label, "left": max(0, left), "asked": more},
        fields={item: _("%(left)s left") % {"left": max(0, left)}, "quota": item},
    )
