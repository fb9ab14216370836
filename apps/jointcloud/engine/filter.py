"""Which centres are candidates for a task, and why the others are not: in the order of `Code`, each with figures."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from apps.jointcloud.engine.factors import Ask, Factors
from apps.jointcloud.engine.reasons import Code, Reason, reason
from apps.jointcloud.engine.room import Room
from apps.jointcloud.engine.scores import Row
from apps.jointcloud.engine.types import Centre, Image

CODES: tuple[Code, ...] = tuple(Code)
PASSES = len(CODES)
"""Stands among the places of codes for a centre that no filter refuses."""


def first_refusals(factors: Factors, ask: Ask) -> Row:
    """For each centre the place in `CODES` of the first filter that refuses it whatever room it has, or `PASSES`."""
    passing = np.full(len(factors.centres), PASSES, np.int64)
    for code, refuses in _MASKS.items():
        refused = refuses(factors, ask)
        if refused is not None:
            passing = np.where((passing == PASSES) & refused, CODES.index(code), passing)
    return passing


def refusals(factors: Factors, room: Room, ask: Ask, place: int) -> tuple[Reason, ...]:
    """All that keeps the centre at this place from being a candidate; nothing for a candidate."""
    found = []
    for code, refuses in _MASKS.items():
        refused = refuses(factors, ask)
        if refused is not None and refused[place]:
            found.append(reason(code, **_figures(code, factors, ask, factors.centres[place])))
    if room.slots(ask.task.spec_id)[place] < ask.task.replicas:
        found += _lacks(factors, room, ask, place)
    return tuple(found)


Mask = NDArray[np.bool_]
Refuses = Callable[[Factors, Ask], Mask | None]


def _unavailable(factors: Factors, ask: Ask) -> Mask:
    return _each(factors, "unavailable", lambda centre: not centre.is_available)


def _stale(factors: Factors, ask: Ask) -> Mask:
    oldest = factors.now - factors.settings.stale_s
    return _each(factors, "stale", lambda centre: centre.seen_at_s < oldest)


def _drained(factors: Factors, ask: Ask) -> Mask:
    return _each(factors, "drained", lambda centre: centre.is_drained)


def _not_served(factors: Factors, ask: Ask) -> Mask | None:
    tenant = ask.job.tenant
    if not tenant:
        return None
    return _each(
        factors,
        ("served", tenant),
        lambda centre: centre.tenants is not None and tenant not in centre.tenants,
    )


def _cooling_off(factors: Factors, ask: Ask) -> Mask:
    least = factors.settings.cool_off_failures
    return _each(
        factors,
        "cooling",
        lambda centre: centre.failed_in_row >= least and factors.now < _rested_at_s(factors, centre),
    )


def _not_named(factors: Factors, ask: Ask) -> Mask | None:
    named = ask.task.centre_ids
    return _each(factors, ("named", named), lambda centre: centre.id not in named) if named else None


def _refused_it(factors: Factors, ask: Ask) -> Mask | None:
    refused = ask.task.refused_by
    return _each(factors, ("refused", refused), lambda centre: centre.id in refused) if refused else None


def _not_offered(factors: Factors, ask: Ask) -> Mask:
    spec = ask.task.spec_id
    return _each(
        factors,
        ("offered", spec),
        lambda centre: spec not in factors.spec or factors.offer(factors.place[centre.id], spec) is None,
    )


def _job_type(factors: Factors, ask: Ask) -> Mask | None:
    spec = factors.spec.get(ask.task.spec_id)
    if spec is None or not spec.job_types or not ask.job.job_type or ask.job.job_type in spec.job_types:
        return None
    return np.ones(len(factors.centres), np.bool_)


def _image_missing(factors: Factors, ask: Ask) -> Mask | None:
    name = ask.task.image_id
    if name is None:
        return None
    image = factors.image.get(name)
    return _each(factors, ("image", name), lambda centre: not _has(image, centre))


def _has(image: Image | None, centre: Centre) -> bool:
    if image is None:
        return False
    is_copied = image.is_copyable and centre.takes_images and bool(image.centre_ids)
    return centre.id in image.centre_ids or is_copied


def _image_unfit(factors: Factors, ask: Ask) -> Mask | None:
    image = factors.image.get(ask.task.image_id or "")
    if image is None or not image.spec_ids or ask.task.spec_id in image.spec_ids:
        return None
    return np.ones(len(factors.centres), np.bool_)


def _security_grade(factors: Factors, ask: Ask) -> Mask | None:
    least = ask.task.min_security_grade
    if not least:
        return None
    # A grade that nobody knows is below any that is asked for.
    return _each(factors, ("grade", least), lambda centre: (centre.security_grade or 0) < least)


def _data_stays(factors: Factors, ask: Ask) -> Mask | None:
    staying = _staying(factors, ask)
    if not staying:
        return None
    return _each(
        factors,
        ("stays", ask.task.data_ids),
        lambda centre: any(centre.id not in factors.data[name].centre_ids for name in staying),
    )


def _staying(factors: Factors, ask: Ask) -> list[str]:
    known = (factors.data[name] for name in ask.task.data_ids if name in factors.data)
    return [data.id for data in known if data.is_private or data.size_bytes > factors.settings.move_bytes]


def _data_nowhere(factors: Factors, ask: Ask) -> Mask | None:
    if _nowhere(factors, ask) is None:
        return None
    return np.ones(len(factors.centres), np.bool_)


def _nowhere(factors: Factors, ask: Ask) -> str | None:
    for name in ask.task.data_ids:
        data = factors.data.get(name)
        if data is None or not data.centre_ids:
            return name
    return None


_MASKS: dict[Code, Refuses] = {
    Code.UNAVAILABLE: _unavailable,
    Code.STALE: _stale,
    Code.DRAINED: _drained,
    Code.NOT_SERVED: _not_served,
    Code.COOLING_OFF: _cooling_off,
    Code.NOT_NAMED: _not_named,
    Code.REFUSED_IT: _refused_it,
    Code.NOT_OFFERED: _not_offered,
    Code.JOB_TYPE: _job_type,
    Code.IMAGE_MISSING: _image_missing,
    Code.IMAGE_UNFIT: _image_unfit,
    Code.SECURITY_GRADE: _security_grade,
    Code.DATA_STAYS: _data_stays,
    Code.DATA_NOWHERE: _data_nowhere,
}


def _each(factors: Factors, key: object, refused: Callable[[Centre], bool]) -> Mask:
    kept = factors.kept(("refused", key), lambda: np.array([refused(c) for c in factors.centres], np.int64))
    mask: Mask = kept != 0
    return mask


def _rested_at_s(factors: Factors, centre: Centre) -> int:
    return centre.failed_at_s + factors.settings.cool_off_s


def _figures(code: Code, factors: Factors, ask: Ask, centre: Centre) -> dict[str, str | int | None]:
    """The figures of a refusal's sentence."""
    task = ask.task
    if code is Code.STALE:
        return {"age_s": factors.now - centre.seen_at_s, "limit_s": factors.settings.stale_s}
    if code is Code.COOLING_OFF:
        return {"failures": centre.failed_in_row, "until_s": _rested_at_s(factors, centre)}
    if code is Code.NOT_SERVED:
        return {"tenant": ask.job.tenant}
    if code is Code.NOT_NAMED:
        return {"named": ", ".join(sorted(task.centre_ids))}
    if code is Code.NOT_OFFERED:
        return {"spec": task.spec_id}
    if code is Code.JOB_TYPE:
        types = ", ".join(sorted(factors.spec[task.spec_id].job_types))
        return {"spec": task.spec_id, "job_type": ask.job.job_type, "supported": types}
    if code is Code.IMAGE_MISSING:
        return {"image": task.image_id}
    if code is Code.IMAGE_UNFIT:
        return {"image": task.image_id, "spec": task.spec_id}
    if code is Code.SECURITY_GRADE:
        return {"grade": centre.security_grade, "least": task.min_security_grade}
    if code is Code.DATA_STAYS:
        staying = (name for name in _staying(factors, ask) if centre.id not in factors.data[name].centre_ids)
        return {"data": next(staying)}
    if code is Code.DATA_NOWHERE:
        return {"data": _nowhere(factors, ask)}
    return {}


def _lacks(factors: Factors, room: Room, ask: Ask, place: int) -> list[Reason]:
    """Of each resource of which the centre has too little, what is asked for and what is free."""
    need = factors.need(ask.task.spec_id)[:, 0]
    return [
        reason(
            Code.NO_ROOM,
            resource=name,
            needed=int(need[i]) * ask.task.replicas,
            free=int(room.free[i, place]),
        )
        for i, name in enumerate(factors.resources)
        if room.free[i, place] < int(need[i]) * ask.task.replicas
    ]
