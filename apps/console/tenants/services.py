"""What is done to a tenant as a whole: opened with all that it begins with, limited, closed, archived."""

from collections.abc import Mapping
from typing import IO, Any

from django.utils.translation import gettext as _

from apps.billing.services.ledger import account_open, credit_limit_set
from apps.console.tenants.archive import tenant_archive
from apps.console.tenants.overview import tenant_lasting
from apps.console.tenants.types import BusinessSystemGiven, FirstAdministrator, TenantBeginning, TenantOpened
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput
from apps.kernel.planes import in_tenant
from apps.kernel.service import service
from apps.orgs.models import Organization
from apps.orgs.selectors.roles import roles_named
from apps.orgs.services.business_systems import business_system_create
from apps.orgs.services.invitations import invitation_make
from apps.orgs.services.organizations import organization_create
from apps.orgs.services.people import person_make
from apps.scheduling.permissions import SchedulingPermission
from apps.scheduling.services.queues.queue_settings import queue_make
from apps.scheduling.services.quota.quotas import quota_set
from apps.tenancy.models import Tenant
from apps.tenancy.permissions import TenancyPermission
from apps.tenancy.services import tenant_close, tenant_provision

_NOTHING_MORE = TenantBeginning()
# The built-in role that may give every other one.
ADMINISTRATOR = "tenant_system_administrator"


@service(TenancyPermission.MANAGE)
def tenant_open(
    *,
    actor: Actor,
    schema: str,
    name: str,
    administrator: FirstAdministrator,
    timezone: str = "",
    beginning: TenantBeginning = _NOTHING_MORE,
) -> TenantOpened:
    """A tenant that can be put to use: with its first organization and administrator, and what it begins with.

    All or nothing; the administrator gives the others their accounts and roles (PLAT-TEN-8, PLAT-TEN-24). Forbidden
    where the actor may not make something that the tenant is to begin with.
    """
    tenant = tenant_provision(actor=actor, schema=schema, name=name, timezone=timezone)
    with in_tenant(schema):
        organization = organization_create(actor=actor, name=tenant.name)
        way_in = _administrator_make(actor, administrator, organization, tenant)
        if beginning.business_system is not None:
            _business_system_make(actor, beginning.business_system, organization)
    if beginning.quota:
        quotas_set(actor=actor, tenant=tenant, totals=beginning.quota)
    if beginning.has_account:
        account_open(actor=actor, tenant=tenant)
        if beginning.credit_limit:
            credit_limit_set(
                actor=actor,
                tenant=tenant,
                amount=beginning.credit_limit,
                reason=str(_("agreed when it was opened")),
            )
    elif beginning.credit_limit:
        raise InvalidInput(fields={"credit_limit": _("Credit needs an account: open one with it.")})
    if beginning.has_queue:
        title = tenant.name[:80]
        queue_make(actor=actor, code=schema, name_en=title, name_zh=title, changes={}, tenants=[tenant])
    act_subject("tenant", schema, administrator=administrator.username or administrator.display_name)
    return TenantOpened(tenant, tenant.get_primary_domain().domain, **way_in)


def _administrator_make(
    actor: Actor, given: FirstAdministrator, organization: Organization, tenant: Tenant
) -> dict[str, Any]:
    """How the first administrator comes in: by an account with a first password, or by an invitation, which is shown
    or mailed."""
    roles = roles_named([ADMINISTRATOR])
    if given.username:
        user, password = person_make(
            actor=actor,
            username=given.username,
            display_name=given.display_name,
            email=given.email,
            organization=organization,
            roles=roles,
        )
        return {"username": user.username, "password": password}
    invitation, secret = invitation_make(
        actor=actor,
        display_name=given.display_name,
        email=given.email,
        organization=organization,
        roles=roles,
        by_mail=given.mail_portal(tenant) if given.mail_portal else None,
    )
    mailed_to = "" if secret else invitation.email
    return {"secret": secret, "mailed_to": mailed_to, "expires_at": invitation.expires_at}


def _business_system_make(actor: Actor, given: BusinessSystemGiven, organization: Organization) -> None:
    try:
        business_system_create(actor=actor, name=given.name, number=given.number, organization=organization)
    except InvalidInput as error:
        # The tenant has a name, too: these are the business system's.
        fields = {f"business_system.{field}": text for field, text in error.fields.items()}
        raise InvalidInput(fields=fields) from error


@service(SchedulingPermission.MANAGE)
def quotas_set(*, actor: Actor, tenant: Tenant, totals: Mapping[str, int]) -> None:
    """Set the quota of several items together, all or none (PLAT-TEN-10); what is not named stays."""
    act_subject("tenant", tenant.schema_name)
    for item, total in sorted(totals.items()):
        quota_set(actor=actor, tenant=tenant, item=item, total=total)


@service(TenancyPermission.MANAGE)
def tenant_end(*, actor: Actor, tenant: Tenant) -> Tenant:
    """Close a suspended tenant for good, once nothing of it runs and its money is settled (PLAT-TEN-8).

    Raises:
        Conflict: something has not ended or is not paid; the text says what.
    """
    lasting = tenant_lasting(tenant)
    if lasting:
        raise Conflict(" ".join(lasting), cure=_("Settle what is named, then close it."))
    return tenant_close(actor=actor, tenant=tenant)


def tenant_archive_take(*, actor: Actor, tenant: Tenant) -> IO[bytes]:
    """All that is kept of a tenant as a ZIP archive; that it was taken is on record before it is."""
    tenant_archive_note(actor=actor, tenant=tenant)
    return tenant_archive(tenant)


@service(TenancyPermission.MANAGE)
def tenant_archive_note(*, actor: Actor, tenant: Tenant) -> None:
    act_subject("tenant", tenant.schema_name)
