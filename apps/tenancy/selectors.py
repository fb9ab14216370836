from django.db.models import QuerySet

from apps.kernel.errors import NotFound
from apps.kernel.planes import PUBLIC
from apps.tenancy.models import Domain, Tenant
from apps.tenancy.states import TenantState


def tenant_list() -> QuerySet[Tenant]:
    """All tenants, closed ones too, without the provider's own row."""
    return Tenant.objects.exclude(schema_name=PUBLIC)


def tenant_active_list() -> QuerySet[Tenant]:
    return tenant_list().filter(state=TenantState.ACTIVE)


def tenant_get(schema: str) -> Tenant:
    """The tenant of a schema; NotFound for an unknown or closed one."""
    row = tenant_list().exclude(state=TenantState.CLOSED).filter(schema_name=schema).first()
    if row is None:
        raise NotFound()
    return row


def tenant_by_host(host: str) -> Tenant | None:
    """The tenant that a host name (without port) leads to; None for the provider's own hosts."""
    domain = Domain.objects.select_related("tenant").filter(domain=host.lower()).first()
    return domain.tenant if domain and domain.tenant.state != TenantState.CLOSED else None
