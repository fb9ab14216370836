"""What follows when the centre opens, when a tenant comes, when its data are deleted, and when somebody leaves it."""

from django.utils.translation import gettext as _

from apps.approvals.selectors import waits_for_role
from apps.cases.services import tenant_cases_forget
from apps.centre.events import CentreOpened
from apps.fleet.services.tenant_data import tenant_slices_forget
from apps.identity.events import MembershipEnded, TokensEnded
from apps.identity.selectors import user_get
from apps.identity.services.operators import operator_roles_follow, operator_roles_sync
from apps.identity.services.tokens import tenant_tokens_revoke
from apps.images.services.images import tenant_images_forget
from apps.jointcloud.services.tenant_data import tenant_jobs_forget
from apps.kernel.actor import Actor
from apps.kernel.errors import Conflict
from apps.kernel.planes import PUBLIC, in_tenant
from apps.notices.services import tenant_messages_forget
from apps.orgs.events import RoleDeleted
from apps.orgs.services.roles import person_gone, roles_follow, roles_sync
from apps.scheduling.services.quota.quotas import quota_defaults
from apps.scheduling.services.workloads.tenant_data import tenant_workloads_forget
from apps.storage.services.access_keys import access_keys_revoke
from apps.telemetry.services.logs import tenant_log_forget
from apps.tenancy.events import SchemaMigrated, TenantDataDeleted, TenantProvisioned
from apps.tenancy.selectors import tenant_get, tenant_shown
from portal.roles import OPERATOR_ROLES, TENANT_ROLES


def new_centre(event: CentreOpened, actor: Actor) -> None:
    """Its operators have their roles before there is the first of them."""
    operator_roles_sync(actor=actor, roles=OPERATOR_ROLES)


def schema_migrated(event: SchemaMigrated, actor: Actor) -> None:
    """The built-in roles may do what they may in this version, from the update on."""
    if event.schema == PUBLIC:
        operator_roles_follow(actor=actor, roles=OPERATOR_ROLES)
    else:
        with in_tenant(event.schema):
            roles_follow(actor=actor, roles=TENANT_ROLES)


def new_tenant(event: TenantProvisioned, actor: Actor) -> None:
    """It has its roles and a quota from the first moment."""
    with in_tenant(event.schema):
        roles_sync(actor=actor, roles=TENANT_ROLES)
    quota_defaults(actor=actor, tenant=tenant_get(event.schema))


def data_deleted(event: TenantDataDeleted, actor: Actor) -> None:
    """What the provider's apps keep of its words, secrets and output goes; what bills rest on stays."""
    tenant = tenant_shown(event.schema)
    tenant_tokens_revoke(actor=actor, tenant=tenant)
    tenant_messages_forget(actor=actor, tenant=tenant)
    tenant_log_forget(actor=actor, schema=event.schema)
    tenant_cases_forget(actor=actor, schema=event.schema)
    tenant_images_forget(actor=actor, tenant=tenant)
    tenant_workloads_forget(actor=actor, tenant=tenant)
    tenant_jobs_forget(actor=actor, tenant=tenant)
    tenant_slices_forget(actor=actor, tenant=tenant)


def membership_ended(event: MembershipEnded, actor: Actor) -> None:
    """Whoever has left holds nothing there any more."""
    with in_tenant(event.schema):
        person_gone(actor=actor, user=user_get(event.user_id))


def tokens_ended(event: TokensEnded, actor: Actor) -> None:
    """His access keys end with his tokens."""
    for schema in event.schemas:
        with in_tenant(schema):
            access_keys_revoke(actor=actor, user_id=event.user_id)


def role_deleted(event: RoleDeleted, actor: Actor) -> None:
    """A task that waits for people of this role keeps it."""
    if waits_for_role(event.code):
        raise Conflict(
            _("A process waits for somebody with this role."),
            cure=_("Let it be decided first, or withdrawn."),
        )
