"""What somebody weighs who decides on an application: its price, what is left of quota and money after it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from apps.billing.permissions import BillingPermission
from apps.billing.selectors.accounts import account_get, funds_of
from apps.kernel.actor import Actor
from apps.kernel.money import ZERO
from apps.kernel.planes import current_tenant
from apps.kernel.reach import Records
from apps.orders.models import ApplicationForm
from apps.orders.states import FormKind, FormState
from apps.orders.types import quota_delivered
from apps.scheduling.selectors.entitlements.quotas import (
    hold_organization,
    organization_quota_list,
    organizations_above,
    quota_organizations,
)
from apps.scheduling.selectors.workloads import quota_get
from apps.scheduling.types import QuotaFigures
from apps.tenancy.models import Tenant


@dataclass(frozen=True, slots=True)
class QuotaAfter:
    """One quota that an application takes from: `before` is held without it, `adds` is what it takes, in the item's
    unit; below 0 it gives back."""

    owner: str
    item: str
    before: int
    adds: int
    total: int

    @property
    def after(self) -> int:
        return max(0, self.before + self.adds)

    @property
    def returned(self) -> int:
        """What it gives back."""
        return max(0, -self.adds)

    @property
    def is_over(self) -> bool:
        return self.adds > 0 and self.after > self.total


@dataclass(frozen=True, slots=True)
class MoneyAfter:
    """The account before an application and after its quote, in CNY. Nothing is set aside until its work starts."""

    balance: Decimal
    credit_limit: Decimal
    spendable: Decimal
    price: Decimal

    @property
    def after(self) -> Decimal:
        return self.spendable - self.price

    @property
    def is_short(self) -> bool:
        return self.price > 0 and self.after < 0


@dataclass(frozen=True, slots=True)
class Weighed:
    """`price`: what it costs in all, None where nothing is priced; `more` beyond what a changed order costs already.
    `per_hour`: for all shares, CNY. `money`: None for who does not see the account."""

    price: Decimal | None
    more: Decimal | None
    per_hour: Decimal | None
    is_open_ended: bool
    quotas: list[QuotaAfter]
    money: MoneyAfter | None


def form_weighed(actor: Actor, form: ApplicationForm) -> Weighed | None:
    """What an application that is decided on would take; None for one that nobody has to decide on now."""
    if form.state not in (FormState.SUBMITTED, FormState.APPROVING):
        return None
    quotes = [line.quote for line in form.lines.all() if line.quote]
    price = form.total if quotes else None
    more = _more(form, price)
    return Weighed(
        price=price,
        more=more if form.kind == FormKind.CHANGE else None,
        per_hour=sum((Decimal(quote["per_hour"]) for quote in quotes), ZERO) if quotes else None,
        is_open_ended=form.duration_s is None,
        quotas=_quotas(form),
        money=_money(actor, more),
    )


def _more(form: ApplicationForm, price: Decimal | None) -> Decimal:
    """What the account is to bear beyond what it bears already."""
    if price is None:
        return ZERO
    order = form.target_order
    return price - Decimal(order.quote["total"]) if order else price


def _money(actor: Actor, price: Decimal) -> MoneyAfter | None:
    account = account_get(current_tenant())
    if account is None or not (actor.may(BillingPermission.VIEW) and actor.reaches_all(Records.COSTS)):
        return None
    funds = funds_of(account)
    return MoneyAfter(funds.balance, funds.credit_limit, funds.spendable, price)


# --- quota -----------------------------------------------------------------------------------------------------


def _quotas(form: ApplicationForm) -> list[QuotaAfter]:
    """The tenant's quotas first, then those of the applicant's organization and of all above it."""
    taken, tenant = _taken(form), current_tenant()
    # What is applied for is held from submitting on; a change is not.
    held = taken if form.kind == FormKind.NEW else {}
    found = [_after(str(tenant), figures, taken, held) for figures in quota_get(tenant).values()]
    names = quota_organizations(tenant)
    for uid in organizations_above(tenant.schema_name, _organization(tenant, form)):
        lines = [line.quota for line in organization_quota_list(tenant, uid) if line.quota]
        found += [_after(names[uid], figures, taken, held) for figures in lines]
    return [one for one in found if one.adds]


def _after(
    owner: str, figures: QuotaFigures, taken: Mapping[str, int], held: Mapping[str, int]
) -> QuotaAfter:
    before = max(0, figures.used + figures.in_process - held.get(figures.item, 0))
    return QuotaAfter(owner, figures.item, before, taken.get(figures.item, 0), figures.total)


def _organization(tenant: Tenant, form: ApplicationForm) -> UUID | None:
    order = form.target_order
    holder = order.line.hold_uid if order else next((line.hold_uid for line in form.lines.all()), None)
    return hold_organization(tenant, holder)


def _taken(form: ApplicationForm) -> Counter[str]:
    """What an approval adds to what is held, by item; below 0 it gives back."""
    taken: Counter[str] = Counter()
    order = form.target_order
    for line in form.lines.all():
        if line.quote and (line.hold_uid or order):
            _put(taken, line.quote, 1)
    if order:
        _put(taken, order.quote, -1)
    return taken


def _put(taken: Counter[str], quote: Mapping[str, Any], sign: int) -> None:
    for item, amount in quota_delivered(quote.get("amounts") or {}, quote.get("count") or 1).items():
        taken[item] += sign * amount
