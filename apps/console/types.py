"""What a new tenant begins with, as pages and API ask for it, and what was made of that."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from apps.kernel.money import ZERO
from apps.tenancy.models import Tenant


@dataclass(frozen=True, slots=True)
class FirstAdministrator:
    """Who gives the tenant's other people their accounts and roles. Without a `username` he is invited by a link."""

    display_name: str
    email: str = ""
    username: str = ""


@dataclass(frozen=True, slots=True)
class BusinessSystemGiven:
    name: str
    number: str


@dataclass(frozen=True, slots=True)
class TenantBeginning:
    """What may come with a tenant: totals of its quota by item (the defaults where none is named), a money account
    with its credit limit, a queue that admits it alone, a business system."""

    quota: Mapping[str, int] = field(default_factory=dict)
    has_account: bool = False
    credit_limit: Decimal = ZERO
    has_queue: bool = False
    business_system: BusinessSystemGiven | None = None


@dataclass(frozen=True, slots=True)
class TenantOpened:
    """A new tenant, and how its administrator comes in: either `password`, shown once, of the account `username`, or
    the secret of an invitation link, shown once, that is valid until `expires_at`."""

    tenant: Tenant
    host: str
    username: str = ""
    password: str = field(default="", repr=False)
    secret: str = field(default="", repr=False)
    expires_at: datetime | None = None
