"""Writes that join several apps in one transaction."""

from collections.abc import Mapping

from apps.identity.models import User
from apps.kernel.acts import Actor, act_subject
from apps.kernel.planes import in_tenant
from apps.kernel.service import service
from apps.orgs.selectors import roles_named
from apps.orgs.services.organizations import organization_create
from apps.orgs.services.people import person_make
from apps.scheduling.permissions import SchedulingPermission
from apps.scheduling.services.quota.quotas import quota_set
from apps.tenancy.models import Tenant
from apps.tenancy.permissions import TenancyPermission
from apps.tenancy.services import tenant_provision

# The built-in role that may give every other one.
ADMINISTRATOR = "tenant_system_administrator"


@service(TenancyPermission.MANAGE)
def tenant_open(
    *,
    actor: Actor,
    schema: str,
    name: str,
    username: str,
    display_name: str,
    email: str = "",
    timezone: str = "Asia/Shanghai",
) -> tuple[Tenant, User, str]:
    """A tenant that can be put to use: with its first organization and administrator, and his first password.

    All or nothing; the administrator gives the others their accounts and roles (PLAT-TEN-8, PLAT-TEN-24).
    """
    tenant = tenant_provision(actor=actor, schema=schema, name=name, timezone=timezone)
    with in_tenant(tenant.schema_name):
        organization = organization_create(actor=actor, name=tenant.name)
        user, password = person_make(
            actor=actor,
            username=username,
            display_name=display_name,
            email=email,
            organization=organization,
            roles=roles_named([ADMINISTRATOR]),
        )
    act_subject("tenant", tenant.schema_name, administrator=user.username)
    return tenant, user, password


@service(SchedulingPermission.MANAGE)
def quotas_set(*, actor: Actor, tenant: Tenant, totals: Mapping[str, int]) -> None:
    """Set the quota of several items together, all or none (PLAT-TEN-10); what is not named stays."""
    act_subject("tenant", tenant.schema_name)
    for item, total in sorted(totals.items()):
        quota_set(actor=actor, tenant=tenant, item=item, total=total)
