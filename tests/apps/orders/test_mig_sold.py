"""A MIG profile that is sold by its name: its share and memory are the order's, and it is cut by the card itself."""

from dataclasses import replace

import pytest

from apps.catalog.models import Commodity
from apps.catalog.selectors.commodities import commodity_get
from apps.catalog.types import ComponentRange
from apps.console.selling.services import commodity_put
from apps.console.selling.types import CommodityDraft
from apps.fleet.errors import NoSuchMigProfile
from apps.fleet.models import Device
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput
from apps.orders.services.deliveries import order_deliver
from apps.orders.services.submissions import form_submit
from apps.orders.types import LineInput
from tests.apps.catalog.market import RANGES, commodity_make
from tests.apps.orders.scene import Scene, workload_of
from tests.apps.scheduling.pool import node_make

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-OPS-9", "ELA-105")]
SIZES = [
    {"compute_percent": 14, "memory_mib": 9856, "count": 7, "name": "1g.10gb"},
    {"compute_percent": 42, "memory_mib": 40448, "count": 2, "name": "3g.40gb"},
]
TEXTS = {"name_zh": "切片", "name_en": "Slice", "intro_zh": "", "intro_en": "", "supplier": "", "icon": "cpu"}


def fixed(percent: int, mib: int) -> list[ComponentRange]:
    return [
        ComponentRange("compute_share", percent, percent, percent),
        ComponentRange("gpu_memory", mib, mib, mib),
        *RANGES[2:],
    ]


@pytest.fixture
def cards(scene: Scene) -> None:
    node_make(memory_mib=81_559)
    Device.objects.update(slice_sizes=SIZES, slice_drivers=["mig"], model="NVIDIA H100", vendor="nvidia")


@pytest.fixture
def shop(scene: Scene, cards: None) -> Scene:
    where = {"card_use": "mig", "mig_profile": "1g.10gb"}
    row = commodity_make("M-1", components=fixed(14, 9856), where=where)
    return replace(scene, commodity=commodity_get(tenant=scene.tenant, uid=row.uid))


def asked(shop: Scene):
    amounts = {"compute_share": 14, "gpu_memory": 9856, "cpu": 1, "memory": 1024}
    return shop.draft(lines=[LineInput(shop.commodity.uid, amounts)])


def test_an_order_of_it_asks_for_the_instance_by_name(shop: Scene):
    form = form_submit(actor=shop.ann.actor, form_uid=asked(shop).uid)
    order = shop.decide(form, "approve", "approve").orders.get()
    row = workload_of(order_deliver(actor=SYSTEM, order_uid=order.uid))
    assert (row.mig_profile, row.driver, row.compute_percent, row.memory_mib) == ("1g.10gb", "mig", 14, 9856)


def test_what_no_card_gives_any_more_is_refused_on_the_form_with_what_there_is(shop: Scene):
    Device.objects.update(slice_sizes=SIZES[1:])
    with pytest.raises(NoSuchMigProfile) as caught:
        form_submit(actor=shop.ann.actor, form_uid=asked(shop).uid)
    assert str(caught.value.cure) == "There are: 3g.40gb."


def draft(**more: object) -> CommodityDraft:
    known = Commodity.objects.first()
    assert known is not None
    said = {
        "kind": "work", "category": known.category.code, "process_app": str(known.process_app.uid),
        "termination_app": str(known.termination_app.uid), "texts": TEXTS, "min_duration_s": 60,
        "max_duration_s": 3600, "argv": ("true",), "ranges": tuple(RANGES), "card_use": "mig",
        "mig_profile": "3g.40gb",
    }  # fmt: skip
    return CommodityDraft(**(said | more))


def test_a_commodity_of_a_profile_sells_just_its_share_and_memory(scene: Scene, cards: None):
    row = commodity_put(actor=SYSTEM, draft=draft())
    parts = {part.component.code: (part.minimum, part.maximum) for part in row.components.all()}
    assert (parts["compute_share"], parts["gpu_memory"]) == ((42, 42), (40448, 40448))
    assert row.mig_profile == "3g.40gb"
    with pytest.raises(InvalidInput) as caught:
        commodity_put(actor=SYSTEM, draft=draft(card_use="share"))
    assert set(caught.value.fields) == {"mig_profile"}
    with pytest.raises(NoSuchMigProfile):
        commodity_put(actor=SYSTEM, draft=draft(mig_profile="7g.80gb"))
