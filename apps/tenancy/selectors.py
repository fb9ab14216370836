from django.db.models import OuterRef, Q, QuerySet, Subquery

from apps.kernel.errors import NotFound
from apps.kernel.planes import PUBLIC
from apps.tenancy.models import Domain, Tenant
from apps.tenancy.states import ENDED, TenantState


def tenant_list() -> QuerySet[Tenant]:
    """All tenants, closed ones too, without the provider's own row."""
    rows: QuerySet[Tenant] = Tenant.objects.exclude(schema_name=PUBLIC)
    return rows


def tenant_active_list() -> QuerySet[Tenant]:
    return tenant_list().filter(state=TenantState.ACTIVE)


def tenant_get(schema: str) -> Tenant:
    """The tenant of a schema; NotFound for an unknown or ended one."""
    row = tenant_list().exclude(state__in=ENDED).filter(schema_name=schema).first()
    if row is None:
        raise NotFound()
    return row


def tenant_find(*, search: str = "", state: str = "") -> QuerySet[Tenant]:
    """Tenants whose name or code holds the words, in a state or in any; `host` is the name that opens the portal."""
    primary = Domain.objects.filter(tenant=OuterRef("pk"), is_primary=True)
    rows: QuerySet[Tenant] = tenant_list().annotate(host=Subquery(primary.values("domain")[:1]))
    if search:
        rows = rows.filter(Q(name__icontains=search) | Q(schema_name__icontains=search))
    if state:
        rows = rows.filter(state=state)
    return rows


def tenant_shown(schema: str) -> Tenant:
    """The tenant of a schema for its operators, ended ones too; NotFound for an unknown one."""
    row = tenant_find().filter(schema_name=schema).first()
    if row is None:
        raise NotFound()
    return row


def tenant_by_host(host: str) -> Tenant | None:
    """The tenant that a host name (without port) leads to; None for the provider's own hosts."""
    domain = Domain.objects.select_related("tenant").filter(domain=host.lower()).first()
    return domain.tenant if domain and domain.tenant.state not in ENDED else None
