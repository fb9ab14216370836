"""Writes that join several apps in one transaction."""

from collections.abc import Iterable, Mapping

from django.db import transaction

from apps.catalog.services.processes import process_template_import
from apps.centre.models import Centre
from apps.centre.permissions import CentrePermission
from apps.centre.services import MailGiven, centre_open
from apps.centre.setup_token import setup_token_end
from apps.identity.models import User
from apps.identity.operators import operator_role_bind
from apps.identity.services import user_create
from apps.kernel.acts import Actor, act_subject
from apps.kernel.planes import in_tenant
from apps.kernel.service import service
from apps.orgs.selectors import roles_named
from apps.orgs.services.organizations import organization_create
from apps.orgs.services.people import person_make
from apps.scheduling.permissions import SchedulingPermission
from apps.scheduling.services.queues.queue_settings import queue_ensure
from apps.scheduling.services.quota.quotas import quota_set
from apps.tenancy.models import Tenant
from apps.tenancy.permissions import TenancyPermission
from apps.tenancy.services import tenant_provision
from workflows.registry import definition_list

# The built-in role that may give every other one.
ADMINISTRATOR = "tenant_system_administrator"
# Of one person alone: accounts, tenants and nodes by the first, prices, approvals and bills by the second.
FIRST_OPERATOR = ("system_administrator", "operations_manager")


@service(CentrePermission.MANAGE)
def centre_setup(
    *,
    actor: Actor,
    username: str,
    display_name: str,
    password: str,
    language: str,
    timezone: str,
    name: str = "",
    email: str = "",
    mail: MailGiven | None = None,
    roles: Iterable[str] = FIRST_OPERATOR,
) -> tuple[Centre, User]:
    """Open the centre with its first operator, who holds `roles`, a queue for work, and the shipped processes.

    All or nothing, and once: AlreadySetUp for who comes second, InvalidInput for what may not be. The setup token is
    worth nothing any more.
    """
    centre = centre_open(actor=actor, name=name, language=language, timezone=timezone, mail=mail)
    queue_ensure(actor=actor)
    for shipped in definition_list():
        process_template_import(
            actor=actor, key=shipped.key, xml=shipped.xml, name_zh=shipped.name_zh, name_en=shipped.name
        )
    user = user_create(
        actor=actor,
        username=username,
        display_name=display_name,
        password=password,
        email=email,
        is_operator=True,
    )
    for role in roles:
        operator_role_bind(actor=actor, user=user, role_code=role)
    act_subject("user", user.uid, username=user.username)
    transaction.on_commit(setup_token_end)
    return centre, user


@service(TenancyPermission.MANAGE)
def tenant_open(
    *,
    actor: Actor,
    schema: str,
    name: str,
    username: str,
    display_name: str,
    email: str = "",
    timezone: str = "",
) -> tuple[Tenant, User, str]:
    """A tenant that can be put to use: with its first organization and administrator, and his first password.

    All or nothing; the administrator gives the others their accounts and roles (PLAT-TEN-8, PLAT-TEN-24).
    """
    tenant = tenant_provision(actor=actor, schema=schema, name=name, timezone=timezone)
    with in_tenant(tenant.schema_name):
        organization = organization_create(actor=actor, name=tenant.name)
        user, password = person_make(
            actor=actor,
            username=username,
            display_name=display_name,
            email=email,
            organization=organization,
            roles=roles_named([ADMINISTRATOR]),
        )
    act_subject("tenant", tenant.schema_name, administrator=user.username)
    return tenant, user, password


@service(SchedulingPermission.MANAGE)
def quotas_set(*, actor: Actor, tenant: Tenant, totals: Mapping[str, int]) -> None:
    """Set the quota of several items together, all or none (PLAT-TEN-10); what is not named stays."""
    act_subject("tenant", tenant.schema_name)
    for item, total in sorted(totals.items()):
        quota_set(actor=actor, tenant=tenant, item=item, total=total)
