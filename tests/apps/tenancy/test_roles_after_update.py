"""An update brings the built-in roles of both sides to what the new version says."""

import pytest
from django.core.management import call_command

from apps.audit.models import Record
from apps.identity.models import OperatorRole
from apps.identity.services.operators import operator_roles_sync
from apps.kernel.actor import SYSTEM
from apps.kernel.planes import in_tenant
from apps.kernel.reach import EVERYTHING
from apps.orgs.models import TenantRole
from apps.orgs.services.roles import scope_fields
from portal.roles import OPERATOR_ROLES, TENANT_ROLES

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-TEN-30", "PLAT-TEN-34")]


def update(schema):
    call_command("migrate_schemas", schema_name=schema, verbosity=0, interactive=False)


def synced(act):
    return Record.objects.filter(name=act).count()


def test_built_in_roles_of_operators_follow_an_update_and_own_ones_stay():
    operator_roles_sync(actor=SYSTEM, roles=OPERATOR_ROLES)
    OperatorRole.objects.filter(code="front_line").update(permissions=["fleet.view"])
    OperatorRole.objects.filter(code="executive").delete()
    own = OperatorRole.objects.create(code="own", name_en="Own", name_zh="自有", permissions=["fleet.view"])
    before = synced("operator_roles_sync")
    for _again in range(2):
        update("public")
        assert {row.code: set(row.permissions) for row in OperatorRole.objects.filter(is_builtin=True)} == {
            role.code: set(role.permissions) for role in OPERATOR_ROLES
        }
    own.refresh_from_db()
    assert own.permissions == ["fleet.view"]
    assert synced("operator_roles_sync") == before + 1


def test_built_in_roles_of_a_tenant_follow_an_update_with_whose_records_they_reach():
    decides = next(role for role in TENANT_ROLES if role.code == "tenant_decision_maker")
    with in_tenant("acme"):
        TenantRole.objects.filter(code=decides.code).update(
            permissions=["catalog.view"], **scope_fields(EVERYTHING)
        )
    before = synced("roles_sync")
    for _again in range(2):
        update("acme")
        with in_tenant("acme"):
            row = TenantRole.objects.get(code=decides.code)
            assert set(row.permissions) == decides.permissions
            assert {name: getattr(row, name) for name in scope_fields(decides.data)} == scope_fields(
                decides.data
            )
    assert synced("roles_sync") == before + 1


def test_a_database_in_which_no_centre_was_set_up_gets_no_roles_by_migrating():
    OperatorRole.objects.all().delete()
    update("public")
    assert not OperatorRole.objects.exists()
