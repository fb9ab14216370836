"""Who may submit what, and when: priorities, urgent work, validity, special specifications, how much at once.

Internal to the app's services.
"""

from datetime import datetime
from uuid import UUID

from django.db.models import F, Q, QuerySet, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.fleet.states import SliceKind
from apps.kernel.acts import Actor
from apps.kernel.errors import InvalidInput, QuotaExceeded
from apps.scheduling.errors import OutsideValidity, PriorityNotAllowed, TooMuchOpen
from apps.scheduling.models import (
    Reservation,
    SpecialSpec,
    UserPriority,
    ValidityPeriod,
    Workload,
)
from apps.scheduling.selectors import policy_get
from apps.scheduling.states import Purpose
from apps.scheduling.weekly import weekly_text
from apps.tenancy.models import Tenant


def admission_check(actor: Actor, row: Workload, *, more: int = 1) -> None:
    """Whether who submits it may do so now; `more`: how many of its like are submitted together.

    Raises TooMuchOpen, PriorityNotAllowed, OutsideValidity, QuotaExceeded.
    """
    open_check(row.tenant, row.submitted_by_id, more)
    if row.urgent:
        _urgent_check(actor)
    validity_check(row.submitted_by_id, row.purpose, timezone.now())
    _special_check(row, more)


def open_check(tenant: Tenant, user_id: int | None, more: int) -> None:
    """TooMuchOpen where the user or the tenant would have more open work than the policy lets them."""
    policy, rows = policy_get(), Workload.plain.filter(ended_at=None)
    _bound_check(_("you"), rows.filter(submitted_by=user_id), more, policy.max_open_per_user)
    _bound_check(tenant.name, rows.filter(tenant=tenant), more, policy.max_open_per_tenant)


def _bound_check(who: str, rows: QuerySet[Workload], more: int, most: int) -> None:
    # Up to the bound and no further: a million rows are not counted to refuse one.
    held = rows.order_by()[: most + 1].count()
    if held + more > most:
        raise TooMuchOpen(
            _(
                "%(most)s workloads at a time wait or run for %(who)s at most: %(held)s do, %(more)s more are asked."
            )
            % {"who": who, "most": most, "held": held, "more": more}
        )


def priority_of(actor: Actor, asked: int | None) -> int:
    """The priority that the work gets: what was asked for within what the user may name, else the user's own."""
    row = UserPriority.objects.filter(user=actor.user_id).first() if actor.user_id else None
    if row is None or actor.kind == "operator":
        return asked or 0
    if asked is not None and asked > row.most_priority:
        raise PriorityNotAllowed(
            _("You may ask for priority %(most)s at most, not %(asked)s.")
            % {"most": row.most_priority, "asked": asked},
            fields={"priority": _("at most %(most)s") % {"most": row.most_priority}},
        )
    return row.priority if asked is None else asked


def _urgent_check(actor: Actor) -> None:
    if actor.kind == "user" and not UserPriority.objects.filter(user=actor.user_id, may_urgent=True).exists():
        raise PriorityNotAllowed(_("You may not submit urgent work."), fields={"urgent": _("not allowed")})


def purpose_of(kind: str) -> str:
    """What work is for that does not say: a session is development, a program training."""
    return Purpose.DEVELOPMENT if kind == SliceKind.SESSION else Purpose.TRAINING


def validity_check(user_id: int | None, purpose: str, now: datetime) -> None:
    """OutsideValidity where rules bind this user for this purpose, and none of their periods is now. A purpose
    without a period is valid at all times (PLAT-AICFG-30, PLAT-AICFG-31)."""
    periods = ValidityPeriod.objects.filter(rule__users__user=user_id, purpose=purpose) if user_id else None
    if periods is None or not periods.exists():
        return
    local = timezone.localtime(now, timezone.get_default_timezone())
    minute = local.hour * 60 + local.minute
    if periods.filter(weekday=local.weekday(), from_minute__lte=minute, to_minute__gt=minute).exists():
        return
    spans = set(periods.values_list("weekday", "from_minute", "to_minute"))
    raise OutsideValidity(
        _("You may start work for %(purpose)s only at these times: %(times)s.")
        % {"purpose": Purpose(purpose).label, "times": weekly_text(spans).replace("\n", ", ")}
    )


def special_of(tenant: Tenant, user_id: int | None, at: datetime) -> SpecialSpec | None:
    """The special specification in force for the user: their own before that of everyone (decision N-19)."""
    rows = SpecialSpec.objects.of(tenant).filter(is_enabled=True, from_at__lte=at, until_at__gt=at)
    return rows.filter(Q(user=user_id) | Q(user=None)).order_by(F("user").asc(nulls_last=True), "-pk").first()


def _special_check(row: Workload, more: int) -> None:
    spec = special_of(row.tenant, row.submitted_by_id, timezone.now())
    if spec is None:
        return
    mine = Workload.plain.filter(tenant=row.tenant, submitted_by=row.submitted_by_id, ended_at=None)
    held = mine.aggregate(
        instances=Sum("shares"),
        compute_percent=Sum(F("shares") * F("compute_percent")),
        memory_mib=Sum(F("shares") * F("memory_mib")),
    )
    asked = {
        "instances": row.shares,
        "compute_percent": row.shares * row.compute_percent,
        "memory_mib": row.shares * row.memory_mib,
    }
    for item, amount in asked.items():
        most, used = getattr(spec, item), held[item] or 0
        if most is not None and used + amount * more > most:
            raise QuotaExceeded(
                _("%(name)s gives you %(most)s of %(item)s: %(used)s are used, %(asked)s more are asked.")
                % {
                    "name": spec.name,
                    "most": most,
                    "item": SpecialSpec._meta.get_field(item).verbose_name,
                    "used": used,
                    "asked": amount * more,
                },
                fields={item: _("%(left)s left") % {"left": max(0, most - used)}},
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
