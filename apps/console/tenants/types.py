"""What a new tenant begins with, and what was made of that."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from apps.kernel.money import ZERO
from apps.orgs.services.invitation_mails import MailPortal
from apps.tenancy.models import Tenant


@dataclass(frozen=True, slots=True)
class FirstAdministrator:
    """Who gives the tenant's other people their accounts and roles. Without a `username` he is invited by a link: shown
    once, or sent to his e-mail where `mail_portal` says what the link of the new tenant begins with."""

    display_name: str
    email: str = ""
    username: str = ""
    mail_portal: Callable[[Tenant], MailPortal] | None = field(default=None, repr=False)


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
    an invitation that is valid until `expires_at`: its link's secret, shown once, or `mailed_to` where that is sent."""

    tenant: Tenant
    host: str
    username: str = ""
    password: str = field(default="", repr=False)
    secret: str = field(default="", repr=False)
    mailed_to: str = ""
    expires_at: datetime | None = None
