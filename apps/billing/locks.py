"""The one lock of a tenant's money: its account row. Taken before any bill's."""

from apps.billing.errors import AccountNotOpened
from apps.billing.models import Account, LedgerAccount
from apps.tenancy.models import Tenant

TENANT_KINDS = (LedgerAccount.Kind.BALANCE, LedgerAccount.Kind.ACCRUED, LedgerAccount.Kind.RECEIVABLE)
PLATFORM_KINDS = (
    LedgerAccount.Kind.CASH,
    LedgerAccount.Kind.REVENUE,
    LedgerAccount.Kind.PROMOTION,
    LedgerAccount.Kind.ROUNDING,
    LedgerAccount.Kind.WRITE_OFF,
)


def account_locked(tenant: Tenant) -> Account:
    """The tenant's account under a row lock: whoever holds it alone moves balance and bills."""
    row = Account.objects.of(tenant).select_for_update(no_key=True).first()
    if row is None:
        raise AccountNotOpened()
    return row


def ledger_accounts(tenant: Tenant) -> dict[str, LedgerAccount]:
    """By kind: the tenant's own ledger accounts and, of the kinds it has none of, the platform's."""
    kinds = TENANT_KINDS + PLATFORM_KINDS
    codes = [ledger_code(kind, tenant) for kind in kinds] + [ledger_code(kind) for kind in PLATFORM_KINDS]
    rows = LedgerAccount.objects.filter(code__in=codes)
    found = {row.kind: row for row in sorted(rows, key=lambda row: row.tenant_id is not None)}
    if len(found) != len(kinds):
        raise AccountNotOpened()
    return found


def ledger_code(kind: str, tenant: Tenant | None = None) -> str:
    return f"{kind}:{tenant.schema_name}" if tenant else str(kind)
