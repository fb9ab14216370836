"""A tenant comes with its first administrator and what it begins with: all of it, or nothing."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from apps.billing.models import Account
from apps.console.tenants.services import tenant_open
from apps.console.tenants.types import FirstAdministrator
from apps.identity.models import User
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import WeirError
from apps.kernel.planes import in_tenant
from apps.orgs.models import BusinessSystem, Invitation, Organization, RoleBinding
from apps.orgs.services.invitation_mails import invitation_mail_claim
from apps.scheduling.models import Queue, TenantQuota
from apps.scheduling.services.quota.quotas import DEFAULTS
from apps.tenancy.models import Tenant

PAGE = {
    "schema": "initech",
    "name": "Initech",
    "timezone": "Europe/Berlin",
    "how": "password",
    "display_name": "Ida First",
    "username": "ida",
    "email": "ida@example.org",
    "instances": "4",
    "compute_percent": "200",
    "gpu_memory_mib": "8192",
    "host_cpu_milli": "2.5",
    "host_memory_mib": "4096",
    "storage_mib": "2048",
}
API = {
    "schema": "initech",
    "name": "Initech",
    "administrator": {"display_name": "Ida First", "username": "ida"},
}


def text_of(answer, status=200) -> str:
    assert answer.status_code == status, answer.content[:500]
    return answer.content.decode()


def shown(text: str, mark: str) -> str:
    return re.search(rf'value="([^"]+)"[^>]*data-test="{mark}"', text, re.DOTALL)[1]


def nothing_made() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_namespace WHERE nspname = 'initech'")
        schemas = cursor.fetchone()[0]
    return not (
        schemas
        or Tenant.objects.filter(schema_name="initech").exists()
        or User.objects.filter(username="ida").exists()
        or Queue.objects.filter(code="initech").exists()
    )


@pytest.mark.django_db
@pytest.mark.req("PLAT-TEN-8", "PLAT-TEN-24")
def test_the_page_makes_it_and_its_administrator_signs_in(operator):
    page = operator("system_administrator").page()
    form = text_of(page.get("/tenants/new/"))
    assert 'value="Asia/Shanghai" selected' in form
    assert f'value="{DEFAULTS["instances"]}"' in form
    assert f'name="host_cpu_milli" value="{DEFAULTS["host_cpu_milli"] // 1000}"' in form
    made = text_of(page.post("/tenants/new/", PAGE | {"has_queue": "on"}))
    password = shown(made, "first-password-text")
    assert 'href="http://initech.localhost/"' in made
    row = Tenant.objects.get(schema_name="initech")
    assert row.timezone == "Europe/Berlin"
    assert dict(TenantQuota.plain.filter(tenant=row).values_list("item", "total")) == {
        "instances": 4,
        "compute_percent": 200,
        "gpu_memory_mib": 8192,
        "host_cpu_milli": 2500,
        "host_memory_mib": 4096,
        "storage_mib": 2048,
    }
    queue = Queue.objects.get(code="initech")
    assert [grant.tenant for grant in queue.admitted.all()] == [row]
    with in_tenant("initech"):
        assert Organization.objects.get().name == "Initech"
        assert RoleBinding.objects.get().role.code == "tenant_system_administrator"
    ida = Client(headers={"host": "initech.localhost"})
    signed_in = ida.post("/login/", {"username": "ida", "password": password})
    assert signed_in.status_code == 302
    assert ida.get("/")["Location"] == "/account/password/"


@pytest.mark.django_db
@pytest.mark.req("PLAT-TEN-8")
def test_an_invitation_lets_its_administrator_choose_account_and_password(operator):
    page = operator("system_administrator").page()
    made = text_of(page.post("/tenants/new/", PAGE | {"how": "link", "username": ""}))
    link = shown(made, "invite-link")
    assert link.startswith("http://initech.localhost/join/weirinv_")
    path = link.removeprefix("http://initech.localhost")
    ida = Client(headers={"host": "initech.localhost"})
    joined = ida.post(path, {"display_name": "Ida", "username": "ida.x", "password": "correct-horse-9"})
    assert joined.status_code == 302
    with in_tenant("initech"):
        assert RoleBinding.objects.get().user.username == "ida.x"
        assert Invitation.objects.get().state == "used"


def _mailed_secret(schema: str) -> str:
    """What the worker that writes the mail puts into its link."""
    with in_tenant(schema):
        one = invitation_mail_claim(actor=SYSTEM)
    assert one.mail.portal == f"http://{schema}.localhost/"
    return one.secret


@pytest.mark.django_db
@pytest.mark.req("PLAT-TEN-8", "PLAT-TEN-24")
def test_its_administrators_invitation_goes_by_mail_where_the_centre_sends_some(operator, settings, tmp_path):
    admin = operator("system_administrator")
    by_mail = PAGE | {"how": "mail", "username": ""}
    assert 'value="mail"' not in text_of(admin.page().get("/tenants/new/"))
    assert 'data-test="error-how"' in text_of(admin.page().post("/tenants/new/", by_mail), 400)
    asked = API | {"administrator": {"display_name": "Ida", "email": "ida@example.org", "by_mail": True}}
    refused = admin.api().post("/api/v1/tenants", asked)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "mail_missing")
    assert nothing_made()
    settings.WEIR_EMAIL_URL = f"file://{tmp_path}"
    assert 'data-test="error-email"' in text_of(
        admin.page().post("/tenants/new/", by_mail | {"email": ""}), 400
    )
    page = text_of(admin.page().post("/tenants/new/", by_mail))
    assert "goes to ida@example.org by mail" in page
    assert "weirinv_" not in page
    joined = {"display_name": "Ida", "username": "ida.x", "password": "correct-horse-9"}
    path = f"/join/{_mailed_secret('initech')}/"
    assert Client(headers={"host": "initech.localhost"}).post(path, joined).status_code == 302
    way_in = admin.api().post("/api/v1/tenants", asked | {"schema": "hooli", "name": "Hooli"}).json()
    told = way_in["administrator"]
    assert (told["secret"], told["mailed_to"], told["username"]) == ("", "ida@example.org", "")
    assert _mailed_secret("hooli")
    both = {"administrator": {"display_name": "Ida", "username": "ida", "by_mail": True}}
    assert admin.api().post("/api/v1/tenants", API | {"schema": "umbra"} | both).status_code == 400


@pytest.mark.django_db
@pytest.mark.req("PLAT-TEN-8")
def test_the_api_makes_it_with_its_administrator(operator):
    api = operator("system_administrator").api()
    system = {"name": "Vision", "number": "IT-01"}
    more = {"quota": {"instances": 3}, "has_queue": True, "business_system": system}
    made = api.post("/api/v1/tenants", API | more)
    assert made.status_code == 201, made.content
    body = made.json()
    assert (body["schema"], body["host"], body["timezone"]) == (
        "initech",
        "initech.localhost",
        "Asia/Shanghai",
    )
    way_in = body["administrator"]
    assert (way_in["username"], way_in["secret"], way_in["expires_at"]) == ("ida", "", None)
    assert User.objects.get(username="ida").check_password(way_in["password"])
    totals = dict(TenantQuota.plain.filter(tenant__schema_name="initech").values_list("item", "total"))
    assert totals == DEFAULTS | {"instances": 3}
    with in_tenant("initech"):
        assert BusinessSystem.objects.get().number == "IT-01"
    invited = api.post(
        "/api/v1/tenants", {"schema": "hooli", "name": "Hooli", "administrator": {"display_name": "Gavin"}}
    ).json()["administrator"]
    assert (invited["username"], invited["password"]) == ("", "")
    assert invited["secret"].startswith("weirinv_")
    assert timezone.datetime.fromisoformat(invited["expires_at"]) > timezone.now() + timedelta(days=6)


@pytest.mark.django_db
def test_an_account_takes_the_right_to_money_and_without_it_nothing_is_made(operator):
    admin = operator("system_administrator")
    refused = admin.api().post("/api/v1/tenants", API | {"has_account": True})
    assert (refused.status_code, refused.json()["error"]["fields"]) == (403, {"permission": "billing.manage"})
    assert nothing_made()
    assert 'data-test="has_account"' not in text_of(admin.page().get("/tenants/new/"))
    assert admin.page().post("/tenants/new/", PAGE | {"has_account": "on"}).status_code == 403
    assert nothing_made()
    tenant_open(
        actor=SYSTEM,
        schema="initech",
        name="Initech",
        administrator=FirstAdministrator("Ida", username="ida"),
    )
    assert not Account.objects.across().filter(tenant__schema_name="initech").exists()


WRONG = [
    ({"schema": "acme"}, "schema"),
    ({"schema": "public"}, "schema"),
    ({"schema": "A b"}, "schema"),
    ({"schema": ""}, "schema"),
    ({"name": "Acme Research"}, "name"),
    ({"name": ""}, "name"),
    ({"timezone": "Mars"}, "timezone"),
    ({"display_name": ""}, "display_name"),
    ({"username": ""}, "username"),
    ({"username": "two words"}, "username"),
    ({"email": "nobody"}, "email"),
    ({"how": "owl"}, "how"),
    ({"instances": "-1"}, "instances"),
    ({"gpu_memory_mib": "x"}, "gpu_memory_mib"),
    ({"system_name": "Vision"}, "system_number"),
    ({"system_number": "IT-01"}, "system_name"),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("wrong", "field"), WRONG)
def test_what_is_wrong_is_said_beside_its_field_and_nothing_is_made(operator, wrong, field):
    page = operator("system_administrator").page()
    found = text_of(page.post("/tenants/new/", PAGE | wrong), 400)
    assert f'data-test="error-{field}"' in found
    assert nothing_made()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"administrator": None}, "administrator"),
        ({"administrator": {}}, "administrator.display_name"),
        ({"administrator": {"display_name": "Ida", "username": "two words"}}, "username"),
        ({"quota": {"gold": 1}}, "item"),
        ({"quota": {"instances": -1}}, "quota.instances"),
        ({"business_system": {"name": "Vision"}}, "business_system.number"),
        ({"business_system": {"name": "Vision", "number": " "}}, "business_system.number"),
        ({"timezone": "Mars"}, "timezone"),
    ],
)
def test_the_api_refuses_it_whole(operator, wrong, field):
    answer = operator("system_administrator").api().post("/api/v1/tenants", API | wrong)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_input")
    assert field in answer.json()["error"]["fields"]
    assert nothing_made()


@pytest.mark.django_db
def test_a_queue_of_that_name_undoes_it_all_and_it_can_be_made_again(operator):
    api = operator("system_administrator").api()
    Queue.objects.create(code="initech", name_en="There", name_zh="已有")
    answer = api.post("/api/v1/tenants", API | {"has_queue": True}, headers={"Idempotency-Key": "k-1"})
    assert answer.status_code == 409
    assert not Tenant.objects.filter(schema_name="initech").exists()
    again = operator("system_administrator").page().post("/tenants/new/", PAGE | {"has_queue": "on"})
    assert "There is a queue initech already" in text_of(again, 409)
    Queue.objects.filter(code="initech").delete()
    made = api.post("/api/v1/tenants", API | {"has_queue": True}, headers={"Idempotency-Key": "k-1"})
    assert made.status_code == 201


@pytest.mark.django_db
@pytest.mark.parametrize("role", ["operations_manager", "executive", "cluster_administrator"])
def test_who_may_not_make_tenants_is_refused_before_his_input_is_read(operator, role):
    person = operator(role)
    assert person.page().get("/tenants/new/").status_code == 403
    assert person.api().post("/api/v1/tenants", {}).status_code == 403


def test_of_two_who_make_the_same_tenant_at_once_one_does(committed):
    start = Barrier(2)

    def one(username: str) -> str:
        start.wait()
        first = FirstAdministrator("Ida", username=username)
        try:
            tenant_open(actor=SYSTEM, schema="initech", name="Initech", administrator=first)
        except WeirError:
            return "refused"
        finally:
            connection.close()
        return username

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(one, ("ida", "eve")))
    assert found.count("refused") == 1
    (winner,) = set(found) - {"refused"}
    assert list(User.objects.values_list("username", flat=True)) == [winner]
