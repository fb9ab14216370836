"""What follows when a tenant comes, and when somebody leaves one."""

from apps.identity.events import MembershipEnded
from apps.kernel.acts import Actor
from apps.kernel.planes import in_tenant
from apps.orgs.services import roles_sync, roles_unbind_all
from apps.scheduling.services.quota import quota_defaults
from apps.tenancy.events import TenantProvisioned
from apps.tenancy.selectors import tenant_get
from portal.roles import TENANT_ROLES


def new_tenant(event: TenantProvisioned, actor: Actor) -> None:
    """It has its roles and a quota from the first moment."""
    with in_tenant(event.schema):
        roles_sync(actor=actor, roles=TENANT_ROLES)
    quota_defaults(actor=actor, tenant=tenant_get(event.schema))


def membership_ended(event: MembershipEnded, actor: Actor) -> None:
    """Whoever has left holds no role there any more."""
    with in_tenant(event.schema):
        roles_unbind_all(actor=actor, user_id=event.user_id)
