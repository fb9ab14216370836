"""What is owed to other centres for work that they ran, on the same ledger."""

from decimal import Decimal

from apps.billing.models import LedgerAccount, LedgerLeg, LedgerTransaction
from apps.kernel.actor import Actor
from apps.kernel.service import service

Kind = LedgerAccount.Kind


@service(recorded=False)
def payable_post(
    *, actor: Actor, key: str, ai_center_id: str, amount: Decimal, reference: str
) -> LedgerTransaction | None:
    """Owe a centre an amount in CNY; None where it is 0.

    `key` makes it happen once: IntegrityError where it was posted before, and the caller's work is undone.
    """
    if not amount:
        return None
    cost, _is_new = LedgerAccount.objects.get_or_create(code=str(Kind.COST), defaults={"kind": Kind.COST})
    owed, _is_new = LedgerAccount.objects.get_or_create(
        code=f"{Kind.PAYABLE}:{ai_center_id}", defaults={"kind": Kind.PAYABLE}
    )
    posted = LedgerTransaction.objects.create(
        idempotency_key=f"cost:{key}", kind=LedgerTransaction.Kind.COST, reference=reference
    )
    LedgerLeg.objects.bulk_create(
        [
            LedgerLeg(transaction=posted, account=cost, amount=amount),
            LedgerLeg(transaction=posted, account=owed, amount=-amount),
        ]
    )
    return posted
