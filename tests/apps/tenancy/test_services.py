import pytest
from django.db import IntegrityError, connection, transaction

from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Forbidden, InvalidInput
from apps.kernel.flow import MoveRefused
from apps.kernel.planes import in_tenant
from apps.orgs.models import TenantRole
from apps.tenancy.models import Domain, Tenant
from apps.tenancy.services import tenant_close, tenant_provision, tenant_resume, tenant_suspend
from portal.roles import TENANT_ROLES

pytestmark = pytest.mark.django_db


def schemas():
    with connection.cursor() as cursor:
        cursor.execute("SELECT nspname FROM pg_namespace")
        return {name for (name,) in cursor.fetchall()}


@pytest.mark.req("PLAT-TEN-8")
def test_provisioning_makes_schema_host_and_roles(operator):
    tenant = tenant_provision(actor=operator("system_administrator").actor, schema="initech", name="Initech")
    assert "initech" in schemas()
    assert tenant.domains.get().domain == "initech.localhost"
    with in_tenant("initech"):
        assert {role.code for role in TenantRole.objects.all()} == {role.code for role in TENANT_ROLES}


@pytest.mark.parametrize(
    "schema", ["", "A", "public", "pg_x", "acme", "1abc", "a" * 40, "drop;table", "pgfoo"]
)
def test_bad_codes_are_refused_and_leave_nothing(schema):
    before = schemas()
    with pytest.raises(InvalidInput):
        tenant_provision(actor=SYSTEM, schema=schema, name="Somebody else")
    assert schemas() == before
    assert not Tenant.objects.filter(name="Somebody else").exists()


@pytest.mark.parametrize(
    "wrong", [{"name": "Acme Research"}, {"name": ""}, {"name": "X", "timezone": "Mars"}]
)
def test_wrong_names_and_zones_are_named_and_leave_nothing(wrong):
    with pytest.raises(InvalidInput) as refusal:
        tenant_provision(actor=SYSTEM, schema="initech", **wrong)
    assert set(refusal.value.fields) & {"name", "timezone"}
    assert "initech" not in schemas()


def test_a_failure_half_way_leaves_neither_row_nor_schema():
    Domain.objects.create(domain="initech.localhost", tenant=Tenant.objects.get(schema_name="acme"))
    with pytest.raises(IntegrityError), transaction.atomic():
        tenant_provision(actor=SYSTEM, schema="initech", name="Initech")
    assert "initech" not in schemas()
    assert not Tenant.objects.filter(schema_name="initech").exists()


@pytest.mark.req("PLAT-TEN-8")
def test_suspend_resume_close(operator):
    admin = operator("system_administrator").actor
    tenant = tenant_provision(actor=admin, schema="initech", name="Initech")
    with pytest.raises(MoveRefused):
        tenant_close(actor=admin, tenant=tenant)
    tenant_suspend(actor=admin, tenant=tenant)
    tenant_resume(actor=admin, tenant=tenant)
    tenant_suspend(actor=admin, tenant=tenant)
    tenant_close(actor=admin, tenant=tenant)
    assert "initech" in schemas()


def test_only_who_may_provisions(operator, member):
    for person in (operator("operations_manager"), member("acme", "tenant_system_administrator")):
        with pytest.raises(Forbidden):
            tenant_provision(actor=person.actor, schema="initech", name="Initech")
