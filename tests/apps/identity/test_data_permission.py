"""Whose records a role reaches, apart from what it may do: in lists, details, API, pages and acts (PLAT-SEC-4)."""

from dataclasses import dataclass, replace
from uuid import uuid4

import pytest

from apps.approvals.selectors import task_get
from apps.approvals.services import task_decide, task_urge
from apps.identity.pages.access import ROLE_SESSION_KEY
from apps.identity.rules.role_functions import RoleDraft, scopes_of
from apps.kernel.actor import SYSTEM, Actor
from apps.kernel.errors import Forbidden, NotFound
from apps.kernel.planes import in_tenant
from apps.kernel.reach import EVERYTHING, DataPermission, Records, Scope
from apps.orders.models import ApplicationForm, Order
from apps.orders.selectors import form_list, order_list
from apps.orders.services.deliveries import order_deliver
from apps.orders.services.drafts import form_draft
from apps.orders.services.submissions import form_submit
from apps.orders.types import LineInput
from apps.orgs.models import Organization, TenantRole
from apps.orgs.selectors.business_systems import business_system_list
from apps.orgs.selectors.people import member_list, person_list, tenant_user_get
from apps.orgs.selectors.roles import reach_of
from apps.orgs.services.business_systems import business_system_create, business_system_member_add
from apps.orgs.services.organizations import member_add, organization_create, organization_delete
from apps.orgs.services.own_roles import role_edit, role_make
from apps.orgs.services.roles import may_give, role_bind
from apps.scheduling.models import Workload
from apps.scheduling.selectors.workloads import workload_list
from apps.scheduling.services.quota.quotas import quota_set
from apps.scheduling.services.workload_control import workload_suspend
from apps.scheduling.services.workloads.stopping import workload_halt
from apps.storage.models import Volume
from apps.storage.permissions import volumes_kept
from apps.storage.selectors import volume_list
from apps.storage.states import Owner
from apps.tickets.models import Ticket
from apps.tickets.services.life import ticket_claim, ticket_executed, ticket_return
from tests.apps.catalog.market import AMOUNTS
from tests.apps.orders.scene import Scene, scene_make
from tests.conftest import Person

pytestmark = pytest.mark.django_db

# What each of them reaches who belongs to the institute and takes part in the business system of the works:
# `up` is of the institute, `low` of the laboratory below it, `far` of the works, `shared` of nobody's organization for
# that business system.
REACHED = {
    Scope.OWN: set(),
    Scope.ORGANIZATION: {"up"},
    Scope.BELOW: {"up", "low"},
    Scope.SYSTEMS: {"shared"},
    Scope.ALL: {"up", "low", "far", "shared"},
}
FUNCTIONS = ("orders.view", "orders.terminate", "resources.operate", "orgs.view")


@dataclass
class Office:
    """`orders` by who applied; `reader` belongs to the institute."""

    scene: Scene
    orders: dict[str, Order]
    reader: Person
    institute: Organization
    works: Organization

    def acting(self, scope: Scope, functions=FUNCTIONS) -> Actor:
        """The reader in a role that reaches so far."""
        without_systems = Scope.OWN if scope is Scope.SYSTEMS else scope
        data = DataPermission(scope, scope, without_systems, scope, without_systems)
        reach = reach_of(self.reader.user.pk, data, self.institute.uid)
        return replace(self.reader.actor, reach=reach, permissions=frozenset(functions), role="reader")


@pytest.fixture
def office(acme, member, operator):
    with in_tenant("acme"):
        scene = scene_make(acme, member, operator)
        institute = organization_create(actor=SYSTEM, name="Institute")
        lab = organization_create(actor=SYSTEM, name="Laboratory", parent=institute)
        works = organization_create(actor=SYSTEM, name="Works")
        system = business_system_create(actor=SYSTEM, name="Vision", number="V-1", organization=works)
        orders = {}
        for name, place in (("up", institute), ("low", lab), ("far", works), ("shared", None)):
            person = member("acme", "tenant_front_line", name)
            if place is not None:
                member_add(actor=SYSTEM, user=person.user, organization=place)
            if name == "shared":
                business_system_member_add(actor=SYSTEM, business_system=system, user=person.user)
            actor = replace(
                person.actor,
                reach=reach_of(person.user.pk, person.actor.reach.permission, place.uid if place else None),
            )
            form = form_draft(
                actor=actor,
                lines=[LineInput(scene.commodity.uid, dict(AMOUNTS), 1)],
                duration_s=3600,
                business_system_uid=system.uid if name == "shared" else None,
            )
            form_submit(actor=actor, form_uid=form.uid)
            form = scene.decide(ApplicationForm.objects.get(pk=form.pk), "approve", "approve")
            orders[name] = order_deliver(actor=SYSTEM, order_uid=form.orders.get().uid)
        reader = member("acme", "tenant_front_line", "reader")
        member_add(actor=SYSTEM, user=reader.user, organization=institute)
        business_system_member_add(actor=SYSTEM, business_system=system, user=reader.user)
        yield Office(scene, orders, reader, institute, works)


@pytest.mark.req("PLAT-SEC-4", "PLAT-TEN-32")
@pytest.mark.parametrize("scope", list(Scope))
def test_each_list_shows_what_is_reached_and_nothing_else(office, acme, scope):
    actor = office.acting(scope)
    by_form = {order.form_id: name for name, order in office.orders.items()}
    by_work = {order.workload_uid: name for name, order in office.orders.items()}
    assert {by_form[row.pk] for row in form_list(actor=actor)} == REACHED[scope]
    assert {row.applicant.username for row in order_list(actor=actor)} == REACHED[scope]
    assert {by_work[row.uid] for row in workload_list(acme, actor=actor)} == REACHED[scope]
    # The business system belongs to the works; who takes part in it sees it anyhow.
    assert [row.name for row in business_system_list(actor=actor)] == ["Vision"]


@pytest.mark.req("PLAT-SEC-4")
@pytest.mark.parametrize("scope", list(Scope))
def test_people_and_the_volumes_that_one_manages_are_those_of_what_is_reached(office, scope):
    reached = REACHED[scope] - {"shared"}
    keeper = office.acting(scope, functions=("orgs.view", "orgs.manage", "storage.view", "storage.manage"))
    for order in office.orders.values():
        Volume.objects.create(
            name=order.applicant.username, owner=Owner.PERSON, person=order.applicant, size_mib=1
        )
    Volume.objects.create(name="works", owner=Owner.ORGANIZATION, organization=office.works, size_mib=1)
    kept = {row.name for row in volume_list(actor=keeper)}
    seen = {row.user.username for row in person_list(actor=keeper)}
    assert {row.user.username for row in member_list(actor=keeper)} <= seen
    if scope is Scope.ALL:
        assert kept == {*office.orders, "works"}
        assert {"reader", *office.orders} < seen
    else:
        assert kept == reached
        assert seen == {"reader", *reached}
        with pytest.raises(NotFound):
            tenant_user_get(actor=keeper, username="far")
    assert {row.name for row in Volume.objects.filter(volumes_kept(keeper))} == kept


@pytest.mark.req("PLAT-SEC-4")
@pytest.mark.parametrize("scope", list(Scope))
def test_what_is_out_of_reach_is_not_found_by_details_and_by_acts(office, acme, member, scope):
    with in_tenant("acme"):
        data = DataPermission(scope, scope, Scope.OWN)
        draft = RoleDraft("Reader", [*FUNCTIONS, "catalog.view"], data=data)
        role = role_make(actor=SYSTEM, draft=draft)
        role_bind(actor=SYSTEM, user=office.reader.user, role=role)
        tickets = {name: Ticket.objects.get(subject_uid=order.uid) for name, order in office.orders.items()}
        forms = {name: order.form.uid for name, order in office.orders.items()}
    api, page = office.reader.api(), office.reader.page()
    api.credentials(**api._credentials, HTTP_WEIR_ROLE=role.code)
    session = page.session
    session[f"{ROLE_SESSION_KEY}:acme"] = role.code
    session.save()
    listed = {row["uid"] for row in api.get("/api/v1/orders").json()["results"]}
    assert listed == {str(office.orders[name].uid) for name in REACHED[scope]}
    for name, order in office.orders.items():
        found = 200 if name in REACHED[scope] else 404
        for path in (
            f"/api/v1/orders/{order.uid}",
            f"/api/v1/application-forms/{forms[name]}",
            f"/api/v1/tickets/{tickets[name].uid}",
            f"/api/v1/workloads/{order.workload_uid}",
            f"/api/v1/workloads/{order.workload_uid}/logs",
            f"/api/v1/workloads/{order.workload_uid}/explain",
        ):
            assert api.get(path).status_code == found, (path, name)
        for path in (
            f"/orders/{order.uid}/",
            f"/forms/{forms[name]}/",
            f"/tickets/{tickets[name].uid}/",
            f"/resources/{order.workload_uid}/",
        ):
            assert page.get(path).status_code == found, (path, name)
    far = office.orders["far"]
    if "far" not in REACHED[scope]:
        for path, body in (
            (f"/api/v1/orders/{far.uid}/terminate", {"reason": "not needed"}),
            (f"/api/v1/workloads/{far.workload_uid}/stop", {"reason": ""}),
            (f"/api/v1/workloads/{far.workload_uid}/resize", {"compute_percent": 1}),
            (f"/api/v1/workloads/{far.workload_uid}/suspend", {"reason": ""}),
            (
                f"/api/v1/workloads/{far.workload_uid}/scaling-rules",
                {"by": "queue_depth", "low": 1, "high": 2},
            ),
        ):
            answer = api.post(path, body, format="json")
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found"), path
            # Exactly as for one that there is not.
            other = path.replace(str(far.uid), str(uuid4())).replace(str(far.workload_uid), str(uuid4()))
            assert api.post(other, body, format="json").json() == answer.json()
    with in_tenant("acme"):
        far.refresh_from_db()
        assert (far.state, Workload.plain.get(uid=far.workload_uid).state) == ("processing", "pending")


@pytest.mark.req("PLAT-SEC-4")
def test_a_ticket_and_a_step_out_of_reach_are_not_found_by_who_may_work_and_decide(office):
    with in_tenant("acme"):
        quota_set(actor=SYSTEM, tenant=office.scene.tenant, item="instances", total=9)
        form = office.scene.submitted()
        task = office.scene.task(form)
        ticket = Ticket.objects.get(subject_uid=office.orders["far"].uid)
        actor = office.acting(Scope.BELOW, functions=("tickets.work", "approvals.decide"))
        for act in (ticket_claim, ticket_return, ticket_executed):
            with pytest.raises(NotFound):
                act(actor=actor, ticket_uid=ticket.uid)
        for uid in (task.uid, uuid4()):
            with pytest.raises(NotFound):
                task_decide(actor=actor, task_uid=uid, decision="approve")
        # Within reach it is seen, and the refusal says why.
        wide = office.acting(Scope.ALL, functions=("tickets.work", "approvals.decide"))
        with pytest.raises(Forbidden, match="other side"):
            ticket_claim(actor=wide, ticket_uid=ticket.uid)
        with pytest.raises(Forbidden):
            task_decide(actor=wide, task_uid=task.uid, decision="approve")


def test_a_service_that_is_called_by_uid_finds_only_what_is_reached(office, acme):
    far = office.orders["far"].workload_uid
    with in_tenant("acme"):
        for act in (workload_suspend, workload_halt):
            with pytest.raises(NotFound):
                act(actor=office.acting(Scope.BELOW), tenant=acme, workload_uid=far, reason="")


@pytest.mark.req("PLAT-SEC-4")
def test_who_follows_an_application_urges_it_and_nobody_else_finds_it(office, member):
    with in_tenant("acme"):
        scene = office.scene
        quota_set(actor=SYSTEM, tenant=scene.tenant, item="instances", total=9)
        lab = replace(
            scene.ann.actor, reach=replace(scene.ann.actor.reach, organization=office.institute.uid)
        )
        form = form_submit(actor=lab, form_uid=scene.draft().uid)
        ApplicationForm.objects.filter(pk=form.pk).update(organization=office.institute)
        task = scene.task(form)
        type(task.instance).objects.filter(pk=task.instance.pk).update(organization=office.institute)
        with pytest.raises(NotFound):
            task_get(actor=office.acting(Scope.OWN), uid=task.uid)
        assert task_urge(actor=office.acting(Scope.ORGANIZATION), task_uid=task.uid).urged_at
        # Who decides sees the step, and follows nothing by that.
        decider = replace(
            scene.boss.actor, reach=replace(scene.boss.actor.reach, permission=DataPermission())
        )
        with pytest.raises(Forbidden, match="who follows the application"):
            task_urge(actor=decider, task_uid=task.uid)


def test_a_draft_stays_its_writer_s_whoever_reaches_all(office):
    with in_tenant("acme"):
        draft = office.scene.draft()
        assert draft.uid not in {row.uid for row in form_list(actor=office.acting(Scope.ALL))}


@pytest.mark.req("PLAT-SEC-4")
def test_same_function_and_other_reach_see_other_rows_and_the_other_way_round(office, acme):
    near, wide = office.acting(Scope.ORGANIZATION), office.acting(Scope.ALL)
    with in_tenant("acme"):
        assert order_list(actor=near).count() < order_list(actor=wide).count()
        reading = office.acting(Scope.ALL, functions=("orders.view", "resources.view"))
        assert workload_list(acme, actor=reading).count() == workload_list(acme, actor=wide).count()
        with pytest.raises(Forbidden):
            workload_halt(
                actor=reading, tenant=acme, workload_uid=office.orders["up"].workload_uid, reason=""
            )


def test_records_of_an_organization_that_goes_are_reached_by_all_only(office, acme):
    with in_tenant("acme"):
        lab = organization_create(actor=SYSTEM, name="Gone", parent=office.institute)
        order = office.orders["far"]
        Order.objects.filter(pk=order.pk).update(organization=lab)
        assert order.pk in {row.pk for row in order_list(actor=office.acting(Scope.BELOW))}
        organization_delete(actor=SYSTEM, organization=lab)
        assert order.pk not in {row.pk for row in order_list(actor=office.acting(Scope.BELOW))}
        assert order.pk in {row.pk for row in order_list(actor=office.acting(Scope.ALL))}


def test_the_scopes_are_ordered_and_an_operator_reaches_all_of_a_tenant(operator):
    assert Scope.BELOW.covers(Scope.ORGANIZATION)
    assert not Scope.ORGANIZATION.covers(Scope.BELOW)
    assert not Scope.BELOW.covers(Scope.SYSTEMS)
    assert all(Scope.ALL.covers(scope) and scope.covers(Scope.OWN) for scope in Scope)
    assert DataPermission(Scope.BELOW).beyond(DataPermission(Scope.ORGANIZATION)) is Records.ORDERS
    assert DataPermission().beyond(EVERYTHING) is None
    assert Scope.SYSTEMS not in scopes_of(Records.SYSTEMS)


@pytest.mark.req("PLAT-TEN-32", "PLAT-SEC-4")
def test_nobody_makes_or_gives_a_role_that_reaches_more_than_his_own(acme, member):
    chief, person = member("acme", "tenant_operations_manager"), member("acme", "tenant_front_line")
    narrow = replace(chief.actor, reach=reach_of(chief.user.pk, DataPermission(Scope.BELOW, Scope.OWN), None))
    wide = RoleDraft("Wide", ["orders.view"], data=DataPermission(Scope.ALL))
    near = RoleDraft("Near", ["orders.view"], data=DataPermission(Scope.ORGANIZATION))
    with in_tenant("acme"):
        with pytest.raises(Forbidden, match="more records than yours: “Applications"):
            role_make(actor=narrow, draft=wide)
        made = role_make(actor=narrow, draft=near)
        with pytest.raises(Forbidden, match="more records than yours"):
            role_edit(actor=narrow, role=made, draft=replace(near, data=DataPermission(Scope.SYSTEMS)))
        role_bind(actor=narrow, user=person.user, role=made)
        stronger = role_make(actor=SYSTEM, draft=wide)
        assert not may_give(narrow, stronger)
        for act in (
            lambda: role_bind(actor=narrow, user=person.user, role=stronger),
            lambda: role_edit(actor=narrow, role=stronger, draft=near),
        ):
            with pytest.raises(Forbidden, match="reaches more records than yours"):
                act()
        # The manager's own role reaches everything: no bound but that of functions.
        role_bind(actor=chief.actor, user=person.user, role=stronger)


@pytest.mark.req("PLAT-TEN-28", "PLAT-TEN-32")
def test_what_is_reached_follows_the_switch_of_role(office):
    api = office.reader.api()
    assert api.get("/api/v1/orders").json()["results"] == []
    with in_tenant("acme"):
        role_bind(
            actor=SYSTEM, user=office.reader.user, role=TenantRole.objects.get(code="tenant_decision_maker")
        )
    found = api.get("/api/v1/orders", headers={"weir-role": "tenant_decision_maker"}).json()["results"]
    assert len(found) == len(office.orders)


@pytest.mark.req("PLAT-TEN-32", "PLAT-TEN-33")
def test_the_data_permission_is_kept_and_shown_by_pages_and_api(acme, member):
    admin, person = member("acme", "tenant_system_administrator"), member("acme", "tenant_front_line")
    page, api = admin.page(), admin.api()
    given = {"name": "Head of lab", "permissions": ["orders.view"], "orders": "below", "resources": "all"}
    made = page.post("/people/roles/new/", given)
    assert made.status_code == 302
    shown = page.get(made["Location"]).content.decode()
    assert 'value="below" selected' in shown
    listed = page.get("/people/roles/?search=Head").content.decode()
    assert "organization and all below" in listed
    assert "those taken part in" in listed
    assert page.post("/people/roles/new/", {**given, "name": "Odd", "orders": "galaxy"}).status_code == 400
    code = made["Location"].rstrip("/").rsplit("/", 1)[1]
    row = api.get(f"/api/v1/roles/{code}").json()
    assert row["data_permission"] == {
        "orders": "below",
        "resources": "all",
        "systems": "own",
        "costs": "own",
        "people": "own",
    }
    body = {"name": "Head of lab", "permissions": ["orders.view"], "data_permission": {"orders": "systems"}}
    changed = api.put(f"/api/v1/roles/{code}", body, format="json").json()
    assert changed["data_permission"] == {
        "orders": "systems",
        "resources": "own",
        "systems": "own",
        "costs": "own",
        "people": "own",
    }
    wrong = {**body, "data_permission": {"systems": "systems"}}
    assert api.put(f"/api/v1/roles/{code}", wrong, format="json").status_code == 400
    with in_tenant("acme"):
        role_bind(actor=SYSTEM, user=person.user, role=TenantRole.objects.get(code=code))
    why = page.get(f"/people/{person.user.uid}/").content.decode()
    section = why[why.index('data-test="person-data-permission"') :]
    assert "business systems taken part in" in section
    assert "Head of lab" in section


def test_a_scope_that_is_none_is_refused():
    with pytest.raises(ValueError, match="galaxy"):
        DataPermission(orders="galaxy")
