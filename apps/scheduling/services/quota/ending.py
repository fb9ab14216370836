"""A quota of a tenant is taken away."""

from django.utils.translation import gettext as _

from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.kernel.service import service
from apps.scheduling.models import TenantQuota
from apps.scheduling.permissions import SchedulingPermission as P
from apps.scheduling.states import QuotaItem
from apps.tenancy.models import Tenant


@service(P.MANAGE)
def quota_remove(*, actor: Actor, tenant: Tenant, item: str, model: str = "") -> None:
    """Without a quota of an item a tenant is given no more of it; what it holds stays (ELA-306, ELA-307). Without one
    of a `model` only the quota of the whole bounds it there (ELA-308).

    Raises NotFound where there is none, Conflict while organizations have some of it.
    """
    if item not in QuotaItem.values:
        named = ", ".join(QuotaItem.values)
        raise InvalidInput(_("A quota is one of %(items)s.") % {"items": named}, fields={"item": item})
    act_subject("tenant", tenant.schema_name, item=item, **({"model": model} if model else {}))
    row = TenantQuota.plain.select_for_update().filter(tenant=tenant, item=item, model=model).first()
    if row is None:
        raise NotFound()
    if row.allocated:
        raise Conflict(
            _("%(allocated)s are allocated to organizations.") % {"allocated": row.allocated},
            cure=_("Take some back first."),
        )
    row.delete()
