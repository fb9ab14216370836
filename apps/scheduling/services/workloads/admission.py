"""Who may submit what, and when: priorities, urgent work, validity, what a user may hold, how much at once.

Internal to the app's services.
"""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.centre.selectors import centre_zone
from apps.fleet.states import SliceKind
from apps.kernel.actor import Actor
from apps.kernel.errors import InvalidInput, QuotaExceeded
from apps.kernel.prepared_queries import Param, PreparedQuery, PreparedValues, prepared
from apps.scheduling.errors import OutsideValidity, PriorityNotAllowed, TooMuchOpen
from apps.scheduling.locks import submissions_lock
from apps.scheduling.models import (
    Reservation,
    SchedulingPolicy,
    UserPriority,
    ValidityPeriod,
    Workload,
)
from apps.scheduling.models.entitlements import MEMBER_MOST_PRIORITY
from apps.scheduling.queue_config.time_windows import weekly_text
from apps.scheduling.selectors.entitlements.limits import Limit, limits_get, user_usage_get
from apps.scheduling.states import Purpose
from apps.scheduling.text.quota_items import item_amounts
from apps.tenancy.models import Tenant

# Two keys, as all locks of this kind: "Weil" and the user.
_USER_LOCK = 0x5765696C
MOST = 10_000
"""So many may be submitted in one call."""
# Single submissions that far from a bound wait for nobody: beside so many of one call, which they do not see, there are
# never a thousand of their own on their way.
_NEAR = MOST + 1_000


def admission_check(actor: Actor, row: Workload, *, more: int = 1) -> None:
    """Whether who submits it may do so now; `more`: how many of its like are submitted together.

    Raises TooMuchOpen, PriorityNotAllowed, OutsideValidity, QuotaExceeded.
    """
    open_check(row.tenant, row.submitted_by_id, more)
    if row.urgent:
        _urgent_check(actor)
    validity_check(row.submitted_by_id, row.purpose, timezone.now())
    limit_check(row, more)


# Up to the bound and no further: a million rows are not counted to refuse one. Beside the policy's bounds, its defaults
# stand for a policy that nobody has changed.
_OPEN = """
WITH bound AS (SELECT
    coalesce((SELECT max_open_per_user FROM scheduling_schedulingpolicy WHERE id = 1), %(user_most)s) AS of_user,
    coalesce((SELECT max_open_per_tenant FROM scheduling_schedulingpolicy WHERE id = 1), %(tenant_most)s) AS of_tenant)
SELECT of_user, of_tenant,
    (SELECT count(*) FROM (SELECT FROM scheduling_workload WHERE ended_at IS NULL AND {mine}
        LIMIT (SELECT of_user FROM bound)) m),
    (SELECT count(*) FROM (SELECT FROM scheduling_workload WHERE ended_at IS NULL AND tenant_id = %(tenant)s
        LIMIT (SELECT of_tenant FROM bound)) t)
FROM bound
"""


def open_check(tenant: Tenant, user_id: int | None, more: int) -> None:
    """TooMuchOpen where the user or the tenant would have more open work than the policy lets them.

    Many at once, and whatever comes near a bound, are served one after the other: two would each not see the other.
    """
    bounds = _bounds(tenant, user_id)
    if more > 1 or any(most - held < _NEAR for _, held, most in bounds):
        submissions_lock(tenant)
        bounds = _bounds(tenant, user_id)
    for who, held, most in bounds:
        if held + more > most:
            text = _(
                "%(most)s workloads at a time wait or run for %(who)s at most: %(held)s do, %(more)s more are asked."
            )
            raise TooMuchOpen(text % {"who": who, "most": most, "held": held, "more": more})


def _bounds(tenant: Tenant, user_id: int | None) -> list[tuple[str, int, int]]:
    """Who is bound, how much of theirs is open, and how much may be."""
    mine = "submitted_by_id IS NULL" if user_id is None else "submitted_by_id = %(user)s"
    unset = SchedulingPolicy()
    asked = {
        "tenant": tenant.pk,
        "user_most": unset.max_open_per_user,
        "tenant_most": unset.max_open_per_tenant,
    }
    if user_id is not None:
        asked["user"] = user_id
    with prepared() as cursor:
        cursor.execute(_OPEN.format(mine=mine), asked)
        user_most, tenant_most, mine_open, tenant_open = cursor.fetchone()
    return [(_("you"), mine_open, user_most), (tenant.name, tenant_open, tenant_most)]


_PRIORITY = PreparedQuery(lambda: UserPriority.objects.filter(user=Param("user")))


def priority_of(actor: Actor, asked: int | None) -> int:
    """The priority that the work gets: what was asked for within what the user may name, else the user's own."""
    row = _PRIORITY.first(user=actor.user_id) if actor.user_id else None
    if actor.kind == "operator" or (row is None and actor.kind != "user"):
        return asked or 0
    most_priority = MEMBER_MOST_PRIORITY if row is None else row.most_priority
    if asked is not None and asked > most_priority:
        raise PriorityNotAllowed(
            _("You may ask for priority %(most)s at most, not %(asked)s.")
            % {"most": most_priority, "asked": asked},
            fields={"priority": _("at most %(most)s") % {"most": most_priority}},
        )
    if asked is not None:
        return asked
    return 0 if row is None else row.priority


def _urgent_check(actor: Actor) -> None:
    if actor.kind == "user" and not UserPriority.objects.filter(user=actor.user_id, may_urgent=True).exists():
        raise PriorityNotAllowed(_("You may not submit urgent work."), fields={"urgent": _("not allowed")})


def purpose_of(kind: str) -> str:
    """What work is for that does not say: a session is development, a program training."""
    return Purpose.DEVELOPMENT if kind == SliceKind.SESSION else Purpose.TRAINING


_BOUND = PreparedValues(
    lambda: ValidityPeriod.objects.filter(
        rule__users__user=Param("user"), purpose=Param("purpose")
    ).order_by()[:1],
    "pk",
)


def validity_check(user_id: int | None, purpose: str, now: datetime) -> None:
    """OutsideValidity where rules bind this user for this purpose, and none of their periods is now. A purpose
    without a period is valid at all times (PLAT-AICFG-30, PLAT-AICFG-31)."""
    if user_id is None or _BOUND.first(user=user_id, purpose=purpose) is None:
        return
    periods = ValidityPeriod.objects.filter(rule__users__user=user_id, purpose=purpose)
    local = timezone.localtime(now, centre_zone())
    minute = local.hour * 60 + local.minute
    if periods.filter(weekday=local.weekday(), from_minute__lte=minute, to_minute__gt=minute).exists():
        return
    spans = set(periods.values_list("weekday", "from_minute", "to_minute"))
    raise OutsideValidity(
        _("You may start work for %(purpose)s only at these times: %(times)s.")
        % {"purpose": Purpose(purpose).label, "times": weekly_text(spans).replace("\n", ", ")}
    )


def limit_check(row: Workload, more: int = 1, before: Mapping[str, int] | None = None) -> None:
    """QuotaExceeded where who submitted it would hold more than they may, by the tier that says so (PLAT-CLU-31).

    `more`: how many of its like; `before`: what it was so far, less than which is never too much. One user's
    submissions queue up here, if anything bounds them: two at once would each not see the other.
    """
    if row.submitted_by_id is not None:
        asked = {item: amount * more for item, amount in asked_of(row).items()}
        limits_check(row.tenant, row.submitted_by_id, asked, before=before, beside=row.pk)


def limits_check(
    tenant: Tenant,
    user_id: int,
    asked: Mapping[str, int],
    *,
    before: Mapping[str, int] | None = None,
    beside: int | None = None,
) -> None:
    """QuotaExceeded where the user would hold more than they may with what is asked, by item; `beside`: the key of the
    workload that asks, where it is there already."""
    if not limits_get(tenant, user_id, timezone.now()):
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_USER_LOCK, user_id])
    limits, held = limits_get(tenant, user_id, timezone.now()), user_usage_get(tenant, user_id, beside=beside)
    for item, amount in asked.items():
        limit = limits.get(item)
        grows = amount > (before or {}).get(item, 0)
        if limit is not None and grows and held[item] + amount > limit.most:
            raise beyond(limit, held[item], amount)


def asked_of(row: Workload, shares: int | None = None) -> dict[str, int]:
    """What so many of its shares are, by the items of a user's limit; None: all of them."""
    count = row.shares if shares is None else shares
    return {
        "instances": count,
        "compute_percent": count * row.compute_percent,
        "memory_mib": count * row.memory_mib,
    }


def beyond(limit: Limit, used: int, asked: int) -> QuotaExceeded:
    """The refusal, with the tier that bounds the user, and until when."""
    return QuotaExceeded(
        _("You may hold %(most)s of %(item)s, by %(source)s: %(used)s are used, %(asked)s more are asked.")
        % {"source": limit.source, **item_amounts(limit.item, most=limit.most, used=used, asked=asked)},
        fields={limit.item: _("%(left)s left") % {"left": max(0, limit.most - used)}},
        cure=_("Ask for less, release something, or apply for more by a resource ticket."),
    )


def reservation_of(tenant: Tenant, given: str) -> Reservation | None:
    """The tenant's reservation of that uid or name; None where none is asked for."""
    if not given:
        return None
    try:
        named = Q(uid=UUID(given))
    except ValueError:
        named = Q(name=given)
    mine = Q(tenant=tenant) | Q(tenant=None, queue__isnull=False)
    found = Reservation.objects.filter(named & mine, cancelled_at=None, to_at__gt=timezone.now()).first()
    if found is None:
        raise InvalidInput(
            _("There is no reservation %(name)s.") % {"name": given}, fields={"reservation": given}
        )
    return found
