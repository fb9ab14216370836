"""Roles that people put together themselves, on both sides (PLAT-TEN-30 to PLAT-TEN-34)."""

from dataclasses import replace

import pytest

from apps.approvals.services import process_withdraw
from apps.identity.models import OperatorRole
from apps.identity.rules.role_functions import RoleDraft, Side, function_label, functions_of
from apps.identity.services.operator_roles import operator_role_delete, operator_role_edit, operator_role_make
from apps.identity.services.operators import operator_role_bind
from apps.identity.services.users import password_change
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, ReadOnly
from apps.kernel.planes import in_tenant
from apps.notices.services import message_read_all
from apps.orgs.models import TenantRole
from apps.orgs.selectors.roles import role_get, role_list
from apps.orgs.services.invitations import invitation_make
from apps.orgs.services.organizations import organization_create
from apps.orgs.services.own_roles import role_delete, role_edit, role_make
from apps.orgs.services.roles import role_bind, role_unbind
from portal.roles import OPERATOR_ROLES, TENANT_ROLES
from tests.apps.approvals.running import candidate, drawn, start
from tests.conftest import PASSWORD

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(member):
    return member("acme", "tenant_system_administrator")


def test_every_permission_of_a_builtin_role_is_a_function_with_a_name():
    for side, roles in ((Side.TENANT, TENANT_ROLES), (Side.OPERATOR, OPERATOR_ROLES)):
        known = {function.permission for function in functions_of(side)}
        assert set().union(*(role.permissions for role in roles)) == known
    assert {needed for side in Side for row in functions_of(side) for needed in row.needs} <= {
        row.permission for side in Side for row in functions_of(side)
    }
    assert function_label("billing.pay") == "Pay bills"
    assert function_label("audit.seal") == ""


@pytest.mark.req("PLAT-TEN-30", "PLAT-TEN-31", "PLAT-TEN-32")
def test_a_role_is_made_given_changed_and_deleted(admin, member):
    person = member("acme", "tenant_front_line")
    with in_tenant("acme"):
        role = role_make(
            actor=admin.actor,
            draft=RoleDraft(name="Buyer", permissions=["orders.apply"], description="For projects"),
        )
        # What applying needs comes along.
        assert role.permissions == ["catalog.view", "orders.apply", "orders.view"]
        assert (role.is_builtin, role.description) == (False, "For projects")
        role_bind(actor=admin.actor, user=person.user, role=role)
        with pytest.raises(Conflict, match="1 person holds this role"):
            role_delete(actor=admin.actor, role=role)
        changed = role_edit(
            actor=admin.actor, role=role, draft=RoleDraft(name="Buyer", permissions=["billing.pay"])
        )
        assert changed.permissions == ["billing.pay", "billing.view"]
    assert person.api().get("/api/v1/bills", headers={"weir-role": role.code}).status_code == 200
    assert person.api().get("/api/v1/orders", headers={"weir-role": role.code}).status_code == 403
    with in_tenant("acme"):
        role_unbind(actor=admin.actor, user=person.user, role=role)
        role_delete(actor=admin.actor, role=role)
        assert not TenantRole.objects.filter(code=role.code).exists()


@pytest.mark.req("PLAT-TEN-31", "PLAT-TEN-32", "PLAT-TEN-34")
def test_what_a_role_cannot_be_is_refused_and_changes_nothing(admin):
    with in_tenant("acme"):
        role_make(actor=admin.actor, draft=RoleDraft(name="Buyer", permissions=["orders.apply"]))
        before = list(TenantRole.objects.values())
        for wrong, error in (
            ({"name": "buyer", "permissions": ["orders.view"]}, Conflict),
            ({"name": "租户决策", "permissions": ["orders.view"]}, Conflict),
            ({"name": "Empty", "permissions": []}, InvalidInput),
            ({"name": "Odd", "permissions": ["no.such"]}, InvalidInput),
            ({"name": "Other side", "permissions": ["fleet.manage"]}, InvalidInput),
            ({"name": "Reader", "permissions": ["billing.pay"], "is_read_only": True}, InvalidInput),
        ):
            with pytest.raises(error):
                role_make(actor=admin.actor, draft=RoleDraft(**wrong))
        builtin = role_get("tenant_front_line")
        with pytest.raises(Conflict, match="stay as they are"):
            role_edit(
                actor=admin.actor, role=builtin, draft=RoleDraft(name="Mine", permissions=["orders.view"])
            )
        with pytest.raises(Conflict, match="stay as they are"):
            role_delete(actor=admin.actor, role=builtin)
        assert list(TenantRole.objects.values()) == before


def test_nobody_makes_a_role_that_may_do_more_than_his_own(member):
    manager = member("acme", "tenant_operations_manager")
    assert not manager.actor.may("orgs.grant")
    with in_tenant("acme"):
        role = role_make(actor=manager.actor, draft=RoleDraft(name="Payer", permissions=["billing.pay"]))
        with pytest.raises(Forbidden, match="Apply for resources"):
            role_make(actor=manager.actor, draft=RoleDraft(name="Buyer", permissions=["orders.apply"]))
        with pytest.raises(Forbidden):
            role_edit(
                actor=manager.actor, role=role, draft=RoleDraft(name="Payer", permissions=["orders.apply"])
            )
        stronger = role_make(actor=SYSTEM, draft=RoleDraft(name="Buyer", permissions=["orders.apply"]))
        for act in (
            lambda: role_edit(
                actor=manager.actor, role=stronger, draft=RoleDraft(name="Buyer", permissions=["orders.view"])
            ),
            lambda: role_delete(actor=manager.actor, role=stronger),
        ):
            with pytest.raises(Forbidden):
                act()


def test_a_role_that_an_invitation_gives_stays(admin):
    with in_tenant("acme"):
        role = role_make(actor=admin.actor, draft=RoleDraft(name="Buyer", permissions=["orders.apply"]))
        row, _secret = invitation_make(
            actor=admin.actor, display_name="Ivy", email="", organization=None, roles=[role], days=3
        )
        with pytest.raises(Conflict, match="The invitation of Ivy gives this role"):
            role_delete(actor=admin.actor, role=role)
        row.delete()
        role_delete(actor=admin.actor, role=role)


def test_a_role_that_an_open_task_waits_for_stays(admin, member):
    applicant, boss = member("acme", "tenant_front_line"), member("acme", "tenant_decision_maker")
    with in_tenant("acme"):
        role = role_make(
            actor=admin.actor,
            draft=RoleDraft(name="Committee", permissions=["approvals.decide", "orders.view"]),
        )
        role_bind(actor=admin.actor, user=boss.user, role=role)
    running = start(applicant.user.pk, drawn(candidate(role.code)))
    with in_tenant("acme"):
        role_unbind(actor=admin.actor, user=boss.user, role=role)
        with pytest.raises(Conflict, match="A process waits for somebody with this role"):
            role_delete(actor=admin.actor, role=role)
        process_withdraw(actor=applicant.actor, subject_uid=running.subject_uid)
        role_delete(actor=admin.actor, role=role)


def test_the_last_administrator_s_own_role_keeps_its_rights(admin):
    with in_tenant("acme"):
        role = role_make(actor=admin.actor, draft=RoleDraft(name="Head", permissions=["orgs.grant"]))
        role_bind(actor=admin.actor, user=admin.user, role=role)
        role_unbind(actor=admin.actor, user=admin.user, role=role_get("tenant_system_administrator"))
        with pytest.raises(Conflict, match="last administrator"):
            role_edit(actor=admin.actor, role=role, draft=RoleDraft(name="Head", permissions=["orgs.view"]))


@pytest.mark.req("PLAT-TEN-32")
def test_a_read_only_role_changes_nothing_but_its_holder_s_account(member, acme):
    person = member("acme", "tenant_front_line")
    reader = replace(person.actor, is_read_only=True)
    with in_tenant("acme"):
        with pytest.raises(ReadOnly):
            organization_create(
                actor=replace(reader, permissions=frozenset({"orgs.manage"})), name="Lab", parent=None
            )
        message_read_all(actor=reader)
        password_change(
            actor=reader, user=person.user, old_password=PASSWORD, new_password="another-password-9"
        )
        role = role_make(
            actor=SYSTEM, draft=RoleDraft(name="Auditor", permissions=["orders.view"], is_read_only=True)
        )
        role_bind(actor=SYSTEM, user=person.user, role=role)
    api = person.api()
    seen = api.get("/api/v1/orders", headers={"weir-role": role.code})
    assert seen.status_code == 200
    # Whatever a role of before still holds.
    with in_tenant("acme"):
        TenantRole.objects.filter(code=role.code).update(permissions=["orgs.manage", "orgs.view"])
    body = {"name": "Lab"}
    refused = api.post("/api/v1/organizations", body, format="json", headers={"weir-role": role.code})
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "read_only")


@pytest.mark.req("PLAT-TEN-30", "PLAT-TEN-31", "PLAT-TEN-37")
def test_operators_make_roles_of_their_own(operator):
    admin = operator("system_administrator")
    role = operator_role_make(
        actor=admin.actor, draft=RoleDraft(name="Auditor", permissions=["audit.view"], is_read_only=True)
    )
    other = operator("front_line")
    operator_role_bind(actor=admin.actor, user=other.user, role_code=role.code)
    with pytest.raises(Conflict, match="1 person holds"):
        operator_role_delete(actor=admin.actor, role=role)
    edited = operator_role_edit(
        actor=admin.actor, role=role, draft=RoleDraft(name="Auditor", permissions=["audit.view", "logs.view"])
    )
    assert (edited.permissions, edited.is_read_only) == (["audit.view", "logs.view"], False)
    other.user.operator_bindings.filter(role=role).delete()
    operator_role_delete(actor=admin.actor, role=role)
    assert not OperatorRole.objects.filter(code=role.code).exists()
    with pytest.raises(Forbidden):
        operator_role_make(actor=other.actor, draft=RoleDraft(name="Mine", permissions=["logs.view"]))


@pytest.mark.req("PLAT-TEN-33")
def test_the_list_is_searched_by_name_and_counts_people(admin):
    with in_tenant("acme"):
        role_make(actor=admin.actor, draft=RoleDraft(name="Buyer", permissions=["orders.apply"]))
        assert [row.name_en for row in role_list("buy")] == ["Buyer"]
        assert [row.code for row in role_list("决策")] == ["tenant_decision_maker"]
        assert role_get("tenant_system_administrator").holders == 1


@pytest.mark.req("PLAT-TEN-30", "PLAT-TEN-31", "PLAT-TEN-33", "PLAT-TEN-34")
def test_a_role_is_copied_saved_and_deleted_by_pages(admin):
    browser = admin.page()
    listed = browser.get("/people/roles/").content.decode()
    assert listed.count('data-test="role"') == 4
    form = browser.get("/people/roles/new/?from=tenant_front_line").content.decode()
    assert 'value="orders.apply"\n                checked' in form
    given = {"name": "Buyer", "description": "Buys", "permissions": ["orders.apply"]}
    made = browser.post("/people/roles/new/", given)
    assert made.status_code == 302
    page = browser.get(made["Location"]).content.decode()
    assert "Buys" in page
    assert 'data-test="role-delete"' in page
    refused = browser.post(made["Location"], {"name": "Buyer", "permissions": ["fleet.manage"]})
    assert refused.status_code == 400
    assert browser.post(f"{made['Location']}delete/").status_code == 302
    assert browser.get(made["Location"]).status_code == 404
    assert 'data-test="role-save"' not in browser.get("/people/roles/tenant_front_line/").content.decode()


@pytest.mark.req("PLAT-TEN-32")
def test_who_may_not_keep_roles_sees_them_and_changes_nothing(member, operator):
    page = member("acme", "tenant_front_line").page()
    assert 'data-test="role-new"' not in page.get("/people/roles/").content.decode()
    assert page.get("/people/roles/new/").status_code == 403
    assert page.post("/people/roles/new/", {"name": "X", "permissions": ["orders.view"]}).status_code == 403
    executive = operator("executive").page()
    assert executive.get("/operators/roles/").status_code == 200
    assert executive.get("/operators/roles/new/").status_code == 403


@pytest.mark.req("PLAT-TEN-30", "PLAT-TEN-31")
def test_roles_are_kept_by_the_api_on_both_sides(admin, operator):
    for api, path, permission in (
        (admin.api(), "/api/v1/roles", "billing.pay"),
        (operator("system_administrator").api(), "/api/v1/operator-roles", "logs.view"),
    ):
        functions = api.get(f"{path}/functions").json()
        assert permission in {row["permission"] for row in functions}
        made = api.post(path, {"name": "Own", "permissions": [permission]}, format="json")
        assert made.status_code == 201, made.json()
        place = f"{path}/{made.json()['code']}"
        assert api.get(place).json()["name_en"] == "Own"
        changed = api.put(place, {"name": "Other", "permissions": [permission]}, format="json")
        assert (changed.status_code, changed.json()["name_zh"]) == (200, "Other")
        assert api.put(place, {"name": "Other"}, format="json").status_code == 400
        assert api.delete(place).status_code == 204
        assert api.get(place).status_code == 404


def test_a_person_s_page_says_which_role_each_function_comes_from(admin, member, operator):
    person = member("acme", "tenant_front_line")
    with in_tenant("acme"):
        role = role_make(
            actor=admin.actor,
            draft=RoleDraft(name="Payer", permissions=["billing.pay"], description="Pays what is due"),
        )
        role_bind(actor=admin.actor, user=person.user, role=role)
    page = admin.page().get(f"/people/{person.user.uid}/").content.decode()
    row = page[page.index('data-test="billing.pay"') :].partition("</tr>")[0]
    assert "Pay bills" in row
    assert "Payer" in row
    assert 'data-test="orgs.manage"' not in page
    assert "Pays what is due" in page
    keeper = operator("system_administrator")
    other = operator("front_line")
    page = keeper.page().get(f"/operators/{other.user.uid}/").content.decode()
    row = page[page.index('data-test="alarms.acknowledge"') :].partition("</tr>")[0]
    assert "Front-line staff" in row
