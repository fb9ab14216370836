"""Nobody widens what his role reaches by placing himself or others: organizations, people's files, business systems."""

from dataclasses import dataclass, replace

import pytest

from apps.catalog.states import FieldKind
from apps.identity.pages.access import ROLE_SESSION_KEY
from apps.identity.rules.role_functions import RoleDraft
from apps.kernel.actor import SYSTEM
from apps.kernel.planes import in_tenant
from apps.kernel.reach import DataPermission, Scope
from apps.orders.selectors import field_options
from apps.orgs.models import Member, Organization, TenantRole
from apps.orgs.selectors.business_systems import business_system_user_ids
from apps.orgs.selectors.organizations import organization_of
from apps.orgs.selectors.roles import reach_of
from apps.orgs.services.business_systems import business_system_create, business_system_member_add
from apps.orgs.services.organizations import member_add, organization_create
from apps.orgs.services.own_roles import role_make
from apps.orgs.services.roles import role_bind
from tests.apps.orgs.test_people_files import HEAD, rows_of, sent
from tests.conftest import Person

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-SEC-4", "PLAT-TEN-32")]
FRONT = "tenant_front_line"
NARROW = [Scope.OWN, Scope.ORGANIZATION, Scope.BELOW, Scope.SYSTEMS]


@dataclass
class Tree:
    """Root with the institute and the works below it, the laboratory below the institute; `nell` belongs to the
    institute, `bob` to the laboratory, `far` to the works, `new` to none."""

    places: dict[str, Organization]
    people: dict[str, Person]

    def keeper(self, scope, *more) -> "tuple[object, TenantRole]":
        """Nell's API in a role that keeps the tenant's map and reaches so far."""
        data = DataPermission(scope, scope, Scope.OWN if scope is Scope.SYSTEMS else scope, scope, Scope.ALL)
        with in_tenant("acme"):
            role = role_make(
                actor=SYSTEM, draft=RoleDraft("Keeper", ["orgs.view", "orgs.manage", *more], data=data)
            )
            role_bind(actor=SYSTEM, user=self.people["nell"].user, role=role)
        api = self.people["nell"].api()
        api.credentials(**api._credentials, HTTP_WEIR_ROLE=role.code)
        return api, role

    def uid(self, name) -> str:
        return str(self.places[name].uid)

    def place_of(self, name) -> str:
        with in_tenant("acme"):
            return str(organization_of(self.people[name].user.pk) or "")


@pytest.fixture
def tree(acme, member):
    with in_tenant("acme"):
        root = organization_create(actor=SYSTEM, name="Root")
        institute = organization_create(actor=SYSTEM, name="Institute", parent=root)
        places = {
            "root": root,
            "institute": institute,
            "lab": organization_create(actor=SYSTEM, name="Laboratory", parent=institute),
            "works": organization_create(actor=SYSTEM, name="Works", parent=root),
        }
        people = {name: member("acme", FRONT, name) for name in ("nell", "bob", "far", "new")}
        for name, place in (("nell", "institute"), ("bob", "lab"), ("far", "works")):
            member_add(actor=SYSTEM, user=people[name].user, organization=places[place])
        return Tree(places, people)


def moved(tree, api, name, place):
    path = f"/api/v1/people/{tree.people[name].user.uid}/organization"
    return api.put(path, {"organization": tree.uid(place)}, format="json")


def refusal(answer):
    assert answer.status_code == 403, answer.content
    error = answer.json()["error"]
    assert error["cure"] == "Ask an administrator who may give every role."
    return error["message"]


@pytest.mark.parametrize("scope", NARROW)
def test_who_does_not_reach_everything_stays_where_he_is(tree, scope):
    api, role = tree.keeper(scope)
    for place in ("root", "lab", "works"):
        assert "your own organization" in refusal(moved(tree, api, "nell", place))
    with in_tenant("acme"):
        own = Member.objects.get(user=tree.people["nell"].user)
    assert "your own organization" in refusal(api.delete(f"/api/v1/members/{own.uid}"))
    page = tree.people["nell"].page()
    session = page.session
    session[f"{ROLE_SESSION_KEY}:acme"] = role.code
    session.save()
    nell = tree.people["nell"].user.uid
    assert page.post(f"/people/{nell}/move/", {"organization": tree.uid("root")}).status_code == 403
    text = f"{HEAD}nell,,,Root,\n"
    assert "your own organization" in rows_of(sent(api, text, dry_run="true"))[2]["fault"]
    assert sent(api, text).status_code == 400
    assert tree.place_of("nell") == "Institute"


def test_who_belongs_nowhere_does_not_place_himself(tree):
    with in_tenant("acme"):
        Member.objects.filter(user=tree.people["nell"].user).delete()
    api, _role = tree.keeper(Scope.BELOW)
    answer = api.post(
        "/api/v1/members", {"username": "nell", "organization": tree.uid("root")}, format="json"
    )
    assert "your own organization" in refusal(answer)
    assert "beyond what your role reaches" in refusal(moved(tree, api, "new", "lab"))


def test_people_are_placed_within_ones_own_reach_alone(tree):
    api, _role = tree.keeper(Scope.BELOW)
    assert moved(tree, api, "bob", "institute").status_code == 200
    assert moved(tree, api, "new", "lab").status_code == 200
    for name, place in (("bob", "root"), ("bob", "works"), ("far", "lab")):
        assert "is beyond what your role reaches" in refusal(moved(tree, api, name, place))
    given = {"username": "alt", "display_name": "Alt", "roles": [], "organization": tree.uid("root")}
    assert "Root is beyond" in refusal(api.post("/api/v1/people", given, format="json"))
    assert "Root is beyond" in refusal(
        api.post("/api/v1/people/add", {k: v for k, v in given.items() if k != "display_name"}, format="json")
    )
    text = f"{HEAD}bob,,,Root,\nfar,,,Laboratory,\n,Eve,eve@example.org,Works,\nnew,,,Institute,\n"
    rows = rows_of(sent(api, text, dry_run="true"))
    assert [rows[row]["change"] for row in (2, 3, 4, 5)] == ["refused", "refused", "refused", "changed"]
    assert all("is beyond what your role reaches" in rows[row]["fault"] for row in (2, 3, 4))
    assert [tree.place_of(name) for name in ("bob", "far", "new")] == ["Institute", "Works", "Laboratory"]


def test_who_reaches_one_organization_places_people_in_none_below_it(tree):
    api, _role = tree.keeper(Scope.ORGANIZATION)
    assert moved(tree, api, "new", "institute").status_code == 200
    assert "Laboratory is beyond" in refusal(moved(tree, api, "new", "lab"))


def test_what_lies_outside_is_not_drawn_into_ones_own(tree):
    api, _role = tree.keeper(Scope.BELOW)
    path = f"/api/v1/organizations/{tree.uid('works')}"
    answer = api.put(path, {"name": "Works", "parent": tree.uid("institute")}, format="json")
    assert "Works is beyond" in refusal(answer)
    renamed = api.put(path, {"name": "Mills", "parent": tree.uid("root")}, format="json")
    assert renamed.status_code == 200, renamed.content


@pytest.mark.parametrize(("scope", "more"), [(Scope.ALL, ()), (Scope.BELOW, ("orgs.grant",))])
def test_who_reaches_everything_or_could_moves_anybody(tree, scope, more):
    api, _role = tree.keeper(scope, *more)
    for name, place in (("nell", "root"), ("far", "lab")):
        assert moved(tree, api, name, place).status_code == 200
    assert (tree.place_of("nell"), tree.place_of("far")) == ("Root", "Laboratory")


def test_operators_move_anybody(tree, operator):
    api = operator("system_administrator").api()
    path = f"/api/v1/people/{tree.people['far'].user.uid}/organization"
    answer = api.put(path, {"organization": tree.uid("root")}, format="json", headers={"weir-tenant": "acme"})
    assert answer.status_code == 200, answer.content


# --- business systems ------------------------------------------------------------------------------------------


@pytest.fixture
def systems(tree):
    """One of the works, one of the laboratory."""
    with in_tenant("acme"):
        return {
            name: business_system_create(
                actor=SYSTEM, name=f"of {name}", number=name, organization=tree.places[name]
            )
            for name in ("works", "lab")
        }


def let_in(api, system, username):
    return api.post(f"/api/v1/business-systems/{system.uid}/members", {"username": username}, format="json")


def taking_part(system):
    with in_tenant("acme"):
        return business_system_user_ids(system)


@pytest.mark.parametrize(
    ("kinds", "other", "status"),
    [
        (("systems", "own", "all"), None, 403),
        (("all", "systems", "all"), None, 403),
        (("below", "below", "all"), ("systems", "own", "own"), 403),
        (("below", "below", "all"), None, 204),
        (("all", "all", "all"), ("systems", "systems", "own"), 204),
    ],
)
def test_nobody_lets_himself_in_where_that_shows_him_more(tree, systems, kinds, other, status):
    with in_tenant("acme"):
        for data in filter(None, (other, kinds)):
            draft = RoleDraft(
                f"Keeper {data}", ["orgs.view", "orgs.manage"], data=DataPermission(*data, people=Scope.ALL)
            )
            role = role_make(actor=SYSTEM, draft=draft)
            role_bind(actor=SYSTEM, user=tree.people["nell"].user, role=role)
    api = tree.people["nell"].api()
    api.credentials(**api._credentials, HTTP_WEIR_ROLE=role.code)
    answer = let_in(api, systems["works"], "nell")
    assert answer.status_code == status, answer.content
    if status == 403:
        assert "of works is beyond" in refusal(answer)
    assert len(taking_part(systems["works"])) == (status == 204)


def test_who_reaches_business_systems_by_taking_part_lets_others_into_his_alone(tree, systems):
    with in_tenant("acme"):
        data = DataPermission(Scope.SYSTEMS, Scope.SYSTEMS, Scope.ALL, people=Scope.ALL)
        role = role_make(actor=SYSTEM, draft=RoleDraft("Keeper", ["orgs.view", "orgs.manage"], data=data))
        nell, bob = (tree.people[name].user for name in ("nell", "bob"))
        role_bind(actor=SYSTEM, user=nell, role=role)
        business_system_member_add(actor=SYSTEM, business_system=systems["lab"], user=nell)
    api = tree.people["nell"].api()
    api.credentials(**api._credentials, HTTP_WEIR_ROLE=role.code)
    assert let_in(api, systems["lab"], "bob").status_code == 204
    assert let_in(api, systems["lab"], "nell").status_code == 204
    assert "of works is beyond" in refusal(let_in(api, systems["works"], "bob"))
    assert taking_part(systems["lab"]) == sorted([nell.pk, bob.pk])


def test_who_reaches_organizations_lets_others_into_their_business_systems(tree, systems):
    api, _role = tree.keeper(Scope.BELOW)
    assert let_in(api, systems["lab"], "bob").status_code == 204
    assert let_in(api, systems["lab"], "nell").status_code == 204
    assert let_in(api, systems["works"], "bob").status_code == 404


def test_who_reaches_everything_lets_himself_in(tree, systems):
    api, _role = tree.keeper(Scope.ALL)
    assert let_in(api, systems["works"], "nell").status_code == 204
    assert taking_part(systems["works"]) == [tree.people["nell"].user.pk]


def test_nobody_invites_into_an_organization_beyond_his_reach(tree):
    api, _role = tree.keeper(Scope.BELOW)
    invited = {"display_name": "Eve", "roles": []}
    for place, expected in (("root", 403), ("works", 403), ("lab", 201)):
        answer = api.post("/api/v1/invitations", {**invited, "organization": tree.uid(place)}, format="json")
        assert answer.status_code == expected, answer.json()


def test_neither_a_file_nor_a_field_of_a_form_knows_people_out_of_reach(tree):
    nell = tree.people["nell"]
    with in_tenant("acme"):
        role = role_make(actor=SYSTEM, draft=RoleDraft("Clerk", ["orgs.view", "orgs.manage"]))
        role_bind(actor=SYSTEM, user=nell.user, role=role)
        reach = reach_of(nell.user.pk, role.data_permission, None)
        actor = replace(nell.actor, role=role.code, permissions=frozenset(role.permissions), reach=reach)
        assert [value for value, _name in field_options(FieldKind.PERSON, actor)] == ["nell"]
    api = nell.api()
    api.credentials(**api._credentials, HTTP_WEIR_ROLE=role.code)
    answer = sent(api, f"{HEAD}far,Mallory,,,\n")
    assert answer.status_code == 400
    assert "Nobody here has the login account far" in answer.json()["error"]["fields"]["Row 2"]
