"""Set when the centre works: the hours of the week, and days that are otherwise."""

from collections.abc import Iterable
from datetime import date, time, timedelta

from django.utils.translation import gettext as _

from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import InvalidInput, NotFound
from apps.kernel.service import service
from apps.ticketing.models import SpecialDay, WorkingHours
from apps.ticketing.permissions import TicketingPermission as P

DAYS_AT_ONCE = 31
DAYS_MOST = 500


@service(P.MANAGE)
def working_hours_set(*, actor: Actor, spans: Iterable[tuple[int, time, time]]) -> None:
    """The week anew: spans of weekday (0 is Monday), from and until; none at all: every hour counts."""
    act_subject("working_hours", "")
    kept: list[WorkingHours] = []
    for weekday, opens, closes in sorted(spans):
        if not 0 <= weekday <= 6:
            raise InvalidInput(fields={"weekday": _("There is no such weekday.")})
        if closes != time.min and closes <= opens:
            raise InvalidInput(fields={"closes": _("Working hours end after they begin.")})
        before = kept[-1] if kept and kept[-1].weekday == weekday else None
        if before and (before.closes == time.min or before.closes > opens):
            raise InvalidInput(fields={"opens": _("Two spans of one day overlap.")})
        kept.append(WorkingHours(weekday=weekday, opens=opens, closes=closes))
    # The rows may be none yet: of two at once the second waits for the table.
    list(WorkingHours.objects.select_for_update())
    WorkingHours.objects.all().delete()
    WorkingHours.objects.bulk_create(kept)


@service(P.MANAGE)
def special_days_set(
    *, actor: Actor, first: date, last: date, name: str, weekday: int | None = None
) -> list[SpecialDay]:
    """The days from first to last are closed, or worked like a weekday; what was said of them before is forgotten."""
    count = (last - first).days + 1
    if not 1 <= count <= DAYS_AT_ONCE:
        reason = _("From the first to the last it is 1 to %(most)s days.") % {"most": DAYS_AT_ONCE}
        raise InvalidInput(reason, fields={"last": reason})
    if weekday is not None and not 0 <= weekday <= 6:
        raise InvalidInput(fields={"weekday": _("There is no such weekday.")})
    name = " ".join(name.split())[:80]
    if not name:
        raise InvalidInput(fields={"name": _("Give it a name.")})
    days = [first + timedelta(days=number) for number in range(count)]
    SpecialDay.objects.filter(day__in=days).delete()
    if SpecialDay.objects.count() + count > DAYS_MOST:
        raise InvalidInput(_("There are too many special days."), cure=_("Remove those that are past."))
    act_subject("special_day", first, name=name)
    return SpecialDay.objects.bulk_create(SpecialDay(day=day, name=name, weekday=weekday) for day in days)


@service(P.MANAGE)
def special_day_remove(*, actor: Actor, day: date) -> None:
    """The day is as its weekday says again."""
    act_subject("special_day", day)
    count, _kinds = SpecialDay.objects.filter(day=day).delete()
    if not count:
        raise NotFound()
