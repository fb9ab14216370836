"""Opening many charges at once: `charge_open` for what is submitted in bulk."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.utils import timezone

from apps.billing.errors import AccountNotOpened
from apps.billing.models import Account, Charge
from apps.billing.services.charges import labels_read, quote_read
from apps.kernel.actor import Actor
from apps.kernel.bulk import insert_many
from apps.kernel.prepared_queries import Param, PreparedValues
from apps.kernel.service import service
from apps.tenancy.models import Tenant

_ACCOUNT = PreparedValues(lambda: Account.plain.filter(tenant_id=Param("tenant")), "pk")


@service(recorded=False, joins=True)
def charges_open(
    *,
    actor: Actor,
    tenant: Tenant,
    workloads: Sequence[tuple[UUID, str]],
    quote: dict[str, Any] | None,
    labels: dict[str, str],
) -> None:
    """Charge new workloads, (uid, number) each, by one quote and with the same cost labels; see `charge_open`."""
    if _ACCOUNT.first(tenant=tenant.pk) is None:
        raise AccountNotOpened()
    quote = quote or {}
    version, amounts, count = quote_read(quote) if quote else (None, {}, 1)
    now = timezone.now()
    shared = {
        "tenant": tenant,
        "price_version": version,
        "amounts": amounts,
        "count": count,
        "commodity_number": str(quote.get("commodity_number", "")),
        "commodity_name_zh": str(quote.get("commodity_name_zh", "")),
        "commodity_name_en": str(quote.get("commodity_name_en", "")),
        "supplier": str(quote.get("supplier", "")),
        "opened_at": now,
        **labels_read(labels),
    }
    charges = [Charge(workload_uid=uid, order_no=no, **shared) for uid, no in workloads]
    insert_many(charges, keyed=False)
