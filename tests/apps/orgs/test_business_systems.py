"""Business systems: two levels, one owner, and members from anywhere in the tenant."""

import pytest
from django.db import IntegrityError, connection, transaction

from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from apps.kernel.planes import in_tenant
from apps.orgs.models import BusinessSystem, BusinessSystemUser
from apps.orgs.selectors.business_systems import (
    business_system_get,
    business_system_list,
    business_system_user_ids,
)
from apps.orgs.services.business_systems import (
    business_system_create,
    business_system_disable,
    business_system_enable,
    business_system_member_add,
    business_system_member_remove,
    business_system_update,
    business_systems_delete,
)
from apps.orgs.services.default_systems import system_named
from apps.orgs.services.organizations import organization_create

pytestmark = pytest.mark.django_db
API, ROOT = "/api/v1/business-systems", "/organizations/business-systems/"


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
    assert set(business_system_list(actor=operator("operations_manager", schema="acme").actor)) == set(
        systems
    )


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


def changed(admin, row, **words):
    said = {"name": row.name, "number": row.number, "organization": row.organization, "parent": row.parent}
    return business_system_update(actor=admin, business_system=row, **said | words)


def test_it_is_renamed_and_moved_but_never_below_itself_or_to_a_third_level(world):
    admin, physics, (spectra, beams), _person = world
    optics = organization_create(actor=admin, name="Optics", parent=physics)
    row = changed(admin, beams, name="Rays", number="S-9", organization=optics, parent=spectra)
    assert (row.name, row.number, row.organization, row.parent) == ("Rays", "S-9", optics, spectra)
    for wrong, field in (
        ({"parent": row}, "parent"),
        ({"name": "Rays"}, "name"),
        ({"number": "S-9"}, "number"),
        ({"name": " "}, "name"),
    ):
        with pytest.raises(InvalidInput) as refused:
            changed(admin, spectra, **wrong)
        assert field in refused.value.fields
    other = business_system_create(actor=admin, name="Lamps", number="S-3", organization=physics)
    with pytest.raises(InvalidInput):
        changed(admin, spectra, parent=other)  # it has a part
    assert BusinessSystem.objects.get(pk=spectra.pk).parent is None


def test_a_disabled_one_is_named_by_nothing_new(world, member):
    admin, _physics, (spectra, _beams), person = world
    business_system_member_add(actor=admin, business_system=spectra, user=person.user)
    business_system_disable(actor=admin, business_system=spectra)
    assert system_refused(person)
    business_system_enable(actor=admin, business_system=spectra)
    assert not system_refused(person)


def system_refused(person):
    try:
        system_named(person.actor, "S-1")
    except InvalidInput:
        return True
    return False


def test_what_was_never_used_is_deleted_parts_first_all_or_none(world):
    admin, physics, (spectra, beams), _person = world
    part = business_system_create(
        actor=admin, name="Lamps", number="S-3", organization=physics, parent=spectra
    )
    for chosen in ([spectra], [beams, spectra]):
        with pytest.raises(Conflict, match="Spectra"):
            business_systems_delete(actor=admin, business_systems=chosen)
    assert BusinessSystem.objects.count() == 3
    assert business_systems_delete(actor=admin, business_systems=[spectra, part]) == 2
    with pytest.raises(NotFound):
        business_systems_delete(actor=admin, business_systems=[spectra])
    assert list(BusinessSystem.objects.all()) == [beams]


def test_it_is_changed_disabled_and_deleted_by_page_and_api(world, member):
    _admin, physics, (spectra, beams), person = world
    page, api = (
        member("acme", "tenant_system_administrator").page(),
        member("acme", "tenant_system_administrator").api(),
    )
    one, root = f"{ROOT}{spectra.uid}/", f"{API}/{spectra.uid}"
    body = {"name": "Spectres", "number": "S-1", "organization": str(physics.uid), "parent": ""}
    assert page.post(one, body).status_code == 302
    assert "Spectres" in page.get(one).content.decode()
    assert page.post(f"{one}disable/").status_code == 302
    assert "(disabled)" in page.get("/organizations/").content.decode()
    assert api.post(f"{root}/enable").json()["is_enabled"] is True
    assert api.post(f"{root}/disable").json()["is_enabled"] is False
    moved = api.put(root, {**body, "parent": str(beams.uid)}, format="json").json()
    assert (moved["parent"], moved["name"]) == (str(beams.uid), "Spectres")
    assert api.delete(f"{API}/{beams.uid}").status_code == 409
    assert api.post(f"{API}/delete", {"business_systems": []}, format="json").status_code == 400
    assert person.api().delete(root).status_code == 404
    assert page.post(f"{ROOT}delete/", {"chosen": [spectra.uid, beams.uid]}).status_code == 302
    with in_tenant("acme"):
        assert not BusinessSystem.objects.exists()
