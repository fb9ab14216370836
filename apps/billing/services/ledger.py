"""The double-entry ledger and the tenants' accounts on it. Debits positive, credits negative."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.billing.errors import RefundTooHigh
from apps.billing.events import BalanceChanged
from apps.billing.locks import PLATFORM_KINDS, TENANT_KINDS, account_locked, ledger_accounts, ledger_code
from apps.billing.models import Account, LedgerAccount, LedgerLeg, LedgerTransaction
from apps.billing.permissions import BillingPermission as P
from apps.billing.selectors.accounts import refundable
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput
from apps.kernel.events import emit
from apps.kernel.money import bill_round
from apps.kernel.service import service
from apps.tenancy.models import Tenant

Kind = LedgerAccount.Kind
DEPOSIT_LIMIT = Decimal("1000000000")
REFERENCE_MAX = 80
REASON_MAX = 200


def ledger_post(
    *, tenant: Tenant, kind: str, key: str, reference: str, legs: Mapping[str, Decimal], reason: str = ""
) -> LedgerTransaction | None:
    """Write one transaction inside the caller's; None when all its legs are 0.

    `legs` by ledger account kind. IntegrityError when `key` was posted before: the caller's work is undone.
    """
    accounts = ledger_accounts(tenant)
    moved = {name: amount for name, amount in legs.items() if amount}
    if not moved:
        return None
    posted = LedgerTransaction.objects.create(
        idempotency_key=key, tenant=tenant, kind=kind, reference=reference, reason=reason
    )
    LedgerLeg.objects.bulk_create(
        LedgerLeg(transaction=posted, account=accounts[name], amount=amount) for name, amount in moved.items()
    )
    return posted


@service(P.MANAGE)
def account_open(*, actor: Actor, tenant: Tenant, has_own_books: bool = False) -> Account:
    """Open a tenant's account with its ledger accounts (PLAT-OPS-28); an open one stays as it is.

    With `has_own_books` nothing of it is the centre's money, as a test's is not: from now on cash, revenue and the
    like are booked on accounts of the tenant's own, it gets no monthly bill and is in no sum over all tenants.
    """
    for kind in PLATFORM_KINDS:
        LedgerAccount.objects.get_or_create(code=ledger_code(kind), defaults={"kind": kind})
    for kind in TENANT_KINDS + (PLATFORM_KINDS if has_own_books else ()):
        LedgerAccount.objects.get_or_create(
            code=ledger_code(kind, tenant), defaults={"kind": kind, "tenant": tenant}
        )
    account, _is_new = Account.plain.get_or_create(tenant=tenant, defaults={"opened_at": timezone.now()})
    act_subject("account", account.uid, tenant=tenant.schema_name)
    return account


@service(P.MANAGE)
def account_deposit(*, actor: Actor, tenant: Tenant, amount: Decimal, reference: str) -> LedgerTransaction:
    """Credit CNY to the tenant's balance: greater than 0, at most two places (ELA-1909).

    `reference` (the payment's own number) makes it happen once: the same again is the same deposit, the same
    number with another amount is refused.
    """
    fields = amount_problems(amount) | reference_problems(reference)
    if fields:
        raise InvalidInput(fields=fields)
    account = account_locked(tenant)
    act_subject("account", account.uid, tenant=tenant.schema_name, amount=amount, reference=reference)
    key = f"deposit:{tenant.schema_name}:{reference}"
    return posted_find(key, Kind.BALANCE, -amount) or _post(
        actor,
        tenant,
        kind=LedgerTransaction.Kind.DEPOSIT,
        key=key,
        reference=reference,
        legs={Kind.CASH: amount, Kind.BALANCE: -amount},
    )


@service(P.MANAGE)
def account_refund(
    *, actor: Actor, tenant: Tenant, amount: Decimal, reference: str, reason: str
) -> LedgerTransaction:
    """Pay back CNY of the tenant's balance: at most what it paid in, less what was refunded before, and what is
    neither owed nor set aside.

    `reference` (the number of the payment to it) makes it happen once: the same again is the same refund. Raises
    RefundTooHigh.
    """
    fields = amount_problems(amount) | reference_problems(reference) | reason_problems(reason)
    if fields:
        raise InvalidInput(fields=fields)
    account = account_locked(tenant)
    act_subject(
        "account", account.uid, tenant=tenant.schema_name, amount=amount, reference=reference, reason=reason
    )
    key = f"refund:{tenant.schema_name}:{reference}"
    known = posted_find(key, Kind.BALANCE, amount)
    if known is not None:
        return known
    most = refundable(account)
    if amount > most:
        raise RefundTooHigh(wanted=amount, most=most)
    return _post(
        actor,
        tenant,
        kind=LedgerTransaction.Kind.REFUND,
        key=key,
        reference=reference,
        reason=reason,
        legs={Kind.BALANCE: amount, Kind.CASH: -amount},
    )


@service(P.MANAGE)
def credit_limit_set(*, actor: Actor, tenant: Tenant, amount: Decimal, reason: str) -> Account:
    """How much the tenant may owe beyond its balance, in CNY; 0 is none. Less than it owes by now starts nothing new,
    and what runs is put aside when what is set aside for it nears its end."""
    fields = reason_problems(reason)
    if not amount.is_finite() or not 0 <= amount <= DEPOSIT_LIMIT or amount != bill_round(amount):
        text = _("The amount must be 0 to ¥%(limit)s, with at most two decimal places.")
        fields["amount"] = text % {"limit": DEPOSIT_LIMIT}
    if fields:
        raise InvalidInput(fields=fields)
    account = account_locked(tenant)
    before, account.credit_limit = account.credit_limit, amount
    account.save(update_fields=["credit_limit"])
    act_subject(
        "account",
        account.uid,
        tenant=tenant.schema_name,
        amount=amount,
        before=bill_round(before),
        reason=reason,
    )
    emit(BalanceChanged(tenant.schema_name), actor=actor)
    return account


def _post(actor: Actor, tenant: Tenant, **transaction: Any) -> LedgerTransaction:
    posted = ledger_post(tenant=tenant, **transaction)
    assert posted is not None, "it is never 0"
    emit(BalanceChanged(tenant.schema_name), actor=actor)
    return posted


def posted_find(key: str, kind: str, amount: Decimal) -> LedgerTransaction | None:
    """What was posted under this key, whose leg of this kind is so much; Conflict when it was another amount. Its
    tenant's account is locked."""
    row = LedgerTransaction.objects.filter(idempotency_key=key).first()
    if row is None:
        return None
    moved = row.legs.get(account__kind=kind).amount
    if moved != amount:
        raise Conflict(
            _("%(reference)s was booked already, with ¥%(amount)s.")
            % {"reference": key.rpartition(":")[2], "amount": bill_round(abs(moved))},
            cure=_("Use the payment's own number, or the same amount."),
        )
    return row


def amount_problems(amount: Decimal) -> dict[str, object]:
    if amount.is_finite() and 0 < amount <= DEPOSIT_LIMIT and amount == bill_round(amount):
        return {}
    text = _("The amount must be greater than 0, at most ¥%(limit)s, with at most two decimal places.")
    return {"amount": text % {"limit": DEPOSIT_LIMIT}}


def reference_problems(reference: str) -> dict[str, object]:
    if reference.strip() and len(reference) <= REFERENCE_MAX:
        return {}
    return {"reference": _("Give the number of the payment, at most 80 characters.")}


def reason_problems(reason: str) -> dict[str, object]:
    if reason.strip() and len(reason) <= REASON_MAX:
        return {}
    return {"reason": _("Say why, in at most 200 characters.")}
