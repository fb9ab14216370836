"""Every page of the portal opens, for every role that is shown the way to it, in both languages."""

import pytest
from django.urls import set_urlconf

from apps.console.navigation.selectors import navigation_for
from apps.kernel.actor import SYSTEM
from apps.kernel.planes import in_tenant
from apps.orgs.models import TenantRole
from apps.orgs.services.roles import role_bind
from portal.roles import TENANT_ROLES

pytestmark = pytest.mark.django_db
ROLES = [role.code for role in TENANT_ROLES]


@pytest.fixture(autouse=True)
def _tenant_urls():
    set_urlconf("portal.urls_tenant")
    yield
    set_urlconf(None)


def paths_of(actor):
    return [entry.url for group in navigation_for(actor, in_tenant=True) for entry in group.entries]


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_every_page_of_the_navigation_opens(member, role, language):
    person = member("acme", role)
    page, paths = person.page(), paths_of(person.actor)
    page.cookies["django_language"] = language
    assert len(paths) >= 6
    for path in paths:
        answer = page.get(path)
        assert answer.status_code == 200, path
        text = answer.content.decode()
        assert f'lang="{"en" if language == "en" else "zh-Hans"}"' in text
        assert "<script>" not in text
        assert page.get(path, headers={"HX-Request": "true"}).status_code == 200, path


@pytest.mark.parametrize("role", ROLES)
def test_a_page_the_role_is_not_shown_is_refused(member, role):
    person = member("acme", role)
    page, shown = person.page(), set(paths_of(person.actor))
    for path, permission in (("/cart/", "orders.apply"), ("/billing/bills/", "billing.view")):
        assert (path in shown) is person.actor.may(permission)
        assert page.get(path).status_code == (200 if path in shown else 403), path


def test_whoever_is_not_signed_in_is_led_to_sign_in_and_back(client):
    host = {"host": "acme.localhost"}
    answer = client.get("/billing/bills/?state=paid", headers=host)
    assert answer["Location"] == "/login/?next=%2Fbilling%2Fbills%2F%3Fstate%3Dpaid"
    answer = client.get("/messages/bell/", headers={**host, "HX-Request": "true"})
    assert answer["HX-Redirect"].startswith("/login/")


@pytest.mark.parametrize("wanted", ["https://evil.example/", "//evil.example/", "javascript:alert(1)"])
def test_signing_in_never_leads_off_the_portal(client, member, wanted):
    person = member("acme", "tenant_front_line")
    given = {"username": person.user.username, "password": "correct-horse-9", "next": wanted}
    answer = client.post("/login/", given, headers={"host": "acme.localhost"})
    assert (answer.status_code, answer["Location"]) == (302, "/")


def test_a_wrong_password_is_refused_in_words(client, member):
    person = member("acme", "tenant_front_line")
    given = {"username": person.user.username, "password": "wrong"}
    answer = client.post("/login/", given, headers={"host": "acme.localhost"})
    assert answer.status_code == 401
    assert 'data-test="problem"' in answer.content.decode()
    assert "_auth_user_id" not in client.session


@pytest.mark.req("PLAT-TEN-2")
def test_a_member_of_another_tenant_finds_nothing(member):
    page = member("globex", "tenant_front_line").page()
    assert page.get("/", headers={"host": "acme.localhost"}).status_code == 404


@pytest.mark.req("PLAT-TEN-28")
def test_switching_the_role_changes_the_way_without_signing_in(member, acme):
    person = member("acme", "tenant_front_line")
    with in_tenant("acme"):
        role_bind(actor=SYSTEM, user=person.user, role=TenantRole.objects.get(code="tenant_decision_maker"))
    page = person.page()
    assert page.get("/billing/bills/").status_code == 403
    assert page.post("/role/", {"role": "tenant_decision_maker"}).status_code == 302
    assert page.get("/billing/bills/").status_code == 200
    assert page.post("/role/", {"role": "tenant_system_administrator"}).status_code == 403


def test_an_operator_works_inside_a_tenant_under_its_prefix(operator):
    page = operator("operations_manager").page()
    text = page.get("/t/acme/inbox/").content.decode()
    assert 'href="/t/acme/resources/"' in text
    assert page.get("/t/nobody/inbox/").status_code == 404


def test_a_refusal_is_a_page_or_an_alert_in_place(member):
    page = member("acme", "tenant_front_line").page()
    path = "/orders/00000000-0000-0000-0000-000000000000/"
    whole = page.get(path)
    assert (whole.status_code, "<html" in whole.content.decode()) == (404, True)
    part = page.get(path, headers={"HX-Request": "true"})
    assert (part.status_code, part["HX-Retarget"]) == (404, "#problems")
    assert "<html" not in part.content.decode()
    back = page.get(path, headers={"HX-Request": "true", "HX-History-Restore-Request": "true"})
    assert back.status_code == 404


def test_pages_forbid_foreign_and_inline_scripts(member):
    policy = member("acme", "tenant_front_line").page().get("/")["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe-eval" not in policy


def test_home_says_what_the_role_can_begin(member):
    line = member("acme", "tenant_front_line", "ann").page().get("/").content.decode()
    for name in ("Open an environment", "Submit work", "Upload files", "Command line and Python"):
        assert name in line
    decides = member("acme", "tenant_decision_maker", "bea").page().get("/").content.decode()
    assert "Order a service" in line
    assert "Submit work" not in decides
    assert "Invite your people" not in line + decides
    lets_in = member("acme", "tenant_system_administrator", "cyd").page().get("/").content.decode()
    assert 'href="/people/new/"' in lets_in
    assert 'data-test="next-step"' in decides
