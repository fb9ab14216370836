"""Specifications of the network, and the mapping of them to centres (JC-6.1.2)."""

import pytest
from django.db import IntegrityError, transaction

from apps.centers.errors import ResourceSpecInUse
from apps.centers.events import ResourceSpecChanged
from apps.centers.models import Center, ResourceSpec, SpecOffer
from apps.centers.selectors import resource_spec_get
from apps.centers.services.specs import (
    offer_remove,
    offer_set,
    resource_spec_change,
    resource_spec_make,
    resource_spec_remove,
)
from apps.kernel import wiring
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound

pytestmark = pytest.mark.django_db
SPECS = pytest.mark.req("JC-6.1.2-1", "JC-6.1.2-2")
AMOUNTS = {"cpu": "4", "memory": "16Gi", "gpu": "1"}


def make(code="small", amounts=AMOUNTS, **more):
    given = {"resource_spec_name": code.title(), "resource_quantity": amounts} | more
    return resource_spec_make(actor=SYSTEM, resource_spec_id=code, **given)


@SPECS
@pytest.mark.req("JC-5-3")
def test_a_specification_is_made_and_read_as_table_3_writes_it():
    make(
        amounts={"cpu": 8, "memory": "1500Mi", "storage": "1Ti", "npu": "2"},
        service_types=["streaming", "batch"],
    )
    row = resource_spec_get("small")
    assert row.resource_quantity == {"cpu": "8", "npu": "2", "memory": "1500Mi", "storage": "1024Gi"}
    assert row.service_type == "batch,streaming"
    assert (row.memory_mb, row.storage_gb) == (1500, 1024)


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"code": "Small"}, "resource_spec_id"),
        ({"resource_spec_name": "规" * 22}, "resource_spec_name"),
        ({"resource_spec_name": ""}, "resource_spec_name"),
        ({"amounts": {}}, "resource_quantity"),
        ({"amounts": {"cpu": "0"}}, "resource_quantity"),
        ({"amounts": {"cpu": "-1"}}, "resource_quantity.cpu"),
        ({"amounts": {"cpu": "1.5"}}, "resource_quantity.cpu"),
        ({"amounts": {"cpu": True}}, "resource_quantity.cpu"),
        ({"amounts": {"cpu": "2Gi"}}, "resource_quantity.cpu"),
        ({"amounts": {"memory": "16Gx"}}, "resource_quantity.memory"),
        ({"amounts": {"memory": "9999999999Ti"}}, "resource_quantity.memory"),
        ({"amounts": {"tpu": "1"}}, "resource_quantity.tpu"),
        ({"price_minor": -1}, "price"),
        ({"price_minor": 10**13}, "price"),
        ({"service_types": []}, "service_type"),
        ({"service_types": ["dreaming"]}, "service_type"),
    ],
)
def test_what_is_wrong_with_a_specification_is_said_by_its_field(more, field):
    with pytest.raises(InvalidInput) as caught:
        make(**more)
    assert list(caught.value.fields) == [field]
    assert not ResourceSpec.objects.exists()


def test_codes_of_specifications_are_there_once():
    make()
    with pytest.raises(Conflict, match="already"):
        make()


@SPECS
def test_only_who_manages_centres_makes_specifications(operator):
    for role in ("executive", "front_line", "operations_manager"):
        with pytest.raises(Forbidden):
            resource_spec_make(
                actor=operator(role).actor,
                resource_spec_id="s",
                resource_spec_name="S",
                resource_quantity=AMOUNTS,
            )


@SPECS
def test_the_mapping_says_how_many_replicas_fit_where(join, telling):
    join()
    make()
    row = offer_set(
        actor=SYSTEM, resource_spec_id="small", ai_center_id="lake", price_minor=250, performance=1.5,
        idle_power_w=80.0, running_power_w=400.0,
    )  # fmt: skip
    # Free are 48 cores, 5 GPUs and 192 GiB: GPUs decide.
    assert (row.free_count, row.price_there_minor) == (5, 250)
    make("wide", {"cpu": "20"}, price_minor=100)
    other = offer_set(actor=SYSTEM, resource_spec_id="wide", ai_center_id="lake")
    assert (other.free_count, other.price_there_minor) == (2, 100)
    Center.objects.update(status=2)
    assert SpecOffer.objects.get(pk=row.pk).free_count is None


def test_an_offer_is_set_again_and_taken_away(join):
    join()
    make()
    for price in (1, 2):
        offer_set(actor=SYSTEM, resource_spec_id="small", ai_center_id="lake", price_minor=price)
    assert SpecOffer.objects.get().price_minor == 2
    for wrong in ({"price_minor": -1}, {"performance": -0.1}, {"idle_power_w": float("inf")}):
        with pytest.raises(InvalidInput):
            offer_set(actor=SYSTEM, resource_spec_id="small", ai_center_id="lake", **wrong)
    assert SpecOffer.objects.get().price_minor == 2
    offer_remove(actor=SYSTEM, resource_spec_id="small", ai_center_id="lake")
    with pytest.raises(NotFound, match="lake does not offer Small"):
        offer_remove(actor=SYSTEM, resource_spec_id="small", ai_center_id="lake")
    for spec, center in (("small", "sea"), ("big", "lake")):
        with pytest.raises(NotFound):
            offer_set(actor=SYSTEM, resource_spec_id=spec, ai_center_id=center)


@SPECS
def test_amounts_change_only_while_nobody_offers_them(join):
    join()
    make()
    offer_set(actor=SYSTEM, resource_spec_id="small", ai_center_id="lake")
    row = resource_spec_change(
        actor=SYSTEM,
        resource_spec_id="small",
        resource_spec_name="Tiny",
        price_minor=7,
        resource_quantity=AMOUNTS,
    )
    assert (row.resource_spec_name, row.price_minor) == ("Tiny", 7)
    with pytest.raises(ResourceSpecInUse, match="Tiny is offered by Lake"):
        resource_spec_change(actor=SYSTEM, resource_spec_id="small", resource_quantity={"cpu": "1"})
    with pytest.raises(ResourceSpecInUse):
        resource_spec_remove(actor=SYSTEM, resource_spec_id="small")
    assert resource_spec_get("small").cpu == 4
    offer_remove(actor=SYSTEM, resource_spec_id="small", ai_center_id="lake")
    row = resource_spec_change(actor=SYSTEM, resource_spec_id="small", resource_quantity={"cpu": "1"})
    assert row.resource_quantity == {"cpu": "1"}
    resource_spec_remove(actor=SYSTEM, resource_spec_id="small")
    assert not ResourceSpec.objects.exists()


def test_who_holds_work_of_it_refuses_a_change(monkeypatch):
    make()

    def held(event, _actor):
        raise ResourceSpecInUse(f"work of {event.resource_spec_id}")

    wired = wiring.handlers_within
    monkeypatch.setattr(
        wiring, "handlers_within", lambda kind: [held] if kind is ResourceSpecChanged else wired(kind)
    )
    with pytest.raises(ResourceSpecInUse, match="work of small"):
        resource_spec_change(actor=SYSTEM, resource_spec_id="small", resource_quantity={"cpu": "1"})
    assert resource_spec_get("small").cpu == 4


def test_the_database_itself_keeps_prices_and_amounts():
    row = make()
    empty = dict.fromkeys(("cpu", "gpu", "memory_mb"), 0)
    for values in ({"price_minor": -1}, empty, {"resource_spec_name": "规" * 22}):
        with pytest.raises(IntegrityError), transaction.atomic():
            ResourceSpec.objects.filter(pk=row.pk).update(**values)
