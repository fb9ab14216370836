"""Capacity planning: what each pool was asked for, what will be asked, and when it no longer suffices (ELA-102)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db.models import Sum
from django.db.models.functions import TruncDay
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from apps.console.alarms.readings import ALL_POOLS
from apps.fleet.models import ResourceGroup
from apps.kernel.errors import NotFound
from apps.telemetry.models import Rollup
from apps.telemetry.selectors import rollup_list
from apps.telemetry.trends import DAYS_LEAST, DAYS_MOST, Trend, trend_of

AHEAD_DAYS = 90
LATELY = 7
# Half a day seen is a day: its other half was most likely no different.
DAY_LEAST_S = 43_200


@dataclass(frozen=True, slots=True)
class Outlook:
    """A pool's past and future, in percent of devices.

    `demand`: held and waited for together, the mean of each whole day; `capacity`: what could be held then.
    `is_known` says whether it was seen for long enough to forecast; `trend` is None where not.
    """

    code: str
    name: str
    demand: Mapping[date, float]
    capacity: Mapping[date, float]
    capacity_now: float
    trend: Trend | None

    @property
    def days_known(self) -> int:
        return len(self.demand)

    @property
    def days_wanted(self) -> int:
        return DAYS_LEAST

    @property
    def lately(self) -> float | None:
        """The mean demand of the last seven known days."""
        last = [self.demand[day] for day in sorted(self.demand)[-LATELY:]]
        return sum(last) / len(last) if last else None

    @property
    def lately_percent(self) -> int | None:
        """Lately's demand of the capacity now, in percent; None of nothing."""
        known = self.lately
        return None if known is None or not self.capacity_now else round(100 * known / self.capacity_now)

    @property
    def is_full(self) -> bool:
        """Whether lately more was asked for than there is now."""
        return self.lately is not None and self.lately > self.capacity_now

    @property
    def full(self) -> tuple[date | None, date | None, date | None]:
        """On which day demand passes the capacity of now: expected, at the earliest, at the latest."""
        return self.trend.reaches(self.capacity_now) if self.trend else (None, None, None)


def outlook_list() -> list[Outlook]:
    """All devices together first, then each resource group, by name."""
    since = _midnight(timezone.now()) - timedelta(days=DAYS_MOST)
    demand, capacity = _by_day("demand_percent", since), _by_day("capacity_percent", since)
    now = _capacity_now()
    found = [
        _outlook(code, name, demand.get(code, {}), capacity.get(code, {}), now.get(code, 0.0))
        for code, name in _names().items()
    ]
    return sorted(found, key=lambda each: (each.code != ALL_POOLS, each.name))


def outlook_get(code: str) -> Outlook:
    """One pool's. Raises NotFound."""
    found = next((each for each in outlook_list() if each.code == code), None)
    if found is None:
        raise NotFound(_("There is no pool %(code)s.") % {"code": code})
    return found


def _outlook(
    code: str, name: str, demand: dict[date, float], capacity: dict[date, float], now: float
) -> Outlook:
    return Outlook(code, name, demand, capacity, now, trend_of(demand, AHEAD_DAYS))


def _names() -> dict[str, str]:
    is_zh = (get_language() or "").startswith("zh")
    groups = {row.code: row.name_zh if is_zh else row.name_en for row in ResourceGroup.objects.all()}
    return {ALL_POOLS: _("All devices")} | groups


def _midnight(at: datetime) -> datetime:
    return timezone.localtime(at).replace(hour=0, minute=0, second=0, microsecond=0)


def _by_day(series: str, since: datetime) -> dict[str, dict[date, float]]:
    """By pool and whole local day: the mean over the time it was seen. Today is not over and does not count."""
    rows = rollup_list(series=series, kind="pool", from_at=since, to_at=_midnight(timezone.now()))
    days = rows.annotate(day=TruncDay("hour")).order_by().values("subject", "day")
    found: dict[str, dict[date, float]] = {}
    for row in days.annotate(weighted_s=Sum("weighted"), seen_s=Sum("seconds")):
        if row["seen_s"] >= DAY_LEAST_S:
            found.setdefault(row["subject"], {})[row["day"].date()] = row["weighted_s"] / row["seen_s"]
    return found


def _capacity_now() -> dict[str, float]:
    """By pool, as last seen: the newest hour."""
    last = Rollup.objects.filter(series="capacity_percent", kind="pool").order_by("-hour").first()
    if last is None:
        return {}
    rows = Rollup.objects.filter(series="capacity_percent", kind="pool", hour=last.hour)
    return {row.subject: row.weighted / row.seconds for row in rows if row.seconds}
