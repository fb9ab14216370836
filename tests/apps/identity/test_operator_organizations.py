"""The centre's own organizations: a tree by pages and by API, each operator in one of them at most."""

import re

import pytest

from apps.audit.models import Record
from apps.identity.models import OperatorOrganization

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-TEN-36")]
API = "/api/v1/operator-organizations"


@pytest.fixture
def root(operator):
    return operator("system_administrator", username="root")


def made(client, name, parent=None, **more):
    given = {"name": name, "parent": parent} | more
    answer = client.post(API, given, format="json")
    assert answer.status_code == 201, answer.content
    return answer.json()["uid"]


def test_a_tree_is_made_searched_counted_and_shown(root, operator):
    client = root.api()
    top = made(client, "Operations", description="Keeps all running", attributes={"site": "Hall 2"})
    night = made(client, "Night shift", parent=top)
    for name, place in (("opal", night), ("otto", top)):
        uid = operator("front_line", username=name).user.uid
        moved = client.put(f"/api/v1/operators/{uid}/organization", {"organization": place}, format="json")
        assert moved.json()["organization"] == place
    tree = client.get(f"{API}/tree").json()
    assert [(row["organization"]["name"], row["depth"], row["head_count"]) for row in tree] == [
        ("Operations", 0, 2),
        ("Night shift", 1, 1),
    ]
    assert tree[0]["organization"]["attributes"] == {"site": "Hall 2"}
    found = client.get(f"{API}?search=NIGHT").json()["results"]
    assert [row["name"] for row in found] == ["Night shift"]
    for place, names in ((top, {"opal", "otto"}), (night, {"opal"})):
        rows = client.get(f"/api/v1/operators?organization={place}").json()["results"]
        assert {row["username"] for row in rows} == names
    assert client.get("/api/v1/operators?organization=x").status_code == 400
    assert Record.objects.filter(name="operator_organization_create", subject_id=night).exists()


@pytest.mark.req("PLAT-TEN-29")
def test_an_operator_is_in_one_organization_and_moving_replaces_it(root, operator):
    client = root.api()
    first, second = made(client, "One"), made(client, "Two")
    user = operator("front_line", username="opal").user
    path = f"/api/v1/operators/{user.uid}/organization"
    for place in (first, second):
        client.put(path, {"organization": place}, format="json")
    assert client.get(f"/api/v1/operators?organization={first}").json()["results"] == []
    assert client.put(path, {"organization": None}, format="json").json()["organization"] is None
    client.put(path, {"organization": first}, format="json")
    client.delete(f"/api/v1/operators/{user.uid}")
    assert client.delete(f"{API}/{first}").status_code == 204, "who has left is in none"


def test_names_places_and_emptiness_are_kept(root, operator):
    client = root.api()
    top = made(client, "Operations")
    low = made(client, "Night shift", parent=top)
    assert client.post(API, {"name": "OPERATIONS"}, format="json").status_code == 400
    made(client, "Operations", parent=low)
    for given in ({"name": "Operations", "parent": low}, {"name": "Operations", "parent": top}):
        answer = client.put(f"{API}/{top}", given, format="json")
        assert (answer.status_code, "below itself" in str(answer.json())) == (400, True)
    assert client.put(f"{API}/{low}", {"name": "Nights"}, format="json").json()["parent"] is None
    user = operator("front_line", username="opal").user
    place = f"/api/v1/operators/{user.uid}/organization"
    assert client.post(f"{API}/{low}/disable").json()["is_enabled"] is False
    assert client.put(place, {"organization": low}, format="json").status_code == 400
    assert client.post(f"{API}/{low}/enable").json()["is_enabled"] is True
    assert client.put(place, {"organization": low}, format="json").status_code == 200
    assert client.delete(f"{API}/{low}").status_code == 409, "somebody is in it"
    both = {"organizations": [top, low]}
    assert client.post(f"{API}/delete", both, format="json").status_code == 409
    assert OperatorOrganization.objects.count() == 3, "all or none"


def test_several_are_deleted_the_lower_before_the_upper(root):
    client = root.api()
    top = made(client, "Operations")
    low = made(client, "Night shift", parent=top)
    assert client.delete(f"{API}/{top}").status_code == 409
    assert client.post(f"{API}/delete", {"organizations": [top, low]}, format="json").status_code == 204
    assert not OperatorOrganization.objects.exists()


def test_only_who_keeps_people_changes_it(root, operator, member):
    top = made(root.api(), "Operations")
    reader = operator("executive", username="reader").api()
    assert reader.get(f"{API}/{top}").status_code == 200
    assert reader.post(API, {"name": "Mine"}, format="json").status_code == 403
    assert reader.delete(f"{API}/{top}").status_code == 403
    place = f"/api/v1/operators/{root.user.uid}/organization"
    assert reader.put(place, {"organization": top}, format="json").status_code == 403
    tenant = member("acme", "tenant_system_administrator", "ada").api()
    assert tenant.get(API).status_code == 403
    assert tenant.get(f"{API}/{top}").status_code == 403


def text_of(answer):
    assert answer.status_code == 200, answer.content.decode()[-1500:]
    return " ".join(answer.content.decode().split())


def test_by_pages_it_is_kept_like_a_tenants_own(root, operator):
    page = root.page()
    page.cookies["django_language"] = "en"
    opal = operator("front_line", username="opal").user
    assert 'data-test="organizations"' in text_of(page.get("/operators/"))
    path = "/operators/organizations/"
    assert page.post(f"{path}add/", {"name": "Operations"}).status_code == 302
    top = OperatorOrganization.objects.get()
    assert page.post(f"{path}add/", {"name": "Night shift", "parent": top.uid}).status_code == 302
    assert "Night shift" in text_of(page.get(path))
    assert "Operations" not in re.findall(r">([^<>]+)</a>", text_of(page.get(f"{path}?name=night")))
    one = f"{path}{top.uid}/"
    given = {"name": "Operations", "description": "All hours", "attributes": "site: Hall 2"}
    assert page.post(one, given).status_code == 302
    assert "Hall 2" in text_of(page.get(one))
    assert page.post(f"/operators/{opal.uid}/move/", {"organization": top.uid}).status_code == 302
    assert "opal" in text_of(page.get(one))
    assert 'data-username="opal"' in text_of(page.get(f"/operators/?organization={top.uid}"))
    assert 'data-username="root"' not in text_of(page.get(f"/operators/?organization={top.uid}"))
    assert page.post(f"{one}disable/").status_code == 302
    assert "takes nobody new" in text_of(page.get(one))
    assert page.post(f"{one}enable/").status_code == 302
    assert page.post(f"{path}delete/", {"chosen": [top.uid]}).status_code == 409
    assert page.post(f"{one}take-out/", {"member": opal.uid}).status_code == 302
    assert page.post(f"{one}take-out/", {"member": opal.uid}).status_code == 404
    chosen = [str(row.uid) for row in OperatorOrganization.objects.all()]
    assert page.post(f"{path}delete/", {"chosen": chosen}).status_code == 302
    assert not OperatorOrganization.objects.exists()
    opal.refresh_from_db()
    assert opal.is_active
