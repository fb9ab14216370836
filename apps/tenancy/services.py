"""Provision, change, suspend, resume and close tenants, and delete what a closed one has left."""

import re

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from apps.centre.selectors import centre_shown
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import InvalidInput, NotFound
from apps.kernel.events import emit
from apps.kernel.planes import in_public
from apps.kernel.service import service
from apps.tenancy.events import TenantDataDeleted, TenantProvisioned
from apps.tenancy.models import Domain, Tenant
from apps.tenancy.permissions import TenancyPermission as P
from apps.tenancy.schema_template import schema_empty, schema_make
from apps.tenancy.states import FLOW, TenantState

# Who may say what bills call the tenant: who pays them and who runs its organizations, and operators who manage it.
BUYER_RIGHTS = (P.MANAGE, "billing.pay", "orgs.manage")
_SCHEMA = re.compile(r"[a-z][a-z0-9]{1,30}")
_RESERVED = {"public", "www", "api", "admin", "static", "information", "env", "s3"}


@service(P.MANAGE)
def tenant_provision(*, actor: Actor, schema: str, name: str, timezone: str = "") -> Tenant:
    """Make a tenant with its schema, tables and host name, all or nothing (PLAT-TEN-8).

    `schema` is also the first label of its host name: 2 to 31 lower-case letters and digits. Without a `timezone` it
    counts its days as the centre does.
    """
    _schema_check(schema)
    with in_public():
        tenant = Tenant(schema_name=schema, name=name.strip(), timezone=timezone or centre_shown().timezone)
        _fields_check(tenant)
        _save_new(tenant)
        Domain.objects.create(
            tenant=tenant, domain=f"{schema}.{settings.WEIR_TENANT_DOMAIN}", is_primary=True
        )
        schema_make(schema)
        act_subject("tenant", schema)
        emit(TenantProvisioned(schema=schema), actor=actor)
    return tenant


def _save_new(tenant: Tenant) -> None:
    try:
        with transaction.atomic():
            tenant.save()
    except IntegrityError:
        # Somebody took the code or the name between the look and the write.
        _schema_check(tenant.schema_name)
        _fields_check(tenant)
        raise


def _fields_check(tenant: Tenant) -> None:
    try:
        tenant.full_clean()
    except ValidationError as error:
        fields = {name: " ".join(texts) for name, texts in error.message_dict.items()}
        raise InvalidInput(fields=fields) from error


def _schema_check(schema: str) -> None:
    if not _SCHEMA.fullmatch(schema) or schema in _RESERVED or schema.startswith("pg"):
        reason = _(
            "The code must be 2 to 31 lower-case letters and digits, begin with a letter, and not be reserved."
        )
        raise InvalidInput(reason, fields={"schema": reason})
    if Tenant.objects.filter(schema_name=schema).exists():
        reason = _("There is already a tenant %(schema)s.") % {"schema": schema}
        raise InvalidInput(reason, fields={"schema": reason}, cure=_("Choose another code."))


@service(P.MANAGE)
def tenant_change(*, actor: Actor, tenant: Tenant, name: str, timezone: str) -> Tenant:
    """Another name or time zone; its code and address stay (PLAT-TEN-8). Days already billed stay billed."""
    act_subject("tenant", tenant.schema_name)
    tenant.name, tenant.timezone = name.strip(), timezone
    _fields_check(tenant)
    try:
        with transaction.atomic():
            tenant.save(update_fields=["name", "timezone", "updated_at"])
    except IntegrityError:
        # Somebody took the name between the look and the write.
        _fields_check(tenant)
        raise
    return tenant


@service()
def tenant_buyer_set(
    *, actor: Actor, tenant: Tenant, legal_name: str, address: str, tax_number: str
) -> Tenant:
    """What bills that are made from now on say of their buyer; what is empty is left out. Bills that are there stay as
    they were made.

    For operators who manage tenants, and for the tenant's own people who pay its bills or manage its organizations.
    Raises NotFound for another tenant's people, Forbidden without such a right.
    """
    if actor.tenant and actor.tenant != tenant.schema_name:
        raise NotFound()
    actor.require_any(*BUYER_RIGHTS)
    act_subject("tenant", tenant.schema_name, legal_name=legal_name, tax_number=tax_number)
    tenant.legal_name, tenant.address = " ".join(legal_name.split()), " ".join(address.split())
    tenant.tax_number = " ".join(tax_number.split())
    _fields_check(tenant)
    tenant.save(update_fields=["legal_name", "address", "tax_number", "updated_at"])
    return tenant


@service(P.MANAGE)
def tenant_suspend(*, actor: Actor, tenant: Tenant, reason: str = "") -> Tenant:
    """Shut the tenant out: nobody of it signs in, its running work is left to the operators (PLAT-TEN-8)."""
    act_subject("tenant", tenant.schema_name, reason=reason)
    FLOW.move(tenant, TenantState.SUSPENDED, actor=actor)
    return tenant


@service(P.MANAGE)
def tenant_resume(*, actor: Actor, tenant: Tenant) -> Tenant:
    act_subject("tenant", tenant.schema_name)
    FLOW.move(tenant, TenantState.ACTIVE, actor=actor)
    return tenant


@service(P.MANAGE)
def tenant_close(*, actor: Actor, tenant: Tenant) -> Tenant:
    """End a suspended tenant for good: nobody comes in any more. Its data stay until they are deleted."""
    act_subject("tenant", tenant.schema_name)
    FLOW.move(tenant, TenantState.CLOSED, actor=actor)
    return tenant


@service(P.MANAGE)
def tenant_delete(*, actor: Actor, tenant: Tenant) -> Tenant:
    """Delete a closed tenant's own data for good: organizations, forms, orders, tickets, roles, files, secrets, and
    what its work ran and printed (PLAT-TEN-8).

    What bills rest on stays: bills, the ledger, metering records, how much ran when, the operation log. So does the
    code, which no other tenant can take. An empty schema stands in place of the old one: what walks all tenants finds
    it.
    """
    act_subject("tenant", tenant.schema_name)
    FLOW.move(tenant, TenantState.DELETED, actor=actor)
    schema_empty(tenant.schema_name)
    emit(TenantDataDeleted(schema=tenant.schema_name), actor=actor)
    return tenant
