"""Writes that join several apps in one transaction."""

from collections.abc import Mapping

from apps.kernel.acts import Actor, act_subject
from apps.kernel.service import service
from apps.scheduling.permissions import SchedulingPermission
from apps.scheduling.services.quota import quota_set
from apps.tenancy.models import Tenant


@service(SchedulingPermission.MANAGE)
def quotas_set(*, actor: Actor, tenant: Tenant, totals: Mapping[str, int]) -> None:
    """Set the quota of several items together, all or none (PLAT-TEN-10); what is not named stays."""
    act_subject("tenant", tenant.schema_name)
    for item, total in sorted(totals.items()):
        quota_set(actor=actor, tenant=tenant, item=item, total=total)
