"""From a tenant that the operators' pages have just made to its first engineer's application, by pages alone; and
the operators' page of their own people."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from apps.identity.models import User
from apps.kernel.actor import SYSTEM
from apps.kernel.planes import in_tenant
from apps.orders.models import ApplicationForm
from apps.orgs.models import RoleBinding
from apps.scheduling.services.queues.queue_settings import queue_ensure
from portal.demo.seed import catalogue_seed
from tests.apps.fleet.agent import Agent

pytestmark = pytest.mark.django_db
HTMX = {"hx-request": "true"}


def browser(host):
    client = Client(headers={"host": host})
    client.cookies["django_language"] = "en"
    return client


def text_of(answer):
    assert answer.status_code == 200, (answer.status_code, answer.content.decode()[-2000:])
    return " ".join(answer.content.decode().split())


def moved(answer):
    assert answer.status_code == 302, answer.content.decode()[-3000:]
    return answer["Location"]


def shown(text, test):
    return re.search(rf'value="([^"]+)"[^>]*data-test="{test}"', text, re.S)[1]


def first_sign_in(host, username, password, own):
    """Sign in with a first password: everything leads to the page where one's own is chosen."""
    client = browser(host)
    moved(client.post("/login/", {"username": username, "password": password}))
    assert moved(client.get("/")).endswith("/account/password/")
    assert 'data-test="first-password"' in text_of(client.get("/account/password/"))
    moved(client.post("/account/password/", {"old_password": password, "new_password": own}))
    assert client.get("/").status_code == 200
    return client


def reset_by_link(link, portal, own):
    """Whoever has the link chooses a password, and is told where the link is spent."""
    assert link.startswith(f"{portal}/password/reset/")
    visitor, path = browser(portal.removeprefix("http://")), link.removeprefix(portal)
    assert "A new password for" in text_of(visitor.get(path))
    refused = visitor.post(path, {"new_password": "short"})
    assert (refused.status_code, "too weak" in refused.content.decode()) == (400, True)
    assert moved(visitor.post(path, {"new_password": own})) == "/login/"
    assert "The password is changed" in text_of(visitor.get("/login/"))
    assert visitor.get(path).status_code == 404


@pytest.fixture
def newco(operator):
    """A tenant made on the operators' pages, and its first administrator's browser."""
    # Processes are published where somebody can decide them.
    purser = operator("operations_manager").page()
    catalogue_seed()
    # As `manage.py setup` leaves an empty installation, and one node that has joined.
    queue_ensure(actor=SYSTEM)
    Agent("n1")
    page = operator("system_administrator").page()
    given = {"schema": "newco", "name": "New Company", "timezone": "Asia/Shanghai", "how": "password"}
    first = {"username": "audrey", "display_name": "Audrey Audit", "email": "audrey@example.org"}
    limits = {"instances": "4", "compute_percent": "200", "gpu_memory_mib": "8192"}
    limits |= {"host_cpu_milli": "16", "host_memory_mib": "65536", "storage_mib": "1024"}
    password = shown(
        text_of(page.post(reverse("operator:tenant_new"), given | first | limits)), "first-password-text"
    )
    moved(purser.post(reverse("operator:tenant_account", args=["newco"])))
    credit = {"amount": "1000", "reason": "contract 1"}
    moved(purser.post(reverse("operator:tenant_credit", args=["newco"]), credit))
    return first_sign_in("newco.localhost", "audrey", password, "audreys-own-word")


@pytest.mark.req("PLAT-TEN-24", "PLAT-TEN-28", "PLAT-APPLY-3")
def test_a_new_tenant_is_put_to_use_by_pages_alone(newco):
    assert 'data-test="nav-people-people"' in text_of(newco.get("/"))
    # An organization below the first one, and the engineer's account in it.
    moved(newco.post("/organizations/add/", {"name": "Laboratory", "parent": "", "description": ""}))
    text = text_of(newco.get("/people/new/?how=account"))
    laboratory = re.search(r'<option value="([0-9a-f-]{36})"[^>]*>\s*Laboratory', text)[1]
    given = {"how": "account", "username": "erin", "display_name": "Erin Engineer", "email": ""}
    text = text_of(
        newco.post("/people/new/", given | {"organization": laboratory, "roles": "tenant_front_line"})
    )
    password = shown(text, "first-password-text")
    # Whom the administrator invites chooses account and password.
    invite = {"how": "invite", "display_name": "Dora", "email": "", "days": "3", "organization": laboratory}
    text = text_of(newco.post("/people/new/", invite | {"roles": "tenant_decision_maker"}))
    link = shown(text, "invite-link")
    assert link.startswith("http://newco.localhost/join/")
    # A business system, in which the engineer takes part.
    system = moved(newco.post(
        "/organizations/business-systems/add/",
        {"name": "Vision", "number": "NC-01", "organization": laboratory, "parent": ""},
    ))  # fmt: skip
    member = re.search(r'<option value="([0-9a-f-]+)">Erin', text_of(newco.get(system)))[1]
    moved(newco.post(f"{system}take-part/", {"member": member}))
    # The engineer applies.
    erin = first_sign_in("newco.localhost", "erin", password, "erins-own-word")
    commodity = re.search(r"/commodities/([0-9a-f-]+)/", text_of(erin.get("/catalogue/")))[0]
    wanted = {"amount_compute_share": 20, "amount_gpu_memory": 512, "amount_cpu": 1, "amount_memory": 1024}
    wanted |= {"count": 1, "duration": 1, "duration_unit": 3600}
    moved(erin.post(f"{commodity}put-in-cart/", wanted))
    line = re.search(r'name="lines" value="([0-9a-f-]+)"', text_of(erin.get("/cart/")))[1]
    form = moved(erin.post("/cart/make-form/", {"lines": [line], "duration": 1, "duration_unit": 3600}))
    uid = system.strip("/").split("/")[-1]
    filled = {f"line_0_{name}": value for name, value in wanted.items() if "duration" not in name}
    filled |= {"line_0_commodity": commodity.strip("/").split("/")[-1], "duration": 1, "duration_unit": 3600}
    filled |= {"business_system": uid, "remark": "the first one", "act": "submit"}
    save = f"{form.removesuffix('edit/')}save/"
    # Nobody could decide yet: it is said at once, and does not wait for ever.
    refused = erin.post(save, filled)
    assert refused.status_code == 409
    assert "Nobody can decide the step Tenant decision maker decides" in refused.content.decode()
    assert "Decision maker (tenant_decision_maker)" in refused.content.decode()
    dora = browser("newco.localhost")
    path = link.removeprefix("http://newco.localhost")
    assert "you are invited" in text_of(dora.get(path))
    moved(dora.post(path, {"display_name": "Dora", "username": "dora", "password": "doras-own-word"}))
    moved(erin.post(save, filled))
    with in_tenant("newco"):
        assert ApplicationForm.objects.get().state == "submitted"
    # And the invited one decides.
    task = re.search(r'href="(/tasks/[0-9a-f-]+/)"', text_of(dora.get("/inbox/")))[1]
    moved(dora.post(f"{task}decide/", {"decision": "approve", "comment": ""}))
    assert browser("newco.localhost").get(path).status_code == 404, "a link lets one person in"


@pytest.fixture
def admin(member):
    return member("acme", "tenant_system_administrator", "ada")


@pytest.mark.req("PLAT-TEN-24", "PLAT-TEN-26", "PLAT-TEN-27", "PLAT-TEN-28", "PLAT-TEN-29")
def test_a_person_is_kept_on_one_page(admin, member):
    bob = member("acme", "tenant_front_line", "bob").user
    page, path = admin.page(), f"/people/{bob.uid}/"
    page.cookies["django_language"] = "en"
    assert 'data-username="bob"' in text_of(page.get("/people/"))
    text = text_of(page.get(path))
    assert re.search(r'value="tenant_front_line"\s+checked', text)
    moved(page.post(f"{path}roles/", {"roles": ["tenant_decision_maker"]}))
    with in_tenant("acme"):
        assert list(RoleBinding.objects.filter(user=bob).values_list("role__code", flat=True)) == [
            "tenant_decision_maker"
        ]
    moved(page.post("/organizations/add/", {"name": "Physics"}))
    place = re.search(r'<option value="([0-9a-f-]{36})"[^>]*>\s*Physics', text_of(page.get(path)))[1]
    moved(page.post(f"{path}move/", {"organization": place}))
    assert 'data-username="bob"' in text_of(
        page.get(f"/people/?organization={place}&role=tenant_decision_maker")
    )
    assert 'data-test="sign-in-way"' in text_of(page.get(path))
    moved(page.post(f"{path}edit/", {"display_name": "Bob Boson", "email": "bob@example.org"}))
    link = shown(text_of(page.post(f"{path}reset-password/")), "reset-link-text")
    assert "New password not chosen yet" in text_of(page.get(path))
    reset_by_link(link, "http://acme.localhost", "bobs-own-word-7")
    assert "New password not chosen yet" not in text_of(page.get(path))
    moved(page.post(f"{path}disable/"))
    assert 'data-test="person-enable"' in text_of(page.get(path))
    moved(page.post(f"{path}enable/"))
    assert moved(page.post(f"{path}remove/")) == "/people/"
    assert page.get(path).status_code == 404


def test_who_gives_his_own_right_away_is_led_home(admin, member):
    member("acme", "tenant_system_administrator", "second")
    page = admin.page()
    answer = page.post(f"/people/{admin.user.uid}/roles/", {"roles": ["tenant_front_line"]})
    assert moved(answer) == "/"
    assert page.get("/people/new/").status_code == 403


def test_a_manager_sees_whom_he_cannot_touch(admin, member):
    manager = member("acme", "tenant_operations_manager", "olga").page()
    manager.cookies["django_language"] = "en"
    path = f"/people/{admin.user.uid}/"
    text = text_of(manager.get(path))
    assert 'data-test="beyond-reach"' in text
    assert 'data-test="person-remove"' not in text
    refused = manager.post(f"{path}remove/", headers=HTMX)
    assert (refused.status_code, refused["HX-Retarget"]) == (403, "#problems")
    # Ticking nothing takes nothing that is beyond him.
    manager.post(f"{path}roles/", {"roles": []})
    with in_tenant("acme"):
        assert RoleBinding.objects.filter(user=admin.user).exists()


def test_invitations_stand_on_the_page_until_they_are_withdrawn(admin):
    page = admin.page()
    page.cookies["django_language"] = "en"
    given = {"how": "invite", "display_name": "Eve", "email": "eve@example.org", "days": "3"}
    link = shown(text_of(page.post("/people/new/", given)), "invite-link")
    withdraw = re.search(
        r'action="(/people/invitations/[0-9a-f-]+/withdraw/)"', text_of(page.get("/people/"))
    )[1]
    moved(page.post(withdraw))
    assert browser("acme.localhost").get(link.removeprefix("http://acme.localhost")).status_code == 404
    assert 'data-test="invitation"' not in text_of(page.get("/people/"))


@pytest.mark.req("PLAT-TEN-24", "PLAT-TEN-37")
def test_operators_keep_any_tenants_people_and_their_own(operator, member):
    page = operator("system_administrator", username="root").page()
    page.cookies["django_language"] = "en"
    member("acme", "tenant_front_line", "bob")
    assert 'data-username="bob"' in text_of(page.get("/t/acme/people/"))
    text = text_of(
        page.post("/t/acme/people/new/", {"how": "account", "username": "carl", "display_name": "Carl"})
    )
    assert "http://acme.localhost/" in text
    given = {"username": "opal", "display_name": "Opal", "roles": ["front_line"]}
    password = shown(text_of(page.post("/operators/new/", given)), "first-password-text")
    text = text_of(page.get("/operators/"))
    assert 'data-username="opal"' in text
    assert 'data-username="bob"' not in text
    opal = first_sign_in("localhost", "opal", password, "opals-own-word")
    assert opal.get("/operators/new/").status_code == 403
    path = f"/operators/{User.objects.get(username='opal').uid}/"
    moved(page.post(f"{path}edit/", {"display_name": "Opal Onyx", "email": "opal@example.org"}))
    assert "Opal Onyx" in text_of(page.get(path))
    assert 'data-test="attempt"' in text_of(page.get(path))
    listed = text_of(page.get(reverse("admin:identity_user_changelist")))
    assert ">bob<" in listed
    assert ">opal<" not in listed, "tenants' people and the operators' own are listed apart"
    moved(page.post(f"{path}roles/", {"roles": ["executive"]}))
    moved(page.post(f"{path}disable/"))
    assert opal.get("/").status_code == 302
    moved(page.post(f"{path}enable/"))
    assert opal.get("/").status_code == 302, "the old session stays ended"
    link = shown(text_of(page.post(f"{path}reset-password/")), "reset-link-text")
    reset_by_link(link, "http://localhost", "opals-other-word")
    assert moved(page.post(f"{path}remove/")) == "/operators/"
    assert page.get(path).status_code == 404


def test_the_last_operator_who_gives_roles_stays(operator):
    person = operator("system_administrator", username="root")
    page = person.page()
    path = f"/operators/{person.user.uid}/"
    answer = page.post(f"{path}roles/", {"roles": ["executive"]}, headers=HTMX)
    assert (answer.status_code, answer["HX-Retarget"]) == (409, "#problems")
