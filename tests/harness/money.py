"""Money for tests whose matter is not money: accounts that cover whatever starts, direct work at a price of 0."""

from datetime import UTC, datetime
from decimal import Decimal

from apps.billing.services.ledger import account_open, credit_limit_set
from apps.catalog.models import (
    Category,
    Commodity,
    Component,
    FormTemplate,
    PriceLine,
    PriceVersion,
    ProcessApp,
    ProcessTemplate,
)
from apps.kernel.actor import SYSTEM
from apps.scheduling.selectors.workloads import policy_get
from apps.scheduling.services.queues.queue_settings import direct_commodity_set
from apps.tenancy.models import Tenant
from tests.apps.catalog.market import FREE

CREDIT = Decimal("1000000000")
# Long before any clock of a test.
_SINCE = datetime(2000, 1, 1, tzinfo=UTC)
_NAMES = {"name_zh": "免费", "name_en": "Free"}


def account_funded(tenant: Tenant) -> None:
    """The tenant's account, open, with credit for anything: its balance stays what it is."""
    account_open(actor=SYSTEM, tenant=tenant)
    credit_limit_set(actor=SYSTEM, tenant=tenant, amount=CREDIT, reason="a test of something else")


def account_ready(tenant: Tenant) -> None:
    """The same, and direct work is free because its price says so, unless it has a price already."""
    account_funded(tenant)
    if policy_get().direct_commodity is None:
        direct_commodity_set(actor=SYSTEM, commodity=_free())


def _free() -> Commodity:
    """What direct work is charged as where that is nobody's matter; in no catalogue, and no process is behind it."""
    found = Commodity.objects.filter(number=FREE).first()
    if found is not None:
        return found
    category = Category.objects.create(code="free", **_NAMES)
    form = FormTemplate.objects.create(code="free", kind="new", **_NAMES)
    process = ProcessTemplate.objects.create(key="free", version="1", xml="", **_NAMES)
    app = ProcessApp.objects.create(
        code="free", category=category, form_template=form, process_template=process, **_NAMES
    )
    row = Commodity.objects.create(
        number=FREE, category=category, process_app=app, termination_app=app, **_NAMES
    )
    version = PriceVersion.objects.create(commodity=row, number=1, effective_from=_SINCE, published_at=_SINCE)
    for code, unit, per_unit in (
        ("compute_share", "%", 1),
        ("gpu_memory", "GiB", 1024),
        ("cpu", "core", 1),
        ("memory", "GiB", 1024),
    ):
        component, _is_new = Component.objects.get_or_create(
            code=code,
            defaults={
                "name_zh": code,
                "name_en": code,
                "unit": unit,
                "amount_unit": "MiB" if per_unit > 1 else unit,
                "per_unit": per_unit,
            },
        )
        PriceLine.objects.create(
            price_version=version,
            component=component,
            mode="on_demand",
            unit="hour",
            tier_method="flat",
            tiers=[[None, "0"]],
        )
    return row
