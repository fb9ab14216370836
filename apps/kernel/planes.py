"""The two planes: fields, managers and contexts that keep provider and tenant rows apart."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from django.db import connection, models
from django_tenants.utils import get_tenant_model, schema_context

M = TypeVar("M", bound=models.Model)
PUBLIC = "public"


class SharedForeignKey(models.ForeignKey):
    """Tenant row to provider row: a real database constraint, nothing done on delete, no way back.

    A cascading key would make the public context look for tenant tables it cannot see.
    """

    def __init__(self, to: Any, **kwargs: Any) -> None:
        kwargs["on_delete"] = models.DO_NOTHING
        kwargs["related_name"] = "+"
        kwargs["db_constraint"] = True
        super().__init__(to, **kwargs)


class PlaneError(RuntimeError):
    """A programming error: rows were asked for without saying whose."""


class ProviderManager(models.Manager, Generic[M]):
    """`objects` of a provider model that holds several tenants' rows: say whose, or say all."""

    def get_queryset(self) -> models.QuerySet[M]:
        raise PlaneError(
            f"{self.model.__name__}.objects: use .of(tenant) or, on the provider's side, .across()"
        )

    def of(self, tenant: str | models.Model) -> models.QuerySet[M]:
        """The rows of one tenant, given as a Tenant or a schema name."""
        rows = self.model._base_manager.all()
        if isinstance(tenant, str):
            return rows.filter(tenant__schema_name=tenant)
        return rows.filter(tenant=tenant)

    def across(self) -> models.QuerySet[M]:
        """The rows of all tenants: provider-side code and services only."""
        return self.model._base_manager.all()


class TenantOwned(models.Model):
    """A provider row that belongs to one tenant and outlives its schema."""

    tenant = models.ForeignKey("tenancy.Tenant", on_delete=models.PROTECT, related_name="+")

    plain = models.Manager()
    objects = ProviderManager()

    class Meta:
        abstract = True
        default_manager_name = "plain"
        base_manager_name = "plain"


def current_schema() -> str:
    return connection.schema_name


@contextmanager
def in_tenant(schema: str) -> Iterator[None]:
    """Run inside a tenant's schema (tenant, public); back to where it was afterwards."""
    with schema_context(schema):
        yield


@contextmanager
def in_public() -> Iterator[None]:
    with schema_context(PUBLIC):
        yield


def current_tenant() -> Any:
    """The Tenant row whose schema is current. Raises PlaneError on the provider plane."""
    schema = current_schema()
    if schema == PUBLIC:
        raise PlaneError("no tenant is current")
    return get_tenant_model().objects.get(schema_name=schema)
