"""The double-entry ledger and the tenants' accounts on it. Debits positive, credits negative."""

from collections.abc import Mapping
from decimal import Decimal

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.billing.events import BalanceChanged
from apps.billing.locks import PLATFORM_KINDS, TENANT_KINDS, account_locked, ledger_accounts, ledger_code
from apps.billing.models import Account, LedgerAccount, LedgerLeg, LedgerTransaction
from apps.billing.permissions import BillingPermission as P
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput
from apps.kernel.events import emit
from apps.kernel.money import bill_round
from apps.kernel.service import service
from apps.tenancy.models import Tenant

Kind = LedgerAccount.Kind
DEPOSIT_LIMIT = Decimal("1000000000")


def ledger_post(
    *, tenant: Tenant, kind: str, key: str, reference: str, legs: Mapping[str, Decimal]
) -> LedgerTransaction | None:
    """Write one transaction inside the caller's; None when all its legs are 0.

    `legs` by ledger account kind. IntegrityError when `key` was posted before: the caller's work is undone.
    """
    accounts = ledger_accounts(tenant)
    moved = {name: amount for name, amount in legs.items() if amount}
    if not moved:
        return None
    posted = LedgerTransaction.objects.create(
        idempotency_key=key, tenant=tenant, kind=kind, reference=reference
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
    _deposit_check(amount, reference)
    account = account_locked(tenant)
    key = f"deposit:{tenant.schema_name}:{reference}"
    act_subject("account", account.uid, tenant=tenant.schema_name, amount=amount, reference=reference)
    try:
        with transaction.atomic():
            posted = ledger_post(
                tenant=tenant,
                kind=LedgerTransaction.Kind.DEPOSIT,
                key=key,
                reference=reference,
                legs={Kind.CASH: amount, Kind.BALANCE: -amount},
            )
    except IntegrityError:
        return _deposited(key, amount)
    assert posted is not None, "a deposit is never 0"
    emit(BalanceChanged(tenant.schema_name), actor=actor)
    return posted


def _deposit_check(amount: Decimal, reference: str) -> None:
    fields: dict[str, object] = {}
    if not amount.is_finite() or not 0 < amount <= DEPOSIT_LIMIT or amount != bill_round(amount):
        text = _("The amount must be greater than 0, at most %(limit)s CNY, with at most two decimal places.")
        fields["amount"] = text % {"limit": DEPOSIT_LIMIT}
    if not reference.strip() or len(reference) > 80:
        fields["reference"] = _("Give the number of the payment, at most 80 characters.")
    if fields:
        raise InvalidInput(fields=fields)


def _deposited(key: str, amount: Decimal) -> LedgerTransaction:
    row = LedgerTransaction.objects.get(idempotency_key=key)
    credited = -row.legs.get(account__kind=Kind.BALANCE).amount
    if credited != amount:
        raise Conflict(
            _("Payment %(reference)s was deposited already, with %(amount)s CNY.")
            % {"reference": row.reference, "amount": bill_round(credited)},
            cure=_("Use the payment's own number, or the same amount."),
        )
    return row
