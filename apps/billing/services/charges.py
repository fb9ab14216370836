"""Opening and closing what a workload is charged by."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.billing.errors import AccountNotOpened
from apps.billing.models import Account, Charge, ChargeResize
from apps.billing.services.funds import (
    ahead_s,
    cost_ahead,
    funds_end,
    funds_take,
    hold_reprice,
    holds_open,
    hourly_ahead,
)
from apps.billing.states import CHARGE, ChargeState
from apps.billing.types import CostLabels
from apps.catalog.models import PriceVersion
from apps.catalog.pricing.price import price
from apps.catalog.pricing.tiers import TierError
from apps.catalog.selectors.prices import price_lines, pricing_line
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.kernel.money import ZERO
from apps.kernel.service import service
from apps.tenancy.models import Tenant


@service()
def charge_open(
    *,
    actor: Actor,
    tenant: Tenant,
    order_uid: UUID | None,
    order_no: str,
    workload_uid: UUID,
    quote: dict[str, Any],
    labels: CostLabels,
    run_s: int | None = None,
) -> Charge:
    """Charge a workload by the order's frozen quote (`Quote.as_json()`), from now on, and set funds aside for it.

    `labels` say by what its cost is told apart; `run_s`: for how long it may run at
    most. Asked again for the same workload and order it answers the same charge. A quote that cannot be rated is
    refused here, never later. Raises FundsTooLow.
    """
    if not Account.objects.of(tenant).exists():
        raise AccountNotOpened()
    version, amounts, count = quote_read(quote)
    row, is_new = Charge.plain.get_or_create(
        workload_uid=workload_uid,
        defaults={
            "tenant": tenant,
            "order_uid": order_uid,
            "order_no": order_no,
            "price_version": version,
            "amounts": amounts,
            "count": count,
            "commodity_number": str(quote.get("commodity_number", "")),
            "commodity_name_zh": str(quote.get("commodity_name_zh", "")),
            "commodity_name_en": str(quote.get("commodity_name_en", "")),
            "supplier": str(quote.get("supplier", "")),
            "coupon_uid": (quote.get("coupon") or {}).get("uid"),
            "opened_at": timezone.now(),
            **labels.columns(),
        },
    )
    if not is_new and (row.tenant_id != tenant.pk or str(row.order_uid) != str(order_uid)):
        raise Conflict(_("The workload is charged to another order."))
    if is_new:
        holds_open([row], tenant=tenant, hourly=hourly_ahead(version.pk, amounts, count), run_s=run_s)
    act_subject("charge", row.uid, order=order_no, workload=workload_uid)
    return row


@service(recorded=False)
def funds_check(
    *, actor: Actor, tenant: Tenant, quotes: Sequence[Mapping[str, Any]], run_s: int | None
) -> None:
    """Refuse what is asked for by these quotes when it could not begin now: FundsTooLow names what is lacking.

    Nothing is set aside: it may be long until it is approved, and is asked again then.
    """
    wanted = ZERO
    for quote in quotes:
        version, amounts, count = quote_read(quote)
        wanted += cost_ahead(hourly_ahead(version.pk, amounts, count), ahead_s(run_s))
    funds_take(tenant, wanted)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _price_version(quote: Mapping[str, Any]) -> PriceVersion | None:
    try:
        return PriceVersion.objects.filter(uid=UUID(str(quote.get("price_version")))).first()
    except ValueError:
        return None


def quote_read(quote: Mapping[str, Any]) -> tuple[PriceVersion, dict[str, int], int]:
    version = _price_version(quote)
    amounts, count = quote.get("amounts"), quote.get("count")
    is_sound = isinstance(amounts, dict) and bool(amounts) and all(map(_is_count, (count, *amounts.values())))
    if version is None or not is_sound:
        raise InvalidInput(_("The quote is not one of ours: it names no price version, amounts or shares."))
    _price_check(version, amounts, count)
    return version, amounts, count


def _price_check(version: PriceVersion, amounts: dict[str, int], count: int) -> None:
    lines = [pricing_line(row) for row in price_lines(version.pk).values()]
    try:
        price(lines, amounts, count, 1)
    except TierError as error:
        raise InvalidInput(_("The quote names an amount that its price version does not price.")) from error


@service()
def charge_resize(
    *,
    actor: Actor,
    workload_uid: UUID,
    compute_percent: int,
    memory_mib: int,
    shares: int | None = None,
    sets_aside: bool = True,
) -> Charge | None:
    """Charge a workload by other amounts of compute and memory from now on, at the prices of its quote (POOL-12.2), or
    by another number of shares.

    What it used before is rated by what it held then. Amounts that cannot be priced are refused. With `sets_aside`
    what it costs more is set aside first: FundsTooLow names what is lacking. None when the workload has no charge.
    """
    row = Charge.plain.select_for_update(no_key=True).filter(workload_uid=workload_uid).first()
    if row is None:
        return None
    act_subject("charge", row.uid, compute_percent=compute_percent, memory_mib=memory_mib)
    held = {"compute_share": compute_percent, "gpu_memory": memory_mib}
    return _resized(row, held, shares=shares, sets_aside=sets_aside)


@service()
def charge_storage_resize(*, actor: Actor, volume_uid: UUID, size_gib: int) -> Charge:
    """Charge a volume by another size from now on, at the prices of its quote: what it costs more is set aside first.
    What it was there before is rated by the size that was recorded with it. Raises FundsTooLow."""
    row = Charge.plain.select_for_update(no_key=True).filter(workload_uid=volume_uid).first()
    if row is None:
        raise NotFound(_("There is no charge for this volume."))
    act_subject("charge", row.uid, storage_gib=size_gib)
    return _resized(row, {"storage": size_gib})


def _resized(
    row: Charge, held: Mapping[str, int], *, shares: int | None = None, sets_aside: bool = True
) -> Charge:
    amounts = {code: held.get(code, amount) for code, amount in row.amounts.items()}
    is_changed = amounts != _newest(row)
    if is_changed:
        _price_check(row.price_version, amounts, row.count)
        ChargeResize.objects.create(charge=row, amounts=amounts)
    if is_changed or shares is not None:
        shares = shares or row.funds.shares
        hourly = hourly_ahead(row.price_version_id, amounts, shares)
        hold_reprice(row, hourly, shares=shares, sets_aside=sets_aside)
    return row


def _newest(row: Charge) -> dict[str, int]:
    resizes = row.resizes.order_by("-pk").values_list("amounts", flat=True)
    return resizes.first() or row.amounts


@service()
def charge_close(*, actor: Actor, workload_uid: UUID, at: datetime) -> Charge:
    """End the charge at an instant: use after it is refused, late reports of use before it are still taken.

    Closing a closed charge changes nothing.
    """
    row = Charge.plain.select_for_update(no_key=True).filter(workload_uid=workload_uid).first()
    if row is None:
        raise NotFound(_("There is no charge for this workload."))
    act_subject("charge", row.uid, order=row.order_no, at=at)
    if row.state == ChargeState.OPEN:
        CHARGE.move(row, ChargeState.CLOSED, actor=actor, closed_at=max(at, row.opened_at))
        funds_end(actor=actor, workload_uid=workload_uid, at=max(at, row.opened_at))
    return row
