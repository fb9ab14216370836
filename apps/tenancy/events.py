from dataclasses import dataclass

from apps.kernel.events import Event


@dataclass(frozen=True, slots=True)
class TenantProvisioned(Event):
    schema: str


@dataclass(frozen=True, slots=True)
class SchemaMigrated(Event):
    """The tables of a schema, a tenant's or the provider's, are those of this version."""

    schema: str


@dataclass(frozen=True, slots=True)
class TenantDataDeleted(Event):
    """A tenant's own schema is empty now: what others keep of its words, secrets and files goes too."""

    schema: str
