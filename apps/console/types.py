"""What a new tenant begins with and what was made of that, and what a commodity is to say, as pages ask for it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from apps.catalog.states import CardUse
from apps.catalog.types import ComponentRange
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


@dataclass(frozen=True, slots=True)
class CommodityDraft:
    """What a commodity is to say, as its page asks for it: things by their codes, durations in seconds, memory in MiB.

    `texts` are its names, introductions, supplier and icon; `argv` and `env` what work or a service runs, `service` how
    that is reached and kept alive, `image` the version of an image of the centre that it runs in, `environment` the
    template that an environment is, `ranges` how much of each component may be ordered.
    With `is_own_program` the buyer says what work runs. Of a specification or a MIG
    profile share and memory are its own, of a whole card those of the card's model.
    """

    kind: str
    category: str
    process_app: str
    termination_app: str
    texts: Mapping[str, str]
    min_duration_s: int
    max_duration_s: int
    max_count: int = 1
    is_open_ended: bool = False
    number: str = ""
    argv: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    environment: str = ""
    is_own_program: bool = False
    image: str = ""
    service: Mapping[str, Any] | None = None
    card_use: str = CardUse.SHARE
    vendor: str = ""
    model: str = ""
    spec: str = ""
    mig_profile: str = ""
    resource_group: str = ""
    queue: str = ""
    ranges: tuple[ComponentRange, ...] = ()
