"""Business systems: two levels, one owner, and members from anywhere in the tenant."""

import pytest
from django.db import IntegrityError, connection, transaction

from apps.kernel.errors import Forbidden, InvalidInput, NotFound
from apps.kernel.planes import in_tenant
from apps.orgs.models import BusinessSystem, BusinessSystemUser
from apps.orgs.selectors.business_systems import (
    business_system_get,
    business_system_list,
    business_system_user_ids,
)
from apps.orgs.services.business_systems import (
    business_system_create,
    business_system_member_add,
    business_system_member_remove,
)
from apps.orgs.services.organizations import organization_create

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(member):
    """In acme: an administrator, an organization, two business systems and a front-line user in none of them."""
    admin = member("acme", "tenant_system_administrator").actor
    with in_tenant("acme"):
        physics = organization_create(actor=admin, name="Physics")
        systems = [
            business_system_create(actor=admin, name=name, number=number, organization=physics)
            for name, number in (("Spectra", "S-1"), ("Beams", "S-2"))
        ]
        yield admin, physics, systems, member("acme", "tenant_front_line")


@pytest.mark.req("PLAT-TEN-20", "PLAT-TEN-22")
def test_a_user_sees_only_what_he_takes_part_in(world):
    admin, _physics, (spectra, beams), person = world
    assert not business_system_list(actor=person.actor).exists()
    business_system_member_add(actor=admin, business_system=spectra, user=person.user)
    business_system_member_add(actor=admin, business_system=spectra, user=person.user)
    assert list(business_system_list(actor=person.actor)) == [spectra]
    assert business_system_user_ids(spectra) == [person.user.pk]
    with pytest.raises(NotFound):
        business_system_get(actor=person.actor, uid=beams.uid)
    business_system_member_remove(actor=admin, business_system=spectra, user=person.user)
    assert not business_system_list(actor=person.actor).exists()


def test_managers_and_operators_see_all(world, operator):
    admin, _physics, systems, _person = world
    assert set(business_system_list(actor=admin)) == set(systems)
    assert set(business_system_list(actor=operator("front_line", schema="acme").actor)) == set(systems)


@pytest.mark.req("PLAT-TEN-21")
def test_two_levels_and_no_more(world):
    admin, physics, (spectra, _beams), _person = world
    low = business_system_create(
        actor=admin, name="Lamps", number="S-3", organization=physics, parent=spectra
    )
    with pytest.raises(InvalidInput) as refused:
        business_system_create(actor=admin, name="Bulbs", number="S-4", organization=physics, parent=low)
    assert "parent" in refused.value.fields
    assert not BusinessSystem.objects.filter(number="S-4").exists()


@pytest.mark.parametrize(("name", "number", "field"), [("Spectra", "S-9", "name"), ("New", "S-1", "number")])
def test_name_and_number_once(world, name, number, field):
    admin, physics, _systems, _person = world
    with pytest.raises(InvalidInput) as refused:
        business_system_create(actor=admin, name=name, number=number, organization=physics)
    assert field in refused.value.fields


def test_strangers_take_no_part(world, member):
    admin, _physics, (spectra, _beams), person = world
    with pytest.raises(InvalidInput):
        business_system_member_add(
            actor=admin, business_system=spectra, user=member("globex", "tenant_front_line").user
        )
    with pytest.raises(Forbidden):
        business_system_member_add(actor=person.actor, business_system=spectra, user=person.user)
    assert not BusinessSystemUser.objects.exists()


def test_the_database_keeps_a_used_user(world):
    admin, _physics, (spectra, _beams), person = world
    business_system_member_add(actor=admin, business_system=spectra, user=person.user)
    with pytest.raises(IntegrityError), transaction.atomic():
        _point_nowhere()


def _point_nowhere():
    BusinessSystemUser.objects.update(user_id=10**9)
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def test_business_systems_over_the_api(world, member):
    _admin, physics, (spectra, _beams), _person = world
    client = member("acme", "tenant_system_administrator").api()
    body = {"name": "Lasers", "number": "S-7", "organization": str(physics.uid)}
    made = client.post("/api/v1/business-systems", body)
    assert (made.status_code, made.json()["organization_name"]) == (201, "Physics")
    joiner = member("acme", "tenant_front_line")
    added = client.post(f"/api/v1/business-systems/{spectra.uid}/members", {"username": joiner.user.username})
    assert added.status_code == 204
    listed = joiner.api().get("/api/v1/business-systems").json()["results"]
    assert [one["number"] for one in listed] == ["S-1"]
    stranger = member("globex", "tenant_system_administrator").api()
    assert stranger.get(f"/api/v1/business-systems/{spectra.uid}").status_code == 404
    refused = joiner.api().post("/api/v1/business-systems", {**body, "name": "X", "number": "S-8"})
    assert refused.status_code == 403
