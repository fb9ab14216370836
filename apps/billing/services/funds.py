"""Funds: what is set aside before work starts, drawn down as its use is rated, and given back at its end (ELA-1911).

Whoever sets more aside holds the lock of the account. Rating only moves what was set aside to what was used, which
changes nothing of what can be spent: it needs no lock of the account.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_UP, Decimal
from uuid import UUID

from django.conf import settings
from django.db.models import Exists, F, Max, Min, OuterRef, Q, Subquery
from django.utils import timezone

from apps.billing.errors import FundsTooLow
from apps.billing.events import BalanceChanged, FundsFell
from apps.billing.locks import account_locked
from apps.billing.models import Account, Charge, FundsHold, RatedItem, UsageRecord
from apps.billing.selectors.accounts import HOLD_STANDS, burn_of, funds_of
from apps.billing.selectors.charges import hourly_cost
from apps.billing.states import ChargeState, FundsLevel
from apps.billing.types import Funds
from apps.kernel.actor import Actor
from apps.kernel.bulk import insert_many
from apps.kernel.events import emit
from apps.kernel.money import CENT, ZERO, bill_round
from apps.kernel.service import service
from apps.tenancy.models import Tenant

STOP_S = 300
"""So long work may take to stop once it is told to: its money reaches until then."""
LATE_S = 3600
"""So long after its end what a lost node may still tell of its use stays set aside."""
_WHOLE_S = 2
"""So much before its end the last use of work may have ended: nodes tell of whole seconds."""
_CHECK_LEAST_S = 60
_CHECK_SHORT_S = 5
_HOUR_S = 3600


def tail_s() -> int:
    """What is set aside must reach so much further than now: the grace, and the time that stopping takes."""
    return settings.WEIR_FUNDS_GRACE_S + STOP_S


def horizon_s() -> int:
    """For how long money is set aside at once."""
    return max(settings.WEIR_FUNDS_HOLD_S, 2 * tail_s())


def ahead_s(run_s: int | None) -> int:
    """For how long money is set aside before a start: for no longer than it may run, and takes to stop."""
    return horizon_s() if run_s is None else min(horizon_s(), run_s + STOP_S)


def cost_ahead(hourly: Decimal, seconds: float) -> Decimal:
    """What is set aside for so long, in whole cents."""
    return (hourly * Decimal(seconds) / _HOUR_S).quantize(CENT, rounding=ROUND_CEILING)


def hourly_ahead(price_version_id: int, amounts: Mapping[str, int], shares: int) -> Decimal:
    """What so many shares cost an hour, never less: to ten places, upwards."""
    whole = hourly_cost(price_version_id, amounts) * shares
    return whole.quantize(Decimal("1e-10"), rounding=ROUND_UP)


def funds_take(tenant: Tenant, amount: Decimal) -> Account:
    """The locked account, when `amount` can still be spent from it; FundsTooLow names what it lacks."""
    account = account_locked(tenant)
    if amount > 0:
        spendable = funds_of(account).spendable
        if amount > spendable:
            raise FundsTooLow(wanted=amount, spendable=spendable)
    return account


def holds_open(charges: Sequence[Charge], *, tenant: Tenant, hourly: Decimal, run_s: int | None) -> None:
    """Set aside for new charges, alike, what they cost for as long as is set aside at once; inside the caller's
    transaction."""
    seconds = ahead_s(run_s)
    each = cost_ahead(hourly, seconds)
    funds_take(tenant, each * len(charges))
    check_at = _check_at(hourly, seconds)
    insert_many(
        [
            FundsHold(
                tenant_id=tenant.pk,
                charge_id=charge.pk,
                amount=each,
                hourly=hourly,
                shares=charge.count,
                check_at=check_at,
            )
            for charge in charges
        ],
        keyed=False,
    )


def _check_at(hourly: Decimal, reaches_s: float) -> datetime | None:
    """When money that reaches so far may need more; None for what costs nothing."""
    if not hourly:
        return None
    return timezone.now() + timedelta(seconds=max(reaches_s - tail_s(), _CHECK_LEAST_S))


def hold_reprice(charge: Charge, hourly: Decimal, *, shares: int, sets_aside: bool) -> None:
    """What the charge's work costs an hour from now on; with `sets_aside`, what it costs more is set aside first."""
    more = ZERO
    if sets_aside:
        before = FundsHold.plain.filter(charge=charge).values_list("hourly", flat=True).get()
        more = cost_ahead(hourly - before, horizon_s()) if hourly > before else ZERO
        funds_take(charge.tenant, more)
    hold = _hold_lock(charge.workload_uid)
    assert hold is not None, "a charge has one from its beginning"
    hold.hourly, hold.shares, hold.amount = hourly, shares, hold.amount + more
    if hold.check_at is None and hourly:
        hold.check_at = timezone.now()
    hold.save(update_fields=["hourly", "shares", "amount", "check_at"])


def _hold_lock(workload_uid: UUID) -> FundsHold | None:
    rows = FundsHold.plain.select_for_update(no_key=True, of=("self",)).select_related("charge", "tenant")
    return rows.filter(charge__workload_uid=workload_uid).first()


def holds_lock(tenant: Tenant) -> None:
    """Lock all of the tenant's holds whose use may come on a bill, one after the other by their keys: whoever then
    draws some and bills others comes in nobody's way."""
    rows = FundsHold.objects.of(tenant).filter(HOLD_STANDS).order_by("pk")
    list(rows.select_for_update(no_key=True).values_list("pk"))


def holds_draw(items: Sequence[RatedItem]) -> None:
    """What was rated is drawn from what was set aside for it; inside the rater's transaction."""
    sums: dict[int, Decimal] = {}
    for item in items:
        sums[item.charge_id] = sums.get(item.charge_id, ZERO) + item.exact
    # One after the other by their keys, as everybody takes several of them.
    rows = FundsHold.plain.select_for_update(no_key=True).filter(charge__in=sums).order_by("pk")
    holds = list(rows)
    for hold in holds:
        hold.used += sums[hold.charge_id]
    FundsHold.plain.bulk_update(holds, ["used"])


def holds_bill(accrued: Mapping[int, Decimal]) -> None:
    """What of the use of these charges came on a bill; inside the transaction that makes the bill."""
    rows = FundsHold.plain.select_for_update(no_key=True).filter(charge__in=accrued).order_by("pk")
    holds = list(rows)
    for hold in holds:
        hold.billed += accrued[hold.charge_id]
    FundsHold.plain.bulk_update(holds, ["billed"])


@service(recorded=False)
def funds_end(*, actor: Actor, workload_uid: UUID, at: datetime, has_run: bool = True) -> None:
    """Its work has ended, or is put aside: no more is set aside for it, and the rest is given back when its last use
    is rated; at once where it never ran. Again it changes nothing, but for an end that is told to have been earlier:
    what waits stopped running before it is stopped."""
    hold = _hold_lock(workload_uid)
    if hold is None or hold.released_at is not None:
        return
    hold.ended_at, hold.check_at, hold.short_since = min(hold.ended_at or at, at), None, None
    if not has_run:
        _release(hold)
    hold.save(update_fields=["amount", "ended_at", "check_at", "short_since", "released_at"])
    if not has_run:
        emit(BalanceChanged(hold.tenant.schema_name), actor=actor)


def _release(hold: FundsHold) -> None:
    hold.amount, hold.released_at = hold.used, timezone.now()


@service(recorded=False)
def funds_renew(*, actor: Actor, workload_uid: UUID, run_s: int | None) -> None:
    """Set aside again for work that was put aside and is to run on; FundsTooLow names what is lacking."""
    charge = Charge.plain.select_related("tenant", "funds").filter(workload_uid=workload_uid).first()
    if charge is None or charge.funds.ended_at is None:
        return
    seconds = ahead_s(run_s)
    more = cost_ahead(charge.funds.hourly, seconds)
    funds_take(charge.tenant, more)
    hold = _hold_lock(workload_uid)
    assert hold is not None, "a charge has one from its beginning"
    hold.amount = max(hold.amount, hold.used) + more
    hold.ended_at = hold.released_at = None
    hold.check_at = _check_at(hold.hourly, seconds)
    hold.save(update_fields=["amount", "ended_at", "released_at", "check_at"])
    emit(BalanceChanged(charge.tenant.schema_name), actor=actor)


@service(recorded=False)
def funds_settle(*, actor: Actor, limit: int = 500) -> int:
    """Give back what is left of holds whose work has ended, when nothing more of its use can come; how many were.

    Nothing more comes when all its use is rated and reaches its end, or when its end is an hour ago: what a node that
    was lost tells later is charged all the same.
    """
    now = timezone.now()
    unrated = UsageRecord.plain.filter(charge=OuterRef("charge"), rated_at__isnull=True)
    last = UsageRecord.plain.filter(charge=OuterRef("charge")).order_by().values("charge")
    rows = FundsHold.plain.filter(released_at__isnull=True, ended_at__isnull=False).annotate(
        last=Subquery(last.annotate(at=Max("end_at")).values("at"))
    )
    is_whole = Q(last__gte=F("ended_at") - timedelta(seconds=_WHOLE_S))
    is_late = Q(ended_at__lte=now - timedelta(seconds=LATE_S))
    rows = rows.filter(~Exists(unrated), is_whole | is_late).select_related("tenant").order_by("pk")
    done = list(rows.select_for_update(no_key=True, skip_locked=True, of=("self",))[:limit])
    for hold in done:
        _release(hold)
    FundsHold.plain.bulk_update(done, ["amount", "released_at"])
    for schema in {hold.tenant.schema_name for hold in done}:
        emit(BalanceChanged(schema), actor=actor)
    return len(done)


@dataclass(frozen=True, slots=True)
class FundsState:
    """What became of a hold that was looked at: since when the account refuses it more, None where it does not; and
    whether that was found just now."""

    short_since: datetime | None
    is_new: bool

    @property
    def stops_at(self) -> datetime | None:
        """When the grace of what is short ends."""
        return self.short_since + timedelta(seconds=settings.WEIR_FUNDS_GRACE_S) if self.short_since else None


@service(recorded=False)
def funds_wait(*, actor: Actor, workload_uid: UUID, unrated_share_s: float) -> None:
    """It waits with what was set aside for it, or stops: that is looked at again when it could be near its end had the
    work begun now. What is short stays short."""
    hold = _hold_lock(workload_uid)
    if hold is None or hold.ended_at is not None:
        return
    hold.check_at = _check_at(hold.hourly, _reaches_s(hold, _need(hold, unrated_share_s)))
    hold.save(update_fields=["check_at"])


@service(recorded=False)
def funds_again(*, actor: Actor, workload_uid: UUID, unrated_share_s: float, run_s: int | None) -> bool:
    """Its work waits again: whether what is set aside is enough to begin anew. Where it is not, it is due to be looked
    at, and must not begin before that."""
    hold = _hold_lock(workload_uid)
    if hold is None or hold.ended_at is not None:
        return True
    floor = _need(hold, unrated_share_s) + cost_ahead(hold.hourly, min(tail_s(), ahead_s(run_s)))
    if hold.short_since is None and hold.amount >= floor:
        return True
    hold.check_at = timezone.now()
    hold.save(update_fields=["check_at"])
    return False


def _need(hold: FundsHold, unrated_share_s: float) -> Decimal:
    """What the work has used, rated or not."""
    unrated: Decimal = hold.hourly / hold.shares * Decimal(unrated_share_s) / _HOUR_S
    need: Decimal = hold.used + unrated
    return need


def _reaches_s(hold: FundsHold, need: Decimal) -> float:
    """For how long what is set aside beyond `need` lasts."""
    return float((hold.amount - need) / hold.hourly * _HOUR_S) if hold.hourly else 0.0


@service(recorded=False)
def funds_top_up(
    *, actor: Actor, workload_uid: UUID, unrated_share_s: float, left_s: float | None
) -> FundsState:
    """Set more aside for work that runs or is to run again, where what is set aside nears its end.

    Args:
        unrated_share_s: the seconds, of all shares together, that it ran and that are not rated yet.
        left_s: for how long it may go on running at most; None without a limit.

    It takes what the account still has, though that is less than should be: as long as its money reaches over the
    grace and the stop, nothing is short.
    """
    charge = Charge.plain.select_related("tenant").filter(workload_uid=workload_uid).first()
    if charge is None:
        return FundsState(None, is_new=False)
    account = account_locked(charge.tenant)
    hold = _hold_lock(workload_uid)
    if hold is None or hold.ended_at is not None:
        return FundsState(None, is_new=False)
    need = _need(hold, unrated_share_s)
    most = float("inf") if left_s is None else max(left_s, 0.0) + STOP_S
    floor = need + cost_ahead(hold.hourly, min(tail_s(), most))
    goal = need + cost_ahead(hold.hourly, min(horizon_s(), most))
    if hold.amount < floor:
        spendable = funds_of(account).spendable.quantize(CENT, rounding=ROUND_FLOOR)
        hold.amount += max(ZERO, min(goal - hold.amount, spendable))
    now = timezone.now()
    is_new = hold.amount < floor and hold.short_since is None
    if hold.amount < floor:
        hold.short_since = hold.short_since or now
        hold.check_at = now + timedelta(seconds=_CHECK_SHORT_S)
    else:
        hold.short_since = None
        hold.check_at = _check_at(hold.hourly, _reaches_s(hold, need))
    hold.save(update_fields=["amount", "short_since", "check_at"])
    if hold.short_since is not None:
        _level_keep(account, FundsLevel.EMPTY, funds_of(account), actor)
    return FundsState(hold.short_since, is_new)


@service(recorded=False)
def funds_watch(*, actor: Actor, tenant: Tenant) -> FundsLevel:
    """Look how far the tenant's money goes; its people are told once of each level that it falls to (ELA-1911)."""
    account = account_locked(tenant)
    funds = funds_of(account)
    holds = FundsHold.objects.of(tenant).filter(ended_at__isnull=True)
    if holds.filter(short_since__isnull=False).exists() or _is_still_empty(account, funds):
        level = FundsLevel.EMPTY
    else:
        burn = burn_of(tenant)
        level = (
            FundsLevel.LOW
            if burn and funds.spendable < burn * settings.WEIR_FUNDS_LOW_H
            else FundsLevel.ENOUGH
        )
    _level_keep(account, level, funds, actor)
    return level


def _is_still_empty(account: Account, funds: Funds) -> bool:
    """Whether nothing of what was put aside could go on yet."""
    if account.funds_level != FundsLevel.EMPTY:
        return False
    aside = FundsHold.objects.of(account.tenant).filter(
        ended_at__isnull=False, charge__state=ChargeState.OPEN
    )
    hourly = aside.aggregate(least=Min("hourly"))["least"]
    return hourly is not None and funds.spendable < cost_ahead(hourly, tail_s())


_RANK = [FundsLevel.ENOUGH, FundsLevel.LOW, FundsLevel.EMPTY]


def _level_keep(account: Account, level: FundsLevel, funds: Funds, actor: Actor) -> None:
    before = FundsLevel(account.funds_level)
    if level == before:
        return
    account.funds_level = level
    account.save(update_fields=["funds_level"])
    schema = account.tenant.schema_name
    if _RANK.index(level) > _RANK.index(before):
        emit(FundsFell(schema, str(level), str(bill_round(funds.spendable))), actor=actor)
    emit(BalanceChanged(schema), actor=actor)
