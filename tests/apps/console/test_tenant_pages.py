"""The operators' pages of tenants: found, looked at, changed, suspended, closed when all is settled, deleted."""

import csv
import io
import zipfile
from decimal import Decimal

import pytest
from django.db.models import Sum
from django.utils import timezone

from apps.audit.models import Record
from apps.billing.models import Bill, RatedItem
from apps.billing.services.ledger import account_deposit, account_open, account_refund
from apps.billing.services.rating import usage_rate
from apps.console.tenants.overview import tenant_figures_put
from apps.identity.models import Membership
from apps.identity.services.operators import operator_role_bind
from apps.kernel.actor import SYSTEM
from apps.kernel.planes import in_tenant
from apps.orgs.models import Organization, TenantRole
from apps.orgs.services.organizations import organization_create
from apps.scheduling.models import Workload
from apps.scheduling.services.queues.queue_settings import queue_ensure
from apps.tenancy.models import Tenant
from apps.tenancy.services import tenant_provision, tenant_suspend
from tests.apps.billing.scene import charge_make, deposit, record
from tests.apps.scheduling.pool import submit

pytestmark = pytest.mark.django_db


def page_of(person, tenant):
    answer = person.page().get(f"/tenants/{tenant.schema_name}/")
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def act(person, tenant, what, **given):
    return person.page().post(f"/tenants/{tenant.schema_name}/{what}/", given)


def said(answer):
    return answer.status_code, " ".join(answer.content.decode().split())


@pytest.fixture
def initech():
    tenant = tenant_provision(actor=SYSTEM, schema="initech", name="Initech")
    account_open(actor=SYSTEM, tenant=tenant)
    with in_tenant("initech"):
        organization_create(actor=SYSTEM, name="Initech head office")
    return tenant


@pytest.fixture
def suspended(initech):
    return tenant_suspend(actor=SYSTEM, tenant=initech, reason="leaves")


@pytest.mark.req("PLAT-TEN-8")
def test_tenants_are_found_by_name_code_and_state(operator, acme, suspended):
    page = operator("executive").page()

    def rows(**asked):
        answer = page.get("/tenants/", asked)
        return [row.schema_name for row in answer.context["rows"]]

    assert rows(search="INITE") == ["initech"]
    assert rows(search=acme.name[:4].lower(), state="active") == ["acme"]
    assert rows(state="suspended") == ["initech"]
    assert rows(search="no such") == []


@pytest.mark.req("PLAT-TEN-8")
def test_the_list_has_each_tenants_people_work_and_money(
    operator, member, initech, acme, globex, django_assert_max_num_queries
):
    member("acme", "tenant_front_line")
    left = member("acme", "tenant_decision_maker")
    Membership.objects.filter(user=left.user).update(left_at=timezone.now())
    account_open(actor=SYSTEM, tenant=acme)
    deposit(acme, "500.00")
    charge = charge_make(globex)
    record(charge, [60, 60])
    usage_rate(actor=SYSTEM)
    spent = RatedItem.objects.aggregate(sum=Sum("exact"))["sum"]
    queue_ensure(actor=SYSTEM)
    running, _waiting = submit(acme), submit(acme)
    Workload.plain.filter(pk=running.pk).update(state="running")

    page = operator("executive").page()
    with django_assert_max_num_queries(14):
        rows = {row.schema_name: row for row in page.get("/tenants/").context["rows"]}
    assert {name: (row.people_count, row.running_count, row.month_cost) for name, row in rows.items()} == {
        "acme": (1, 1, 0),
        "globex": (0, 0, spent),
        "initech": (0, 0, 0),
    }
    assert rows["acme"].balance == Decimal("500.00")
    assert "¥500.00" in " ".join(page.get("/tenants/").content.decode().split())
    held = page.get("/tenants/?export=csv").streaming_content
    lines = list(csv.DictReader(io.StringIO(b"".join(held).decode("utf-8-sig"))))
    assert {line["Name"]: line["People"] for line in lines}[acme.name] == "1"


@pytest.mark.req("PLAT-TEN-8", "PLAT-SEC-4")
def test_the_list_says_nothing_of_what_a_role_may_not_see(operator, acme):
    account_open(actor=SYSTEM, tenant=acme)
    deposit(acme, "500.00")
    someone = operator("cluster_administrator")
    assert not someone.actor.may("billing.view")
    rows = [Tenant.objects.get(schema_name="acme")]
    tenant_figures_put(someone.actor, rows)
    assert (rows[0].month_cost, rows[0].balance) == (None, None)


@pytest.mark.req("PLAT-TEN-9", "PLAT-TEN-13", "PLAT-TEN-4")
def test_a_tenant_shows_its_six_parts_to_who_may_see_them(operator, member, acme):
    member("acme", "tenant_front_line")
    parts = ("overview", "resources", "forms", "money", "people", "systems")
    text = page_of(operator("operations_manager"), acme)
    assert [part for part in parts if f'data-test="tenant-{part}"' not in text] == []
    assert 'href="/t/acme/people/"' in text
    assert 'data-test="account-open"' in text
    assert 'data-test="tenant-life"' not in text
    assert 'data-test="no-money-hint"' in page_of(operator("system_administrator"), acme)


def test_a_tenant_that_can_spend_nothing_says_what_to_do(operator, acme):
    person = operator("operations_manager")
    assert 'data-test="nothing-to-spend"' not in page_of(person, acme)
    act(person, acme, "account")
    assert "credit what it has paid in, or set a credit limit" in page_of(person, acme)
    act(person, acme, "deposit", amount="20", reference="P-1")
    assert 'data-test="nothing-to-spend"' not in page_of(person, acme)


def test_a_tenants_people_do_not_come_in(member, acme):
    page = member("acme", "tenant_system_administrator").page()
    page.defaults["HTTP_HOST"] = "localhost"
    for url in ("/tenants/acme/", "/tenants/acme/archive/"):
        assert page.get(url, headers={"host": "localhost"}).status_code == 403


@pytest.mark.req("PLAT-TEN-8")
def test_name_and_time_zone_change_and_the_code_stays(operator, initech, acme):
    person = operator("system_administrator")
    assert act(person, initech, "change", name="Initech Ltd", timezone="Europe/Berlin").status_code == 302
    initech.refresh_from_db()
    assert (initech.name, initech.timezone, initech.schema_name) == (
        "Initech Ltd",
        "Europe/Berlin",
        "initech",
    )
    status, text = said(act(person, initech, "change", name=acme.name, timezone="UTC"))
    assert status == 400
    assert "already exists" in text
    assert act(operator("front_line"), initech, "change", name="Mine", timezone="UTC").status_code == 403
    answer = person.api().patch("/api/v1/tenants/initech", {"name": "Initech again"})
    assert (answer.status_code, answer.json()["timezone"]) == (200, "Europe/Berlin")
    assert person.api().patch("/api/v1/tenants/initech", {"timezone": "Mars/Olympus"}).status_code == 400


@pytest.mark.req("PLAT-TEN-8")
def test_a_tenant_is_closed_only_when_all_of_it_is_settled(operator, suspended):
    person = operator("system_administrator")
    account_deposit(actor=SYSTEM, tenant=suspended, amount=Decimal("20.00"), reference="D-1")
    queue_ensure(actor=SYSTEM)
    work = submit(suspended)
    shown = page_of(person, suspended)
    assert "1 workload has not ended." in shown
    assert "¥20.00 is to be refunded" in shown
    assert 'data-test="tenant-close"' not in shown
    status, text = said(act(person, suspended, "close"))
    assert status == 409
    assert "1 workload has not ended." in text
    type(work).plain.filter(pk=work.pk).update(state="finished")
    account_refund(actor=SYSTEM, tenant=suspended, amount=Decimal("20.00"), reason="leaves", reference="R-1")
    assert 'data-test="tenant-close"' in page_of(person, suspended)
    assert act(person, suspended, "close").status_code == 302
    suspended.refresh_from_db()
    assert suspended.state == "closed"
    assert "/t/initech/people/" not in page_of(person, suspended)
    assert person.page().get("/t/initech/people/").status_code == 404


@pytest.mark.req("PLAT-TEN-8")
def test_a_closed_tenants_data_are_deleted_and_its_records_stay(operator, suspended):
    person = operator("system_administrator")
    assert act(person, suspended, "delete", code="initech").status_code == 409
    assert act(person, suspended, "close").status_code == 302
    assert act(person, suspended, "delete", code="initech2").status_code == 400
    with in_tenant("initech"):
        assert Organization.objects.count() == 1
    assert person.api().delete("/api/v1/tenants/initech").status_code == 204
    with in_tenant("initech"):
        assert (Organization.objects.count(), TenantRole.objects.count()) == (0, 0)
    suspended.refresh_from_db()
    assert suspended.state == "deleted"
    assert person.api().get("/api/v1/tenants/initech").json()["state"] == "deleted"
    with pytest.raises(Exception, match="already"):
        tenant_provision(actor=SYSTEM, schema="initech", name="Another")
    acts = Record.objects.filter(user=person.user).values_list("name", flat=True)
    assert {"tenant_end", "tenant_delete"} <= set(acts)


@pytest.mark.req("PLAT-TEN-8")
def test_the_records_and_data_of_a_tenant_alone_are_taken_along(operator, member, initech, acme):
    account_deposit(actor=SYSTEM, tenant=initech, amount=Decimal("20.00"), reference="=cmd|' /C calc'!A1")
    person = operator("system_administrator")
    answer = person.page().get("/tenants/initech/archive/")
    archive = zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content)))

    def table(name):
        return list(csv.DictReader(io.StringIO(archive.read(name).decode())))

    assert [row["amount"] for row in table("records/billing_ledgerleg.csv")] == [
        "20.0000000000",
        "-20.0000000000",
    ]
    assert [row["name"] for row in table("data/orgs_organization.csv")] == ["Initech head office"]
    assert _tenants(archive) == {str(initech.pk)}
    text = "".join(archive.read(name).decode() for name in archive.namelist())
    assert "digest" not in text
    assert acme.name not in text
    assert Record.objects.filter(user=person.user, name="tenant_archive_note").count() == 1
    assert operator("executive").page().get(answer.wsgi_request.path).status_code == 403
    assert Bill.objects.of(initech).count() == 0


def _tenants(archive):
    """Whose rows stand in the records."""
    found = set()
    for name in archive.namelist():
        if name.startswith("records/"):
            rows = csv.DictReader(io.StringIO(archive.read(name).decode()))
            found |= {row["tenant_id"] for row in rows if row.get("tenant_id")}
    return found


@pytest.mark.req("PLAT-TEN-28")
def test_an_operator_is_in_the_role_that_was_taken_on_inside_a_tenant_too(operator, acme):
    person = operator("system_administrator")
    operator_role_bind(actor=SYSTEM, user=person.user, role_code="operations_manager")
    page = person.page()
    assert page.get("/").wsgi_request.actor.role == "system_administrator"
    assert page.post("/role/", {"role": "operations_manager"}).status_code == 302
    assert page.get("/t/acme/").wsgi_request.actor.role == "operations_manager"
    assert page.post("/t/acme/role/", {"role": "system_administrator"}).status_code == 302
    assert page.get("/").wsgi_request.actor.role == "system_administrator"
