"""Scratch disk that is sold: priced, refused where no node has it, reserved, asked of the node and shown beside what is
measured."""

from dataclasses import replace
from decimal import Decimal

import pytest

from apps.catalog.selectors.commodities import commodity_get
from apps.catalog.services.components import components_ensure
from apps.catalog.types import ComponentRange, PriceInput
from apps.fleet.models import Node, Slice
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict
from apps.orders.services.deliveries import order_deliver
from apps.orders.services.drafts import form_draft
from apps.orders.services.submissions import form_submit
from apps.orders.types import LineInput
from apps.scheduling.errors import HostTooSmall
from apps.scheduling.selectors.usage.delivered import DeliveredLine, delivered_lines
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from tests.apps.catalog.market import AMOUNTS, PER_HOUR, PRICES, RANGES, commodity_make
from tests.apps.orders.scene import Scene, workload_of
from tests.apps.scheduling.pool import node_make

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-OPS-22", "PLAT-SVC-18")]
DISK = ComponentRange("scratch_disk", minimum=10, maximum=500, default=20)


@pytest.fixture
def shop(scene: Scene) -> Scene:
    """The scene with a share that has scratch disk, for 0.01 CNY a GiB and hour."""
    components_ensure(actor=SYSTEM)
    price = PriceInput("scratch_disk", [[None, "0.01"]])
    row = commodity_make("D-1", components=[*RANGES, DISK], prices=[*PRICES, price])
    return replace(scene, commodity=commodity_get(tenant=scene.tenant, uid=row.uid))


def draft(shop: Scene, gib: int = 20):
    line = LineInput(shop.commodity.uid, {**AMOUNTS, "scratch_disk": gib})
    return form_draft(actor=shop.ann.actor, lines=[line], duration_s=3600)


def offers(mib: int) -> None:
    row = Node.objects.get()
    Node.objects.filter(pk=row.pk).update(info={**row.info, "scratch_disk_mib": mib})


def test_what_is_sold_is_priced_reserved_and_told_to_the_node(shop: Scene):
    node_make(memory_mib=16384)
    offers(30 * 1024)
    form = shop.decide(form_submit(actor=shop.ann.actor, form_uid=draft(shop).uid), "approve", "approve")
    assert form.total == PER_HOUR + Decimal("0.20")
    row = workload_of(order_deliver(actor=SYSTEM, order_uid=form.orders.get().uid))
    assert row.scratch_disk_mib == 20 * 1024
    cycle_run(actor=SYSTEM)
    part = Slice.plain.get(workload_uid=row.uid)
    assert part.scratch_disk_mib == 20 * 1024
    Slice.plain.filter(pk=part.pk).update(disk_used_mib=3 * 1024)
    part.refresh_from_db()
    assert delivered_lines(row.tenant, row, [part])[-1] == DeliveredLine("scratch_disk", 20, 20, 3)
    assert shop.charge(form.orders.get()).amounts["scratch_disk"] == 20


def test_more_than_any_node_has_is_refused_when_the_form_is_submitted(shop: Scene):
    node_make(memory_mib=16384)
    offers(19 * 1024)
    form = draft(shop)
    with pytest.raises(HostTooSmall, match=r"Not enough scratch disk.* 20 GiB asked a share, at most 19 GiB"):
        form_submit(actor=shop.ann.actor, form_uid=form.uid)
    form.refresh_from_db()
    assert form.is_draft


def test_it_is_sold_in_the_unit_that_is_delivered(scene: Scene):
    components_ensure(actor=SYSTEM)
    row = commodity_make("D-2", components=[*RANGES, DISK], is_listed=False, prices=None)
    part = row.components.get(component__code="scratch_disk").component
    type(part).objects.filter(pk=part.pk).update(amount_unit="MiB")
    with pytest.raises(Conflict, match="delivered in GiB"):
        commodity_make(
            "D-3", components=[*RANGES, DISK], prices=[*PRICES, PriceInput("scratch_disk", [[None, "1"]])]
        )
