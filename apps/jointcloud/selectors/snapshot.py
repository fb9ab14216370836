"""What a cycle, the dry run and the interfaces A.5 and A.6 decide upon: all centres as the database has them now.

Five queries, however many centres there are. All numbers are whole: power to the nearest watt, performance in
thousandths of its measure, distances in km.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from math import acos, cos, radians, sin
from typing import NamedTuple

from apps.centers.models import Center, CenterSample, ResourceSpec
from apps.centers.selectors import centers_sampled, offers_plain, specs_plain, tenants_named
from apps.centers.states import CenterStatus, Serves
from apps.centers.types import AMOUNTS
from apps.jointcloud.engine.types import (
    MOST_COUNT,
    Amounts,
    Centre,
    Data,
    Image,
    Job,
    Offer,
    Settings,
    Snapshot,
    Spec,
)
from apps.jointcloud.selectors.settings import settings_now

EARTH_RADIUS_KM = 6371
_PERFORMANCE_PARTS = 1000


class Failures(NamedTuple):
    """Dispatches that failed at a centre one after the other, and when the last did."""

    in_row: int
    last_at: datetime


class Sent(NamedTuple):
    """Replicas of a specification that were given to a centre; `at`: since when it has them as they stand now, None
    while they are not known to be there."""

    ai_center_id: str
    resource_spec_id: str
    replicas: int
    at: datetime | None


def snapshot_now(
    jobs: Sequence[Job] = (),
    *,
    settings: Settings | None = None,
    images: Sequence[Image] = (),
    data: Sequence[Data] = (),
    failures: Mapping[str, Failures] | None = None,
    sent: Iterable[Sent] = (),
    tenant: str = "",
) -> Snapshot:
    """All centres and specifications now, with what waits. IDs of centres and specifications are their codes.

    Args:
        jobs: what waits for a centre.
        settings: those in force where none are given.
        images, data: what is known of them; a task that names another is refused everywhere.
        failures: by the centre's code; none is known of a centre that is not named.
        sent: what went to centres lately. What was not there when a centre was last asked, or stood otherwise there,
            takes of its free amounts and counts as waiting: its figures do not know of it yet.
        tenant: the code of the tenant that asks, who hears of centres that serve it alone.
    """
    chosen = settings_now() if settings is None else settings
    rows, named = list(centers_sampled(tenant)), tenants_named()
    specs = {row.pk: row for row in specs_plain()}
    offers = _offers(specs)
    unseen = _unseen(rows, specs.values(), sent)
    failed = failures or {}
    centres = tuple(
        _centre(
            row,
            offers[row.pk],
            failed.get(row.ai_center_id),
            unseen[row.ai_center_id],
            None if row.serves == Serves.ALL else named.get(row.pk, frozenset()),
        )
        for row in rows
    )
    return Snapshot(
        centres=centres,
        specs=tuple(_spec(row) for row in specs.values()),
        images=tuple(images),
        data=tuple(data),
        jobs=tuple(jobs),
        distances=tuple(_distances(rows)) if any(_has_siblings(job) for job in jobs) else (),
        settings=chosen,
    )


def _offers(specs: Mapping[int, ResourceSpec]) -> dict[int, list[Offer]]:
    """By the key of the centre. An offer of a specification that was made since the specifications were read is none
    yet."""
    found: dict[int, list[Offer]] = defaultdict(list)
    for row in offers_plain():
        spec = specs.get(row.spec_id)
        if spec is not None:
            found[row.center_id].append(
                Offer(
                    spec.resource_spec_id,
                    spec.price_minor if row.price_minor is None else row.price_minor,
                    _whole(row.performance, _PERFORMANCE_PARTS),
                    _whole(row.idle_power_w),
                    _whole(row.running_power_w),
                )
            )
    return found


def _whole(figure: float | None, parts: int = 1) -> int | None:
    """The nearest whole number of such parts of one."""
    return None if figure is None else int(figure * parts + 0.5)


def _spec(row: ResourceSpec) -> Spec:
    held = row.quantities
    amounts = tuple((name, getattr(held, name)) for name in AMOUNTS if getattr(held, name))
    return Spec(row.resource_spec_id, amounts, frozenset(row.service_types))


class _Unseen:
    """What a centre's figures do not know of yet."""

    def __init__(self) -> None:
        self.amounts: dict[str, int] = defaultdict(int)
        self.replicas = 0


def _unseen(
    rows: Iterable[Center], specs: Iterable[ResourceSpec], sent: Iterable[Sent]
) -> dict[str, _Unseen]:
    asked = {row.ai_center_id: sample.asked_at for row in rows if (sample := _sample(row)) is not None}
    held = {row.resource_spec_id: row.quantities for row in specs}
    found: dict[str, _Unseen] = defaultdict(_Unseen)
    for each in sent:
        asked_at, amounts = asked.get(each.ai_center_id), held.get(each.resource_spec_id)
        if asked_at is None or amounts is None or (each.at is not None and each.at < asked_at):
            continue
        unseen = found[each.ai_center_id]
        unseen.replicas += each.replicas
        for name in AMOUNTS:
            unseen.amounts[name] += each.replicas * getattr(amounts, name)
    return found


def _centre(
    row: Center,
    offers: list[Offer],
    failures: Failures | None,
    unseen: _Unseen,
    tenants: frozenset[str] | None,
) -> Centre:
    sample = _sample(row)
    seen_at = row.created_at if sample is None else sample.answered_at
    return Centre(
        id=row.ai_center_id,
        seen_at_s=int(seen_at.timestamp()),
        free=() if sample is None else _free(sample, unseen.amounts),
        offers=tuple(offers),
        is_available=sample is not None and row.status == CenterStatus.AVAILABLE,
        is_drained=row.is_drained,
        running_tasks=0 if sample is None else min(sample.running_tasks, MOST_COUNT),
        waiting_tasks=0 if sample is None else min(sample.waiting_tasks + unseen.replicas, MOST_COUNT),
        security_grade=row.security_grade,
        failed_in_row=0 if failures is None else failures.in_row,
        failed_at_s=0 if failures is None else int(failures.last_at.timestamp()),
        tenants=tenants,
    )


def _sample(row: Center) -> CenterSample | None:
    return getattr(row, "sample", None)


def _free(sample: CenterSample, taken: Mapping[str, int]) -> Amounts:
    free = sample.free
    return tuple((name, max(0, getattr(free, name) - taken.get(name, 0))) for name in AMOUNTS)


def _has_siblings(job: Job) -> bool:
    """Whether it can matter to the job how far centres are from each other: there are half a million pairs of a
    thousand."""
    return len(job.placed) + sum(task.replicas for task in job.tasks) > 1


def _distances(rows: Sequence[Center]) -> Iterable[tuple[str, str, int]]:
    """Between all centres whose place is known, along the surface of the Earth."""
    placed = [
        (row.ai_center_id, _direction(row.longitude, row.latitude))
        for row in rows
        if row.longitude is not None and row.latitude is not None
    ]
    for i, (one, (x, y, z)) in enumerate(placed):
        for other, (u, v, w) in placed[i + 1 :]:
            cosine = max(-1.0, min(1.0, x * u + y * v + z * w))
            yield one, other, int(EARTH_RADIUS_KM * acos(cosine) + 0.5)


def distance_km(one: Center, other: Center) -> int | None:
    """How far two centres are from each other; None where the place of one is not known."""
    return next((length for _one, _other, length in _distances((one, other))), None)


def _direction(longitude: float, latitude: float) -> tuple[float, float, float]:
    """From the middle of the Earth to a place, of length 1."""
    east, north = radians(longitude), radians(latitude)
    return cos(north) * cos(east), cos(north) * sin(east), sin(north)
