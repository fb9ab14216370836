"""The tenant's people by API: roles within one's own right, somebody stays who can give them, doors close at once."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from apps.audit.models import Record
from apps.identity.models import Membership, User
from apps.kernel.actor import SYSTEM
from apps.kernel.planes import in_tenant
from apps.orgs.models import Invitation, RoleBinding
from apps.orgs.selectors.roles import users_with_role
from apps.orgs.services.business_systems import business_system_create, business_system_member_add
from apps.orgs.services.organizations import organization_create
from tests.conftest import PASSWORD

pytestmark = pytest.mark.django_db
ADMIN, FRONT, MANAGER = "tenant_system_administrator", "tenant_front_line", "tenant_operations_manager"


@pytest.fixture
def admin(member):
    return member("acme", ADMIN, "ada")


def roles_of(username):
    with in_tenant("acme"):
        held = RoleBinding.objects.filter(user__username=username)
        return sorted(held.values_list("role__code", flat=True))


def made(client, **fields):
    given = {"username": "bob", "display_name": "Bob", "roles": [FRONT]} | fields
    answer = client.post("/api/v1/people", given, format="json")
    assert answer.status_code == 201, answer.content
    return answer.json()["person"]["uid"], answer.json()["password"]


def signed_in(username, password, tenant="acme"):
    client = APIClient(headers={"host": "localhost"})
    given = {"username": username, "password": password, "tenant": tenant}
    answer = client.post("/api/v1/auth/login", given, format="json")
    if answer.status_code == 200:
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {answer.json()['token']}")
    return client, answer


def reset_use(secret, password):
    given = {"secret": secret, "new_password": password}
    client = APIClient(headers={"host": "localhost"})
    return client.post("/api/v1/auth/password/reset", given, format="json")


def own_password_choose(username, password, own):
    """By the portal's pages: the same one again is no change."""
    page = Client(headers={"host": "acme.localhost"})
    page.post("/login/", {"username": username, "password": password})
    path = "/account/password/"
    assert page.get("/").url == path
    assert page.post(path, {"old_password": password, "new_password": password}).status_code == 400
    assert page.post(path, {"old_password": password, "new_password": own}).status_code == 302


@pytest.mark.req("PLAT-TEN-24", "PLAT-TEN-7")
def test_a_first_password_opens_nothing_until_it_is_changed(admin):
    _uid, password = made(admin.api())
    refused = signed_in("bob", password)[1]
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "first_password")
    own_password_choose("bob", password, "a-word-of-my-own-7")
    client, _answer = signed_in("bob", "a-word-of-my-own-7")
    assert client.get("/api/v1/orders").status_code == 200
    assert signed_in("bob", password)[1].status_code == 401


@pytest.mark.req("PLAT-TEN-26")
def test_one_changes_the_own_password_by_api_and_its_tokens_end(member):
    client = member("acme", FRONT, "bob").api()
    given = {"old_password": "wrong-word-12", "new_password": "a-word-of-my-own-7"}
    assert client.post("/api/v1/auth/password", given, format="json").status_code == 400
    given["old_password"] = PASSWORD
    assert client.post("/api/v1/auth/password", given, format="json").status_code == 204
    assert client.get("/api/v1/orders").status_code == 401
    assert signed_in("bob", "a-word-of-my-own-7")[1].status_code == 200


@pytest.mark.req("PLAT-TEN-28")
def test_roles_are_given_and_taken_by_their_codes(admin):
    uid, _password = made(admin.api())
    path = f"/api/v1/people/{uid}/roles"
    answer = admin.api().put(path, {"roles": [MANAGER, "tenant_decision_maker"]}, format="json")
    assert sorted(answer.json()["roles"]) == ["tenant_decision_maker", MANAGER]
    assert roles_of("bob") == ["tenant_decision_maker", MANAGER]
    assert admin.api().put(path, {"roles": ["no-such"]}, format="json").status_code == 400
    assert roles_of("bob") == ["tenant_decision_maker", MANAGER]
    record = Record.objects.filter(name="person_roles_set").latest("pk")
    assert (record.actor_name, record.detail["taken"]) == ("ada", [FRONT])


@pytest.mark.req("PLAT-TEN-32")
def test_nobody_gives_or_touches_more_than_he_may_do_himself(admin, member):
    manager, bob = member("acme", MANAGER, "olga").api(), member("acme", FRONT, "bob").user
    path = f"/api/v1/people/{bob.uid}"
    assert manager.put(f"{path}/roles", {"roles": [ADMIN]}, format="json").status_code == 403
    assert manager.put(f"{path}/roles", {"roles": []}, format="json").status_code == 403
    given = {"username": "eve", "display_name": "Eve", "roles": [ADMIN]}
    assert manager.post("/api/v1/people", given, format="json").status_code == 403
    assert manager.post("/api/v1/invitations", given, format="json").status_code == 403
    boss = f"/api/v1/people/{admin.user.uid}"
    for act in ("disable", "enable", "reset-password"):
        assert manager.post(f"{boss}/{act}").status_code == 403, act
    assert manager.delete(boss).status_code == 403
    assert roles_of("bob") == [FRONT]
    decider = manager.post("/api/v1/people", given | {"roles": ["tenant_decision_maker"]}, format="json")
    assert decider.status_code == 201, "a role that may do no more than the giver's is his to give"


def test_the_front_line_sees_people_and_changes_nobody(member):
    bob, ann = member("acme", FRONT, "bob"), member("acme", FRONT, "ann")
    client = bob.api()
    assert {row["username"] for row in client.get("/api/v1/people").json()["results"]} == {"bob", "ann"}
    path = f"/api/v1/people/{ann.user.uid}"
    given = {"display_name": "Mallory"}
    for method, more in (("put", "/roles"), ("put", "/organization"), ("put", ""), ("post", "/disable")):
        assert getattr(client, method)(path + more, given, format="json").status_code == 403, more
    assert client.delete(path).status_code == 403
    assert client.get("/api/v1/invitations").status_code == 403


@pytest.mark.req("PLAT-TEN-24", "PLAT-TEN-27")
def test_the_last_administrator_stays(admin, operator):
    path = f"/api/v1/people/{admin.user.uid}"
    assert admin.api().put(f"{path}/roles", {"roles": [FRONT]}, format="json").status_code == 409
    centre, inside = operator("system_administrator").api(), {"weir-tenant": "acme"}
    for answer in (centre.post(f"{path}/disable", headers=inside), centre.delete(path, headers=inside)):
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "conflict")
    assert roles_of("ada") == [ADMIN]
    assert Membership.objects.get(user=admin.user).is_active
    made(admin.api(), username="second", roles=[ADMIN])
    assert admin.api().put(f"{path}/roles", {"roles": [FRONT]}, format="json").status_code == 200


def test_nobody_disables_removes_or_resets_himself(admin):
    made(admin.api(), username="second", roles=[ADMIN])
    path = f"/api/v1/people/{admin.user.uid}"
    assert admin.api().post(f"{path}/disable").status_code == 409
    assert admin.api().post(f"{path}/reset-password").status_code == 409
    assert admin.api().delete(path).status_code == 409


@pytest.mark.req("PLAT-TEN-27")
def test_disabling_ends_what_is_open_at_once_and_enabling_opens_none_of_it_again(admin, member):
    bob = member("acme", FRONT, "bob")
    page, api = bob.page(), bob.api()
    assert page.get("/").status_code == 200
    path = f"/api/v1/people/{bob.user.uid}"
    assert admin.api().post(f"{path}/disable").json()["state"] == "disabled"
    assert page.get("/").status_code == 302
    assert api.get("/api/v1/orders").status_code == 401
    assert signed_in("bob", PASSWORD)[1].status_code == 401
    with in_tenant("acme"):
        assert bob.user.pk not in users_with_role(FRONT), "nothing waits for somebody who cannot come"
    assert admin.api().post(f"{path}/enable").json()["state"] == "active"
    assert page.get("/").status_code == 302
    assert api.get("/api/v1/orders").status_code == 401
    assert signed_in("bob", PASSWORD)[1].status_code == 200
    assert roles_of("bob") == [FRONT]


@pytest.mark.req("PLAT-TEN-26")
def test_a_reset_password_replaces_the_old_one_and_ends_sessions(admin, member):
    bob = member("acme", FRONT, "bob")
    page = bob.page()
    api = bob.api()
    secret = admin.api().post(f"/api/v1/people/{bob.user.uid}/reset-password").json()["secret"]
    assert signed_in("bob", PASSWORD)[1].status_code == 401
    assert page.get("/").status_code == 302
    assert api.get("/api/v1/orders").status_code == 401
    assert reset_use(secret, "short").status_code == 400
    assert reset_use(secret, "a-word-of-my-own-7").status_code == 204
    assert signed_in("bob", "a-word-of-my-own-7")[1].status_code == 200
    assert reset_use(secret, "anothers-word-77").status_code == 404
    assert secret not in str(list(Record.objects.values_list("detail", flat=True)))


@pytest.mark.req("PLAT-TEN-26")
def test_a_second_link_ends_the_first(admin, member):
    path = f"/api/v1/people/{member('acme', FRONT, 'bob').user.uid}/reset-password"
    first, second = (admin.api().post(path).json()["secret"] for _again in range(2))
    assert reset_use(first, "a-word-of-my-own-7").status_code == 404
    assert reset_use(second, "a-word-of-my-own-7").status_code == 204


def test_an_account_that_is_used_elsewhere_gets_no_new_password_from_here(admin, member, globex, operator):
    bob = member("acme", FRONT, "bob")
    Membership.objects.create(user=bob.user, tenant=globex)
    path = f"/api/v1/people/{bob.user.uid}"
    assert admin.api().post(f"{path}/reset-password").status_code == 403
    assert admin.api().put(path, {"display_name": "Mallory"}, format="json").status_code == 403
    centre = operator("system_administrator").api()
    assert centre.post(f"{path}/reset-password", headers={"weir-tenant": "acme"}).status_code == 200


@pytest.mark.req("PLAT-TEN-29")
def test_a_person_has_one_organization_and_moving_replaces_it(admin):
    with in_tenant("acme"):
        first, second = (organization_create(actor=SYSTEM, name=name) for name in ("One", "Two"))
    uid, _password = made(admin.api(), organization=str(first.uid))
    path = f"/api/v1/people/{uid}"
    moved = admin.api().put(f"{path}/organization", {"organization": str(second.uid)}, format="json")
    assert moved.json()["organization_name"] == "Two"
    for organization, count in ((first, 0), (second, 1)):
        found = admin.api().get(f"/api/v1/people?organization={organization.uid}").json()["results"]
        assert len(found) == count


@pytest.mark.req("PLAT-TEN-24", "PLAT-TEN-25")
def test_a_person_is_shown_with_systems_roles_and_how_he_signs_in(admin, member):
    with in_tenant("acme"):
        lab = organization_create(actor=SYSTEM, name="Lab")
        system = business_system_create(actor=SYSTEM, name="Vision", number="AC-01", organization=lab)
    uid, password = made(admin.api(), organization=str(lab.uid), email="bob@example.org")
    bob = User.objects.get(uid=uid)
    with in_tenant("acme"):
        business_system_member_add(actor=SYSTEM, business_system=system, user=bob)
    path = f"/api/v1/people/{uid}"
    assert signed_in("bob", "wrong-word-12")[1].status_code == 401
    assert signed_in("bob", password)[1].status_code == 403
    person = admin.api().get(path).json()
    assert (person["organization_name"], person["roles"]) == ("Lab", [FRONT])
    assert [row["number"] for row in person["business_systems"]] == ["AC-01"]
    way = person["sign_in"]
    assert (way["password"], way["tokens"]) == ("first", 0)
    assert [row["is_accepted"] for row in way["attempts"]] == [True, False]
    own_password_choose("bob", password, "a-word-of-my-own-7")
    signed_in("bob", "a-word-of-my-own-7")
    way = admin.api().get(path).json()["sign_in"]
    assert (way["password"], way["tokens"]) == ("own", 1)
    admin.api().post(f"{path}/reset-password")
    way = admin.api().get(path).json()["sign_in"]
    assert (way["password"], way["tokens"]) == ("awaited", 0)
    reader = member("acme", FRONT, "reader").api()
    assert reader.get(path).json()["sign_in"] is None, "addresses are for who keeps the people"
    changed = admin.api().put(path, {"display_name": "Bob Boson", "email": "b@example.org"}, format="json")
    assert (changed.json()["display_name"], changed.json()["email"]) == ("Bob Boson", "b@example.org")
    assert admin.api().put(path, {"display_name": "Bob", "email": "no"}, format="json").status_code == 400
    found = admin.api().get("/api/v1/people?search=BOB").json()["results"]
    assert [row["username"] for row in found] == ["bob"]


@pytest.mark.req("PLAT-TEN-24")
def test_who_is_removed_holds_nothing_and_can_be_brought_back(admin, member):
    bob = member("acme", FRONT, "bob")
    assert admin.api().delete(f"/api/v1/people/{bob.user.uid}").status_code == 204
    assert roles_of("bob") == []
    assert admin.api().get(f"/api/v1/people/{bob.user.uid}").status_code == 404
    back = {"username": "BOB", "roles": [MANAGER]}
    assert admin.api().post("/api/v1/people/add", back, format="json").json()["roles"] == [MANAGER]
    assert admin.api().post("/api/v1/people/add", back, format="json").status_code == 409


def test_a_stranger_is_invited_never_pulled_in(admin, member, operator):
    member("globex", FRONT, "gina")
    given = {"username": "gina", "roles": [FRONT]}
    assert admin.api().post("/api/v1/people/add", given, format="json").status_code == 404
    centre = operator("system_administrator").api()
    answer = centre.post("/api/v1/people/add", given, format="json", headers={"weir-tenant": "acme"})
    assert answer.status_code == 201


@pytest.mark.req("PLAT-TEN-2")
def test_another_tenants_people_are_not_found(admin, member):
    gina = member("globex", FRONT, "gina")
    path = f"/api/v1/people/{gina.user.uid}"
    client = admin.api()
    assert client.get(path).status_code == 404
    assert client.delete(path).status_code == 404
    for more, body in (("/roles", {"roles": []}), ("", {"display_name": "X"})):
        assert client.put(path + more, body, format="json").status_code == 404
    for act in ("disable", "enable", "reset-password"):
        assert client.post(f"{path}/{act}").status_code == 404
    assert "gina" not in str(client.get("/api/v1/people").json())


# --- invitations -----------------------------------------------------------------------------------------------


def invited(client, **fields):
    given = {"display_name": "Eve", "roles": [FRONT]} | fields
    answer = client.post("/api/v1/invitations", given, format="json")
    assert answer.status_code == 201, answer.content
    return answer.json()


def accept(secret, username="eve", tenant="acme", **fields):
    given = {"tenant": tenant, "secret": secret, "username": username, "password": PASSWORD} | fields
    return APIClient(headers={"host": "localhost"}).post("/api/v1/invitations/accept", given, format="json")


@pytest.mark.req("PLAT-TEN-24")
def test_an_invitation_is_used_once_within_its_time_in_its_own_tenant(admin):
    secret = invited(admin.api())["secret"]
    assert secret not in str(list(Record.objects.values_list("detail", flat=True)))
    assert accept(secret, tenant="globex", display_name="Eve").status_code == 404
    assert accept(secret, display_name="Eve").status_code == 201
    assert roles_of("eve") == [FRONT]
    assert accept(secret, username="mallory", display_name="M").status_code == 404
    assert not User.objects.filter(username="mallory").exists()
    late = invited(admin.api())
    with in_tenant("acme"):
        Invitation.objects.filter(uid=late["uid"]).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert accept(late["secret"], username="late", display_name="L").status_code == 404
    taken_back = invited(admin.api())
    assert admin.api().post(f"/api/v1/invitations/{taken_back['uid']}/withdraw").status_code == 204
    assert accept(taken_back["secret"], username="late", display_name="L").status_code == 404


def test_who_has_an_account_joins_with_it_and_a_wrong_password_spends_nothing(admin, member):
    gina = member("globex", FRONT, "gina")
    secret = invited(admin.api())["secret"]
    assert accept(secret, username="gina", password="wrong-word-12").status_code == 401
    assert accept(secret, username="gina").status_code == 201
    assert roles_of("gina") == [FRONT]
    assert Membership.objects.filter(user=gina.user, is_active=True).count() == 2


def test_a_refused_account_leaves_the_invitation_open(admin):
    secret = invited(admin.api())["secret"]
    assert accept(secret, username="ada", display_name="Ada again").status_code == 400
    assert accept(secret, username="eve", display_name="Eve", password="short").status_code == 400
    assert accept(secret, username="eve", display_name="Eve").status_code == 201


def test_an_invitation_ends_with_the_right_of_who_made_it(admin, member):
    inviter = member("acme", ADMIN, "inviter")
    secret = invited(inviter.api())["secret"]
    assert admin.api().post(f"/api/v1/people/{inviter.user.uid}/disable").status_code == 200
    assert accept(secret, display_name="Eve").status_code == 404


# --- operators -------------------------------------------------------------------------------------------------


@pytest.mark.req("PLAT-TEN-37")
def test_operators_keep_their_own_people_and_one_administrator_stays(operator, member):
    boss = operator("system_administrator", username="root")
    client = boss.api()
    given = {"username": "opal", "display_name": "Opal", "roles": ["front_line"]}
    answer = client.post("/api/v1/operators", given, format="json")
    assert answer.status_code == 201, answer.content
    path = f"/api/v1/operators/{answer.json()['operator']['uid']}"
    changed = client.put(f"{path}/roles", {"roles": ["executive"]}, format="json")
    assert changed.json()["roles"] == ["executive"]
    own = f"/api/v1/operators/{boss.user.uid}"
    assert client.put(f"{own}/roles", {"roles": []}, format="json").status_code == 409
    assert client.post(f"{own}/disable").status_code == 409
    assert client.delete(own).status_code == 409
    given = {"display_name": "Opal Onyx", "email": "opal@example.org"}
    assert client.put(path, given, format="json").json()["display_name"] == "Opal Onyx"
    assert client.get(path).json()["sign_in"]["password"] == "first"
    assert client.post(f"{path}/disable").json()["is_active"] is False
    assert client.post(f"{path}/enable").json()["is_active"] is True
    assert client.post(f"{path}/reset-password").json()["secret"]
    assert client.delete(path).status_code == 204
    assert "opal" not in str(client.get("/api/v1/operators").json())
    ann = member("acme", FRONT, "ann")
    assert client.get(f"/api/v1/operators/{ann.user.uid}").status_code == 404, (
        "a tenant's people are not here"
    )


def test_an_operator_without_the_right_gives_no_operator_role(operator):
    executive, root = operator("executive"), operator("system_administrator", username="root")
    client = executive.api()
    path = f"/api/v1/operators/{root.user.uid}"
    assert client.put(f"{path}/roles", {"roles": []}, format="json").status_code == 403
    assert client.post(f"{path}/reset-password").status_code == 403
    assert client.put(path, {"display_name": "Mallory"}, format="json").status_code == 403
    assert client.get(path).json()["sign_in"] is None


# --- idempotency keys ------------------------------------------------------------------------------------------


def test_a_repeat_under_one_key_makes_nobody_twice_and_keeps_no_password(admin):
    client, key = admin.api(), {"Idempotency-Key": "k-1"}
    given = {"username": "bob", "display_name": "Bob", "roles": []}
    first = client.post("/api/v1/people", given, format="json", headers=key)
    again = client.post("/api/v1/people", given, format="json", headers=key)
    other = client.post("/api/v1/people", given | {"username": "eve"}, format="json", headers=key)
    assert [answer.status_code for answer in (first, again, other)] == [201, 409, 409]
    assert User.objects.filter(username__in=["bob", "eve"]).count() == 1


def test_a_repeat_of_what_had_no_key_before_gets_the_first_answer(admin):
    client, key = admin.api(), {"Idempotency-Key": "k-2"}
    answers = [
        client.post("/api/v1/organizations", {"name": "Lab"}, format="json", headers=key)
        for _again in range(2)
    ]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json() == answers[1].json()
    other = client.post("/api/v1/organizations", {"name": "Other"}, format="json", headers=key)
    assert other.status_code == 409
