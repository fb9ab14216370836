"""What is kept of a tenant's work, when that tenant's data are deleted."""

from django.db.models import F

from apps.kernel.actor import Actor, act_subject
from apps.kernel.service import service
from apps.scheduling.models import (
    Decision,
    Environment,
    HookCall,
    OrganizationQuota,
    QuotaOrganization,
    ResourceTicket,
    ServiceKey,
    Workload,
    WorkloadArray,
)
from apps.tenancy.models import Tenant


@service(recorded=False)
def tenant_workloads_forget(*, actor: Actor, tenant: Tenant) -> None:
    """Of a tenant's workloads only their numbers, amounts, places and times stay; how they were called, what they ran
    and what was decided on them goes, and so do its environments, its resource tickets, calls of hooks about them and
    the quota of its organizations."""
    act_subject("tenant", tenant.schema_name)
    rows = Workload.plain.filter(tenant=tenant)
    Decision.objects.filter(workload__tenant=tenant).delete()
    rows.update(
        name_en=F("no"), name_zh=F("no"), work={}, secrets={}, labels={}, pins={}, reason={}, client_key="",
        folder="", outputs=None, affinity="", anti_affinity="", environment=None, organization=None,
    )  # fmt: skip
    WorkloadArray.plain.filter(tenant=tenant).update(name=F("no"), stop_reason="")
    Environment.plain.filter(tenant=tenant).delete()
    ResourceTicket.plain.filter(tenant=tenant).delete()
    ServiceKey.plain.filter(tenant=tenant).delete()
    HookCall.objects.filter(schema=tenant.schema_name).delete()
    OrganizationQuota.plain.filter(tenant=tenant).delete()
    QuotaOrganization.plain.filter(tenant=tenant).delete()
