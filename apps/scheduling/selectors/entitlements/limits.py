"""What a user may hold, and where each bound comes from (PLAT-CLU-31; precedence: decision N-19).

Nothing ends by a timer: what is in force is looked up at the moment of use.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import F, Q, Sum
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.identity.models import User
from apps.kernel.prepared_queries import Param, PreparedQuery
from apps.scheduling.models import DefaultSpec, ResourceTicket, SpecialSpec, Workload
from apps.scheduling.models.entitlements import UserAmounts
from apps.scheduling.states import HOLDING_STATES, ResourceTicketState, Tier, WorkloadState
from apps.tenancy.models import Tenant

ITEMS = UserAmounts.ITEMS
_LABELS = {
    "instances": gettext_lazy("Instances"),
    "compute_percent": gettext_lazy("Compute share"),
    "memory_mib": gettext_lazy("Accelerator memory"),
}


@dataclass(frozen=True, slots=True)
class Limit:
    """The most of one item, and what says so; `until_at` None: for good."""

    item: str
    most: int
    tier: str
    name: str
    until_at: datetime | None = None

    @property
    def source(self) -> str:
        """The tier that says so, its name and until when, in the reader's language."""
        tier = str(Tier(self.tier).label)
        if self.until_at is None:
            return tier
        until = timezone.localtime(self.until_at).strftime("%Y-%m-%d %H:%M")
        return _("%(tier)s %(name)s until %(until)s") % {"tier": tier, "name": self.name, "until": until}


@dataclass(frozen=True, slots=True)
class LimitLine:
    """How much of an item is held, and what bounds it; no limit: the tenant's quota alone does."""

    item: str
    used: int
    limit: Limit | None

    @property
    def most(self) -> int | None:
        return self.limit and self.limit.most

    @property
    def label(self) -> str:
        return str(_LABELS[self.item])

    @property
    def source(self) -> str:
        return self.limit.source if self.limit else ""


_IN_FORCE = Q(tenant=Param("tenant"), from_at__lte=Param("at"), until_at__gt=Param("at"))
_THEIRS = Q(user=Param("user")) | Q(user=None)
_DEFAULT = PreparedQuery(lambda: DefaultSpec.objects.order_by("pk")[:1])
_SPECIAL = PreparedQuery(
    lambda: SpecialSpec.plain.filter(_IN_FORCE, _THEIRS, is_enabled=True).order_by(
        F("user").asc(nulls_first=True), "created_at", "pk"
    )
)
_TICKETS = PreparedQuery(
    lambda: ResourceTicket.plain.filter(_IN_FORCE, _THEIRS, state=ResourceTicketState.APPROVED).order_by("pk")
)


def limits_get(tenant: Tenant, user_id: int | None, at: datetime) -> dict[str, Limit]:
    """What bounds the user at that instant, by item; an item that is not there is bounded by nothing of the user's.

    A special spec of the user goes before one of the tenant, and that before the default, item by item: where one says
    nothing the next does. A ticket raises that and never lowers it.
    """
    if user_id is None:
        return {}
    found: dict[str, Limit] = {}
    default = _DEFAULT.first()
    for item, most in default.amounts.items() if default else ():
        found[item] = Limit(item, most, Tier.DEFAULT, str(Tier.DEFAULT.label))
    for spec in special_list_in_force(tenant, user_id, at):
        tier = Tier.SPECIAL_USER if spec.user_id else Tier.SPECIAL_GROUP
        found |= {
            item: Limit(item, most, tier, spec.name, spec.until_at) for item, most in spec.amounts.items()
        }
    return _raised(found, ticket_list_in_force(tenant, user_id, at))


def limits_any(at: datetime) -> bool:
    """Whether anything bounds any user at that instant."""
    special = SpecialSpec.objects.across().filter(is_enabled=True, from_at__lte=at, until_at__gt=at)
    return DefaultSpec.objects.exists() or special.exists()


def _raised(found: Mapping[str, Limit], tickets: Iterable[ResourceTicket]) -> dict[str, Limit]:
    raised = dict(found)
    for ticket in tickets:
        for item, most in ticket.amounts.items():
            if item in raised and most > raised[item].most:
                raised[item] = Limit(item, most, Tier.TICKET, ticket.no, ticket.until_at)
    return raised


def special_list_in_force(tenant: Tenant, user_id: int, at: datetime) -> list[SpecialSpec]:
    """Those that bind the user, the weightiest last: the tenant's, then their own; of equals the newest."""
    return _SPECIAL.all(tenant=tenant.pk, user=user_id, at=at)


def ticket_list_in_force(tenant: Tenant, user_id: int, at: datetime) -> list[ResourceTicket]:
    """The approved tickets for the user, or for each of the tenant, whose period it is."""
    return _TICKETS.all(tenant=tenant.pk, user=user_id, at=at)


def user_usage_get(
    tenant: Tenant, user_id: int, *, beside: int | None = None, running: bool = False
) -> dict[str, int]:
    """What the user's work holds or waits for, by item, but for the workload `beside`; what is suspended holds
    nothing. `running`: without what still waits."""
    rows = Workload.plain.filter(tenant=tenant, submitted_by=user_id, ended_at=None).exclude(pk=beside)
    if running:
        rows = rows.filter(state__in=HOLDING_STATES)
    sums = rows.exclude(state=WorkloadState.SUSPENDED).aggregate(
        instances=Sum("shares"),
        compute_percent=Sum(F("shares") * F("compute_percent")),
        memory_mib=Sum(F("shares") * F("memory_mib")),
    )
    return {item: sums[item] or 0 for item in ITEMS}


def limit_lines(tenant: Tenant, user: User | int, at: datetime) -> list[LimitLine]:
    """Each item with what the user holds and what bounds it."""
    user_id = user if isinstance(user, int) else user.pk
    limits, held = limits_get(tenant, user_id, at), user_usage_get(tenant, user_id)
    return [LimitLine(item, held[item], limits.get(item)) for item in ITEMS]
