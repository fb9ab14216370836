"""Versions of assets are copied; by the clock those whose copy broke off."""

from uuid import UUID

from apps.assets.selectors import versions_unfinished
from apps.assets.services.versions import version_follow, versions_tidy
from apps.kernel.actor import SYSTEM
from apps.kernel.planes import in_tenant
from apps.kernel.tasks import provider_task, tenant_task
from apps.tenancy.selectors import tenant_active_list


@tenant_task
def version_copy(schema: str, uid: str) -> None:
    """Copy what a version is to hold. Coming twice changes nothing."""
    version_follow(actor=SYSTEM, uid=UUID(uid))


@tenant_task
def assets_tidy_tenant(schema: str) -> None:
    """Go on with one tenant's copies that broke off."""
    versions_tidy(actor=SYSTEM, follow=lambda uid: version_follow(actor=SYSTEM, uid=uid))


@provider_task
def assets_tidy() -> None:
    """One task for each active tenant that has copies to go on with."""
    for tenant in tenant_active_list():
        with in_tenant(tenant.schema_name):
            is_due = versions_unfinished().exists()
        if is_due:
            assets_tidy_tenant.delay(tenant.schema_name)
