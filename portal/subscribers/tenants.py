"""What follows when the centre opens, when a tenant comes, and when somebody leaves one."""

from django.utils.translation import gettext as _

from apps.approvals.selectors import waits_for_role
from apps.centre.events import CentreOpened
from apps.identity.events import MembershipEnded
from apps.identity.selectors import user_get
from apps.identity.services.operators import operator_roles_sync
from apps.kernel.actor import Actor
from apps.kernel.errors import Conflict
from apps.kernel.planes import in_tenant
from apps.orgs.events import RoleDeleted
from apps.orgs.services.roles import person_gone, roles_sync
from apps.scheduling.services.quota.quotas import quota_defaults
from apps.tenancy.events import TenantProvisioned
from apps.tenancy.selectors import tenant_get
from portal.roles import OPERATOR_ROLES, TENANT_ROLES


def new_centre(event: CentreOpened, actor: Actor) -> None:
    """Its operators have their roles before there is the first of them."""
    operator_roles_sync(actor=actor, roles=OPERATOR_ROLES)


def new_tenant(event: TenantProvisioned, actor: Actor) -> None:
    """It has its roles and a quota from the first moment."""
    with in_tenant(event.schema):
        roles_sync(actor=actor, roles=TENANT_ROLES)
    quota_defaults(actor=actor, tenant=tenant_get(event.schema))


def membership_ended(event: MembershipEnded, actor: Actor) -> None:
    """Whoever has left holds nothing there any more."""
    with in_tenant(event.schema):
        person_gone(actor=actor, user=user_get(event.user_id))


def role_deleted(event: RoleDeleted, actor: Actor) -> None:
    """A task that waits for people of this role keeps it."""
    if waits_for_role(event.code):
        raise Conflict(
            _("A process waits for somebody with this role."),
            cure=_("Let it be decided first, or withdrawn."),
        )
