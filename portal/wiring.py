"""Every upward edge of the product, on one page.

`within(Event, handler)`: in the same transaction. `after(Event, handler)`: a hint after commit; beside each stands
the sweep that finds what a lost hint left behind.
"""

from apps.audit.services import act_record
from apps.kernel.acts import Actor
from apps.kernel.planes import in_tenant
from apps.kernel.wiring import recorder, within
from apps.orgs.services import roles_sync
from apps.tenancy.events import TenantProvisioned
from portal.roles import TENANT_ROLES

recorder(act_record)


def _roles_of_new_tenant(event: TenantProvisioned, actor: Actor) -> None:
    with in_tenant(event.schema):
        roles_sync(actor=actor, roles=TENANT_ROLES)


within(TenantProvisioned, _roles_of_new_tenant)
