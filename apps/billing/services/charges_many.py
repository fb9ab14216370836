"""Opening many charges at once: `charge_open` for what is submitted in bulk."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any
from uuid import UUID

from django.utils import timezone

from apps.billing.errors import AccountNotOpened
from apps.billing.models import Account, Charge
from apps.billing.services.charges import quote_read
from apps.billing.services.funds import holds_open, hourly_ahead
from apps.billing.types import CostLabels
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
    quote: dict[str, Any],
    labels: CostLabels,
    run_s: int | None = None,
    most: Mapping[str, int] = MappingProxyType({}),
) -> None:
    """Charge new workloads, (uid, number) each, by one quote and with the same cost labels; see `charge_open`.

    `most`: amounts that each share may turn out to have, where they are more than the quote's: funds are set aside for
    these.
    """
    if _ACCOUNT.first(tenant=tenant.pk) is None:
        raise AccountNotOpened()
    version, amounts, count = quote_read(quote)
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
        **labels.columns(),
    }
    charges = [Charge(workload_uid=uid, order_no=no, **shared) for uid, no in workloads]
    insert_many(charges)
    held = {code: max(amount, most.get(code, 0)) for code, amount in amounts.items()}
    holds_open(charges, tenant=tenant, hourly=hourly_ahead(version.pk, held, count), run_s=run_s)
