"""The engine's reasons in the reader's words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from apps.centers.labels import amount_said
from apps.centers.states import AMOUNT_LABELS
from apps.jointcloud.engine.reasons import AnyCode, Code, Fault, Finding, Reason, SourceCode

POLICY_NAMES: Mapping[str, str] = {
    "manual": gettext_noop("Manual"),
    "fcfs": gettext_noop("First come, first served"),
    "load": gettext_noop("Load aware"),
    "energy": gettext_noop("Energy aware"),
    "price": gettext_noop("Price aware"),
    "network": gettext_noop("Network aware"),
    "data": gettext_noop("Data aware"),
    "qos": gettext_noop("Service quality"),
    "idle": gettext_noop("Idle specification first"),
    "topology": gettext_noop("Near to the job's other tasks"),
    "performance": gettext_noop("Highest performance first"),
    "security": gettext_noop("Highest security first"),
    "fairness": gettext_noop("Fair load"),
}

MODEL_NAMES: Mapping[str, str | Promise] = {
    "weighted_sum": gettext_lazy("Weighted sum"),
    "worst_score": gettext_lazy("The worst score under any policy"),
}

# Of one centre, with the figures that the filter gives.
_OF_CENTRE: Mapping[AnyCode, str] = {
    Code.UNAVAILABLE: gettext_noop("The centre is not available."),
    Code.STALE: gettext_noop(
        "The centre was last heard of %(age_s)s s ago; after %(limit_s)s s its figures do not count."
    ),
    Code.DRAINED: gettext_noop("The centre is being drained: it gets no new work."),
    Code.NOT_SERVED: gettext_noop("The centre does not serve the tenant %(tenant)s."),
    Code.COOLING_OFF: gettext_noop(
        "The last %(failures)s dispatches to the centre failed: it rests for a while."
    ),
    Code.NOT_NAMED: gettext_noop("Other centres are named for this task: %(named)s."),
    Code.REFUSED_IT: gettext_noop("The centre refused this task in this cycle."),
    Code.NOT_OFFERED: gettext_noop("The centre does not offer the specification %(spec)s."),
    Code.JOB_TYPE: gettext_noop(
        "The specification %(spec)s is for jobs of the types %(supported)s, not %(job_type)s."
    ),
    Code.IMAGE_MISSING: gettext_noop("The image %(image)s is not at the centre and cannot be copied there."),
    Code.IMAGE_UNFIT: gettext_noop("The image %(image)s does not fit the specification %(spec)s."),
    Code.SECURITY_GRADE: gettext_noop(
        "The centre's security grade is %(grade)s; the task asks for at least %(least)s."
    ),
    Code.DATA_STAYS: gettext_noop("The data %(data)s is not at the centre, and stays where it is."),
    Code.DATA_NOWHERE: gettext_noop("The data %(data)s is at no centre."),
    Code.NO_ROOM: gettext_noop("Too little %(resource)s: %(needed)s needed, %(free)s free."),
}
# For how many centres a filter is the first that refuses.
_COUNTED: Mapping[AnyCode, str] = {
    Code.UNAVAILABLE: gettext_noop("Not available: %(centres)s centres."),
    Code.STALE: gettext_noop("Not heard of lately: %(centres)s centres."),
    Code.DRAINED: gettext_noop("Being drained: %(centres)s centres."),
    Code.NOT_SERVED: gettext_noop("Do not serve this tenant: %(centres)s centres."),
    Code.COOLING_OFF: gettext_noop("Resting after failures: %(centres)s centres."),
    Code.NOT_NAMED: gettext_noop("Not named for the task: %(centres)s centres."),
    Code.REFUSED_IT: gettext_noop("Refused the task in this cycle: %(centres)s centres."),
    Code.NOT_OFFERED: gettext_noop("Without the specification: %(centres)s centres."),
    Code.JOB_TYPE: gettext_noop("Specification not for this type of job: %(centres)s centres."),
    Code.IMAGE_MISSING: gettext_noop("Without the image: %(centres)s centres."),
    Code.IMAGE_UNFIT: gettext_noop("Image unfit for the specification: %(centres)s centres."),
    Code.SECURITY_GRADE: gettext_noop("Security grade too low: %(centres)s centres."),
    Code.DATA_STAYS: gettext_noop("Without the data, which stays where it is: %(centres)s centres."),
    Code.DATA_NOWHERE: gettext_noop("Data found nowhere: %(centres)s centres."),
    Code.NO_ROOM: gettext_noop("Too little room: %(centres)s centres."),
}
_GRADE_UNKNOWN = gettext_noop(
    "The centre's security grade is not known; the task asks for at least %(least)s."
)
_ONLY_CENTRE = gettext_noop("There is no other centre.")
_OTHERS: Mapping[AnyCode, str] = {
    SourceCode.IS_TARGET: gettext_noop("It is the centre that wants the data."),
    SourceCode.UNAVAILABLE: gettext_noop("The centre is not available."),
    SourceCode.UNREADABLE: gettext_noop("Other centres may not read the data there."),
    SourceCode.AT_LIMIT: gettext_noop("It has %(downloads)s downloads; %(limit)s at once are allowed."),
    Finding.CHOSEN: gettext_noop("%(centre)s is best, with %(score)s of 100 points."),
    Finding.ONLY_CANDIDATE: gettext_noop("It is the only candidate; %(refused)s others are refused."),
    Finding.AHEAD_BY_POLICY: gettext_noop(
        "%(policy)s: %(centre)s has %(score)s points, the next, %(other)s, has %(others)s."
    ),
    Finding.TIE_RUNNING: gettext_noop(
        "%(other)s has as many points; %(centre)s runs fewer tasks: %(running)s, the other %(others)s."
    ),
    Finding.TIE_PRICE: gettext_noop(
        "%(other)s has as many points and runs as many tasks; %(centre)s is cheaper."
    ),
    Finding.TIE_ID: gettext_noop("%(other)s is equal in all; %(centre)s comes first by its ID."),
    Finding.UNKNOWN_FIGURE: gettext_noop(
        "%(policy)s: nothing is known of %(centre)s, which counts as 0 points."
    ),
    Finding.NO_CANDIDATE: gettext_noop("None of %(centres)s centres can take the task."),
    Finding.GANG_INCOMPLETE: gettext_noop(
        "All tasks of this job start together, and %(task)s finds no centre."
    ),
    Finding.FUNDS_TOO_LOW: gettext_noop(
        "The tenant's account lacks money: ¥%(wanted)s is set aside before a start, and ¥%(spendable)s can be spent."
    ),
    Finding.NO_ACCOUNT: gettext_noop("The tenant's account is not opened: ask the operator to open it."),
    Finding.DATA_THERE: gettext_noop("The data %(data)s is there."),
    Fault.WEIGHTS_SUM: gettext_noop(
        "The weights have to sum to 1, and sum to %(permille)s thousandths. Change them."
    ),
    Fault.WEIGHT_NEGATIVE: gettext_noop("The weight of %(policy)s is below 0. Give one from 0 to 1."),
    Fault.WEIGHT_TWICE: gettext_noop("%(policy)s has two weights. Give one."),
    Fault.WEIGHT_FINE: gettext_noop(
        "The weight of %(policy)s, %(given)s, is finer than a thousandth. Round it."
    ),
    Fault.WEIGHTS_TEXT: gettext_noop("The weight of %(policy)s, %(given)s, is no number like 0.25."),
    Fault.POLICY_UNKNOWN: gettext_noop("There is no policy %(policy)s. There are: %(known)s."),
    Fault.POLICY_TWICE: gettext_noop("The policy %(policy)s is named twice. Name it once."),
    Fault.POLICY_MISSING: gettext_noop(
        "The policy %(policy)s has a weight and no score. Give its score too."
    ),
    Fault.MODEL_UNKNOWN: gettext_noop("There is no evaluation model %(model)s. There are: %(known)s."),
    Fault.LENGTHS_DIFFER: gettext_noop(
        "%(policies)s policies and %(scores)s scores are given. Give one score for each policy."
    ),
    Fault.SCORE_RANGE: gettext_noop("The score of %(policy)s, %(score)s, is not from 0 to 100."),
    Fault.REPLICAS: gettext_noop("%(task)s has %(replicas)s replicas. Give at least 1."),
    Fault.TASK_GAP: gettext_noop(
        "%(missing)s is missing, and there is a %(last)s. Number the tasks without a gap."
    ),
    Fault.TASK_KEY: gettext_noop("%(key)s is no name of a task. The names are task1, task2 and so on."),
    Fault.TASKS_SHAPE: gettext_noop(
        "The tasks have to be a list, or an object with the keys task1, task2 and so on."
    ),
    Fault.TASKS_EMPTY: gettext_noop("A job has at least one task."),
    Fault.RETRIES: gettext_noop(
        "A job is tried again %(retries)s times. Give a whole number of at least %(least)s, or none for never."
    ),
    Fault.STATE_POLICY: gettext_noop("There is no job state policy %(policy)s. There are: %(known)s."),
    Fault.ID_TWICE: gettext_noop("The ID %(id)s stands twice (%(kind)s)."),
    Fault.CENTRE_UNKNOWN: gettext_noop("There is no centre %(centre)s."),
    Fault.TASK_UNKNOWN: gettext_noop("The task %(task)s is not on its way to a centre."),
    Fault.TOO_SMALL: gettext_noop("%(figure)s is %(value)s and has to be at least %(least)s."),
    Fault.TOO_LARGE: gettext_noop("%(figure)s is %(value)s and may be at most %(most)s."),
    Fault.TIMES: gettext_noop("The copy has to begin before the run, and the run before its end."),
    Fault.NO_POWER: gettext_noop("No power was measured from %(from_s)s to %(to_s)s (%(curve)s)."),
}


def reason_text(reason: Reason, names: Mapping[str, str] | None = None) -> str:
    """The sentence of a reason, in the current language; centres are called by `names` where their IDs stand there."""
    figures: dict[str, Any] = dict(reason.params)
    if reason.code in _COUNTED and "centres" in figures:
        text = _COUNTED[reason.code]
    elif reason.code is Code.SECURITY_GRADE and figures["grade"] is None:
        text = _GRADE_UNKNOWN
    elif reason.code is Finding.ONLY_CANDIDATE and not figures["refused"]:
        text = _ONLY_CENTRE
    else:
        text = _OF_CENTRE.get(reason.code) or _OTHERS[reason.code]
    if isinstance(reason.code, Finding) and "policy" in figures:
        figures["policy"] = policy_name(figures["policy"])
    if "data" in figures:
        figures["data"] = data_name(str(figures["data"]))
    if "resource" in figures:
        figures |= _amounts_said(str(figures["resource"]), figures)
    if names:
        figures |= {name: names.get(figures[name], figures[name]) for name in _CENTRES if name in figures}
        if "named" in figures:
            figures["named"] = ", ".join(names.get(code, code) for code in figures["named"].split(", "))
    return _(text) % figures


# The figures of reasons that are IDs of centres.
_CENTRES = ("centre", "other")


def _amounts_said(resource: str, figures: Mapping[str, Any]) -> dict[str, str]:
    """A resource by its name, and amounts of it with their units."""
    label = AMOUNT_LABELS.get(resource, resource)
    return {"resource": str(label)} | {
        name: amount_said(resource, figures[name]) for name in ("needed", "free")
    }


def data_name(engine_id: str) -> str:
    """What people call data of which the engine knows the ID: name and version, without the number that tells it from
    others of that name."""
    return engine_id.rpartition("@")[0] or engine_id


def policy_name(policy_id: str) -> str:
    """What a policy is called, in the current language; its ID where it has no name."""
    name = POLICY_NAMES.get(policy_id)
    return policy_id if name is None else _(name)


# What centres and their adapters say in refusing a job, with figures: kept in English, for readers of all languages.
_CAUSES = (
    gettext_noop("%(center)s takes no work now."),
    gettext_noop("A key has letters, digits, dots and dashes, %(length)s of them at most."),
    gettext_noop("A key has letters, digits and dashes, %(length)s of them at most."),
    gettext_noop("%(name)s is no variable that a job can have."),
    gettext_noop("The settings of this centre name no device that counts as %(quantity)s."),
    gettext_noop("A job's command and variables have %(bytes)s bytes at most there."),
    gettext_noop("Ray refuses the job: %(text)s"),
    gettext_noop("Slurm refuses the token of %(user)s: %(text)s"),
    gettext_noop("The token of %(user)s expired at %(time)s: make a new one."),
    gettext_noop("The centre has further jobs under this key: %(others)s."),
)
_ANYTHING = r"(?P<\1>.+)"
_FIGURE = re.compile(r"%\\\((\w+)\\\)s")


def cause_text(kept: str) -> str:
    """A cause as it was kept, in the current language as far as it is ours: words of an engine stay as they came."""
    if not kept:
        return ""
    said = _(kept)
    if said != kept:
        return said
    for cause, pattern in _causes():
        if found := pattern.fullmatch(kept):
            return (found["engine"] or "") + _(cause) % found.groupdict()
    return kept


@cache
def _causes() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Each with what recognises it: any text in the places of its figures, and words of the engine before it."""
    return tuple(
        (cause, re.compile(rf"(?P<engine>.+ )??{_FIGURE.sub(_ANYTHING, re.escape(cause))}", re.DOTALL))
        for cause in _CAUSES
    )
