"""Organizations, members and roles of a tenant."""

from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction

from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from apps.kernel.planes import in_tenant
from apps.orgs.models import Member, Organization, RoleBinding, TenantRole
from apps.orgs.selectors.organizations import (
    organization_get,
    organization_ids_below,
    organization_list,
    organization_of,
    organization_tree,
)
from apps.orgs.selectors.people import member_list, tenant_user_get
from apps.orgs.selectors.roles import permissions_of, role_get, role_list_of, users_with_role
from apps.orgs.services.numbers import number_next
from apps.orgs.services.organizations import (
    member_add,
    member_move,
    member_remove,
    organization_create,
    organization_delete,
    organization_disable,
    organization_enable,
    organization_update,
    organizations_delete,
)
from apps.orgs.services.posts import post_create
from apps.orgs.services.roles import role_bind, role_unbind, roles_sync
from portal.roles import TENANT_ROLES

pytestmark = pytest.mark.django_db


@pytest.fixture
def inside(acme):
    with in_tenant("acme"):
        yield


@pytest.fixture
def admin(member):
    return member("acme", "tenant_system_administrator").actor


def make(actor, name, parent=None):
    return organization_create(actor=actor, name=name, parent=parent)


@pytest.mark.req("PLAT-TEN-15", "PLAT-TEN-16")
def test_a_tree_of_four_levels_counts_heads_from_below(inside, admin, member):
    top = make(admin, "Institute")
    rows = [top]
    for name in ("Division", "Department", "Group"):
        rows.append(make(admin, name, rows[-1]))
    for place in (0, 3, 3):
        member_add(actor=admin, user=member("acme", "tenant_front_line").user, organization=rows[place])
    tree = organization_tree(actor=admin)
    assert [(row.organization.name, row.depth, row.head_count) for row in tree] == [
        ("Institute", 0, 3),
        ("Division", 1, 2),
        ("Department", 2, 2),
        ("Group", 3, 2),
    ]
    assert organization_ids_below(rows[1]) == {row.pk for row in rows[1:]}


@pytest.mark.req("PLAT-TEN-14")
def test_life_of_an_organization(inside, admin):
    row = make(admin, "  Physics   lab ")
    assert row.name == "Physics lab"
    organization_update(actor=admin, organization=row, name="Optics", description="light")
    organization_disable(actor=admin, organization=row)
    assert not Organization.objects.get(pk=row.pk).is_enabled
    organization_enable(actor=admin, organization=row)
    assert Organization.objects.get(pk=row.pk).is_enabled
    organization_delete(actor=admin, organization=row)
    assert not Organization.objects.exists()


@pytest.mark.parametrize("name", ["", "   ", "x" * 121])
def test_a_bad_name_changes_nothing(inside, admin, name):
    with pytest.raises(InvalidInput) as refused:
        make(admin, name)
    assert "name" in refused.value.fields
    assert not Organization.objects.exists()


def test_one_name_once_below_a_parent(inside, admin):
    top = make(admin, "Institute")
    make(admin, "Physics", top)
    make(admin, "Physics")
    with pytest.raises(InvalidInput):
        make(admin, "Physics", top)
    with pytest.raises(IntegrityError), transaction.atomic():
        Organization.objects.create(name="Institute")


def test_an_organization_is_not_moved_below_itself(inside, admin):
    top = make(admin, "A")
    low = make(admin, "B", make(admin, "M", top))
    with pytest.raises(InvalidInput) as refused:
        organization_update(actor=admin, organization=top, name="A", parent=low)
    assert "parent" in refused.value.fields
    assert Organization.objects.get(pk=top.pk).parent is None


def test_what_is_not_empty_is_not_deleted(inside, admin, member):
    row = make(admin, "Physics")
    person = member_add(actor=admin, user=member("acme", "tenant_front_line").user, organization=row)
    with pytest.raises(Conflict):
        organization_delete(actor=admin, organization=row)
    member_remove(actor=admin, member=person)
    organization_delete(actor=admin, organization=row)


@pytest.mark.req("PLAT-TEN-29")
def test_a_user_has_exactly_one_organization(inside, admin, member):
    physics, biology = make(admin, "Physics"), make(admin, "Biology")
    user = member("acme", "tenant_front_line").user
    row = member_add(actor=admin, user=user, organization=physics)
    with pytest.raises(Conflict):
        member_add(actor=admin, user=user, organization=biology)
    member_move(actor=admin, member=row, organization=biology, post=post_create(actor=admin, name="Head"))
    assert organization_of(user.pk) == biology
    assert Member.objects.count() == 1


def test_only_the_tenants_own_people_become_members(inside, admin, member):
    row = make(admin, "Physics")
    stranger = member("globex", "tenant_front_line").user
    with pytest.raises(InvalidInput):
        member_add(actor=admin, user=stranger, organization=row)
    with pytest.raises(InvalidInput):
        role_bind(actor=admin, user=stranger, role=role_get("tenant_front_line"))
    with pytest.raises(NotFound):
        tenant_user_get(actor=admin, username=stranger.username)
    assert not Member.objects.exists()


def test_a_disabled_organization_takes_nobody(inside, admin, member):
    row = make(admin, "Physics")
    organization_disable(actor=admin, organization=row)
    row.refresh_from_db()
    with pytest.raises(InvalidInput):
        member_add(actor=admin, user=member("acme", "tenant_front_line").user, organization=row)


@pytest.mark.req("PLAT-TEN-16", "PLAT-TEN-17", "PLAT-TEN-25")
def test_lists_narrow(inside, admin, member):
    physics, biology = make(admin, "Physics"), make(admin, "Biology")
    ann = member("acme", "tenant_front_line", "ann.curie")
    member_add(actor=admin, user=ann.user, organization=physics)
    member_add(actor=admin, user=member("acme", "tenant_front_line", "bob").user, organization=biology)
    assert list(organization_list(actor=admin, search="phys")) == [physics]
    assert [row.user.username for row in member_list(actor=admin, search="CURIE")] == ["ann.curie"]
    assert [row.user.username for row in member_list(actor=admin, organization=biology)] == ["bob"]


def test_another_tenants_organization_is_not_found(admin, member):
    with in_tenant("globex"):
        row = make(member("globex", "tenant_system_administrator").actor, "Secret")
    with in_tenant("acme"):
        for uid in (row.uid, uuid4()):
            with pytest.raises(NotFound):
                organization_get(actor=admin, uid=uid)


def test_the_front_line_manages_nothing(inside, member):
    actor = member("acme", "tenant_front_line").actor
    with pytest.raises(Forbidden):
        make(actor, "Mine")
    assert not Organization.objects.exists()


@pytest.mark.req("PLAT-TEN-28")
def test_roles_are_bound_and_taken_away(inside, admin, member):
    person = member("acme", "tenant_front_line")
    role = role_get("tenant_decision_maker")
    role_bind(actor=admin, user=person.user, role=role)
    role_bind(actor=admin, user=person.user, role=role)
    codes = [one.code for one in role_list_of(person.user.pk)]
    assert codes == ["tenant_front_line", "tenant_decision_maker"]
    assert "approvals.decide" in permissions_of(person.user.pk, "tenant_decision_maker")
    assert users_with_role("tenant_decision_maker") == [person.user.pk]
    role_unbind(actor=admin, user=person.user, role=role)
    assert permissions_of(person.user.pk, "tenant_decision_maker") == frozenset()


def test_users_with_a_role_in_an_organization_and_below(inside, admin, member):
    top = make(admin, "Institute")
    low = make(admin, "Group", top)
    ann, bob = (member("acme", "tenant_decision_maker") for _ in range(2))
    member_add(actor=admin, user=ann.user, organization=low)
    assert users_with_role("tenant_decision_maker", top) == [ann.user.pk]
    assert set(users_with_role("tenant_decision_maker")) == {ann.user.pk, bob.user.pk}
    ann.user.is_active = False
    ann.user.save()
    assert users_with_role("tenant_decision_maker") == [bob.user.pk]


def test_syncing_roles_keeps_own_ones(inside):
    TenantRole.objects.create(code="guest", name_en="Guest", name_zh="访客", permissions=["catalog.view"])
    TenantRole.objects.filter(code="tenant_front_line").update(permissions=[])
    roles_sync(actor=SYSTEM, roles=TENANT_ROLES)
    assert "orders.apply" in role_get("tenant_front_line").permissions
    assert role_get("guest").permissions == ["catalog.view"]
    assert RoleBinding.objects.count() == 0


def test_numbers_rise_by_day_and_kind(inside):
    first, second, other = (number_next(actor=SYSTEM, letter=letter) for letter in "FFO")
    assert (first[0], first[-5:], second[-5:]) == ("F", "-0001", "-0002")
    assert other.startswith("O")
    assert other.endswith("-0001")
    with in_tenant("globex"):
        assert number_next(actor=SYSTEM, letter="F").endswith("-0001")


@pytest.mark.req("PLAT-TEN-14")
def test_a_name_that_is_taken_is_said_with_its_place(inside, admin):
    top = make(admin, "Institute")
    make(admin, "Physics", top)
    with pytest.raises(InvalidInput, match="at the top"):
        make(admin, "institute")
    with pytest.raises(InvalidInput, match=r"Physics.*in.*Institute"):
        make(admin, "Physics", top)
    make(admin, "Physics")


@pytest.mark.req("PLAT-TEN-14")
def test_several_are_deleted_the_lower_first_all_or_none(inside, member):
    top = organization_create(actor=SYSTEM, name="Top")
    low = organization_create(actor=SYSTEM, name="Low", parent=top)
    full = organization_create(actor=SYSTEM, name="Full")
    member_add(actor=SYSTEM, user=member("acme", "tenant_front_line").user, organization=full)
    with pytest.raises(Conflict, match="Full is not empty"):
        organizations_delete(actor=SYSTEM, organizations=[top, low, full])
    assert Organization.objects.filter(pk__in=[top.pk, low.pk, full.pk]).count() == 3
    assert organizations_delete(actor=SYSTEM, organizations=[top, low]) == 2
    assert not Organization.objects.filter(pk__in=[top.pk, low.pk]).exists()


@pytest.mark.req("PLAT-TEN-14", "PLAT-TEN-16", "PLAT-TEN-17", "PLAT-TEN-19")
def test_an_organization_is_kept_by_pages(member):
    person = member("acme", "tenant_system_administrator")
    with in_tenant("acme"):
        top = organization_create(actor=SYSTEM, name="Physics", description="Atoms")
        low = organization_create(actor=SYSTEM, name="Optics", parent=top)
        member_add(actor=SYSTEM, user=person.user, organization=low)
    page = person.page()
    listed = page.get("/organizations/?name=opt").content.decode()
    assert listed.count('data-test="organization"') == 1
    assert "Atoms" in page.get("/organizations/").content.decode()
    shown = page.get(f"/organizations/{low.uid}/").content.decode()
    assert person.user.username in shown
    assert (
        page.post(f"/organizations/{low.uid}/", {"name": "Light", "description": "Waves"}).status_code == 302
    )
    with in_tenant("acme"):
        row = Organization.objects.get(pk=low.pk)
        assert (row.name, row.parent, row.description) == ("Light", None, "Waves")
    below = page.post(f"/organizations/{top.uid}/", {"name": "Physics", "parent": str(top.uid)})
    assert below.status_code == 400
    page.post(f"/organizations/{low.uid}/disable/")
    with in_tenant("acme"):
        assert not Organization.objects.get(pk=low.pk).is_enabled
    page.post(f"/organizations/{low.uid}/enable/")
    assert page.post("/organizations/delete/", {"chosen": [str(low.uid)]}).status_code == 409
    with in_tenant("acme"):
        assert Organization.objects.get(pk=low.pk).is_enabled
        place = Member.objects.get(user=person.user)
    # Only of the organization whose page it is.
    assert page.post(f"/organizations/{top.uid}/take-out/", {"member": str(place.uid)}).status_code == 404
    page.post(f"/organizations/{low.uid}/take-out/", {"member": str(place.uid)})
    both = {"chosen": [str(low.uid), str(top.uid)]}
    assert page.post("/organizations/delete/", both).status_code == 302
    assert page.get(f"/organizations/{low.uid}/").status_code == 404
    assert page.post("/organizations/delete/", {"chosen": [str(uuid4())]}).status_code == 400


@pytest.mark.req("PLAT-TEN-14")
def test_organizations_are_switched_and_deleted_by_the_api(member):
    api = member("acme", "tenant_system_administrator").api()
    made = [
        api.post("/api/v1/organizations", {"name": name}, format="json").json()["uid"]
        for name in ("A1", "B1")
    ]
    assert api.post(f"/api/v1/organizations/{made[0]}/disable").json()["is_enabled"] is False
    assert api.post(f"/api/v1/organizations/{made[0]}/enable").json()["is_enabled"] is True
    missing = api.post("/api/v1/organizations/delete", {"organizations": [str(uuid4())]}, format="json")
    assert missing.status_code == 404
    gone = api.post("/api/v1/organizations/delete", {"organizations": made}, format="json")
    assert gone.status_code == 204
    assert api.get(f"/api/v1/organizations/{made[1]}").status_code == 404


@pytest.mark.req("PLAT-TEN-14")
def test_who_may_not_manage_changes_no_organization(member):
    with in_tenant("acme"):
        row = organization_create(actor=SYSTEM, name="Physics")
    page = member("acme", "tenant_front_line").page()
    assert 'data-test="org-form"' not in page.get(f"/organizations/{row.uid}/").content.decode()
    for path, given in (
        (f"/organizations/{row.uid}/", {"name": "Mine"}),
        (f"/organizations/{row.uid}/disable/", {}),
        ("/organizations/delete/", {"chosen": [str(row.uid)]}),
    ):
        assert page.post(path, given).status_code == 403
    with in_tenant("acme"):
        assert Organization.objects.get(pk=row.pk).name == "Physics"
