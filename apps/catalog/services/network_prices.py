"""Prices of specifications of the computing network, kept as prices of commodities are, so that use is rated alike."""

from decimal import Decimal

from django.db import connection
from django.utils import timezone

from apps.catalog.models import Component, PriceLine, PriceVersion
from apps.catalog.pricing.price import PriceUnit
from apps.catalog.pricing.tiers import Tier, TierMethod, tiers_raw, tiers_read
from apps.kernel.actor import Actor
from apps.kernel.service import service

REPLICA = "network_replica"
"""The component that a replica at a centre is rated by: one of it, by the hour."""
_LOCK = 0x57656950


@service(recorded=False)
def network_price_keep(*, actor: Actor, network_spec: str, hourly: Decimal) -> PriceVersion:
    """The price version by which an hour of one replica of a specification costs `hourly` CNY; made where there is no
    such one.

    Asked at once by several it is made once. TierError for what is no price.
    """
    tiers = tiers_raw([Tier(None, hourly)])
    tiers_read(tiers)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [_LOCK, network_spec])
    known = PriceVersion.objects.filter(network_spec=network_spec)
    found = known.filter(lines__tiers=tiers, lines__component__code=REPLICA).first()
    if found is not None:
        return found
    component, _is_new = Component.objects.get_or_create(
        code=REPLICA,
        defaults={
            "name_zh": "智算中心副本",
            "name_en": "Replica at an AI computing centre",
            "unit": "replica",
            "amount_unit": "replica",
        },
    )
    now = timezone.now()
    version = PriceVersion.objects.create(
        network_spec=network_spec, number=known.count() + 1, effective_from=now, published_at=now
    )
    PriceLine.objects.create(
        price_version=version,
        component=component,
        mode=PriceLine.Mode.ON_DEMAND,
        unit=PriceUnit.HOUR.value,
        tier_method=TierMethod.FLAT.value,
        tiers=tiers,
    )
    return version
