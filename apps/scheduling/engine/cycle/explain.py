"""Why a request waits, in one sentence. The texts are English; the faces translate them by `TEXTS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from apps.scheduling.engine.cycle.plan import Plan
from apps.scheduling.engine.model.types import Param, Reason, ReasonCode


def gettext_noop(text: str) -> str:
    """Mark a text for the message catalogue; the engine itself speaks English only."""
    return text


TEXTS: dict[ReasonCode, str] = {
    ReasonCode.REQUEST_INVALID: gettext_noop("The request is wrong: %(field)s cannot be %(value)s."),
    ReasonCode.CONTRADICTION: gettext_noop(
        "The request contradicts itself: %(first)s and %(second)s exclude each other."
    ),
    ReasonCode.DEADLINE_PAST: gettext_noop(
        "It cannot be done by its deadline any more: it lacks %(late_s)s. Submit it with a later one."
    ),
    ReasonCode.TOO_EARLY: gettext_noop("It asks to start later, in %(wait_s)s."),
    ReasonCode.OUTSIDE_WINDOW: gettext_noop(
        "Work starts only within the valid periods, and where it can end before they do; the next one begins in "
        "%(wait_s)s."
    ),
    ReasonCode.WINDOWS_OVER: gettext_noop("All its valid periods are over, or too short for its run time."),
    ReasonCode.RESERVATION_UNKNOWN: gettext_noop(
        "There is no reservation %(reservation)s for this tenant and queue."
    ),
    ReasonCode.RESERVATION_CLOSED: gettext_noop(
        "Reservation %(reservation)s begins in %(wait_s)s, or would end before the work does."
    ),
    ReasonCode.QUEUE_UNKNOWN: gettext_noop("There is no queue %(queue)s; choose another one."),
    ReasonCode.QUEUE_NOT_UP: gettext_noop("Queue %(queue)s is %(state)s and starts no work."),
    ReasonCode.TENANT_NOT_ADMITTED: gettext_noop("Queue %(queue)s does not admit tenant %(tenant)s."),
    ReasonCode.QUEUE_QUOTA: gettext_noop(
        "Queue %(holder)s is at its limit of %(dimension)s: it may use %(limit)s, %(used)s are in use, %(kept)s are "
        "kept for others, %(asked)s more are asked."
    ),
    ReasonCode.TENANT_QUOTA: gettext_noop(
        "Tenant %(holder)s is at its limit of %(dimension)s: it may use %(limit)s, %(used)s are in use, %(asked)s "
        "more are asked."
    ),
    ReasonCode.MODEL_QUOTA: gettext_noop(
        "Tenant %(holder)s may use %(limit)s of %(dimension)s on devices of model %(model)s: %(used)s are in use, "
        "%(asked)s more are asked."
    ),
    ReasonCode.BEHIND_HEAD: gettext_noop(
        "It waits behind %(head)s, which is first in its queue and has no room yet."
    ),
    ReasonCode.HELD_FOR_OTHERS: gettext_noop(
        "There is room, but it is kept for a reservation or for work that starts before this would end."
    ),
    ReasonCode.PREEMPTING: gettext_noop("Room is being made: %(count)s of lower standing are being stopped."),
    ReasonCode.SHRINKING: gettext_noop("Room is being made: %(count)s of elastic work are giving up shares."),
    ReasonCode.MOVING: gettext_noop("Room is being made: %(count)s shares are being moved to other devices."),
    ReasonCode.POOL_EMPTY: gettext_noop("The pool has no device."),
    ReasonCode.DEVICE_PIN: gettext_noop("The pool has no device %(asked)s."),
    ReasonCode.NODE_PIN: gettext_noop("Node %(asked)s has no suitable device."),
    ReasonCode.RESOURCE_GROUP: gettext_noop("No suitable device is in resource group %(asked)s."),
    ReasonCode.GROUP_RESERVED: gettext_noop(
        "All %(devices)s suitable devices are kept for resource groups; name one that you may use."
    ),
    ReasonCode.LOCAL_NODE: gettext_noop("The local node %(asked)s has no suitable device."),
    ReasonCode.VENDOR: gettext_noop("No suitable device is of vendor %(asked)s."),
    ReasonCode.MODEL: gettext_noop("No suitable device is of model %(asked)s."),
    ReasonCode.LABEL: gettext_noop("No suitable device carries the labels %(asked)s."),
    ReasonCode.STORAGE: gettext_noop("No suitable node can mount volumes of this centre's storage."),
    ReasonCode.CONTAINERS: gettext_noop("No suitable node runs work in container images for %(asked)s."),
    ReasonCode.PACKAGES: gettext_noop(
        "No suitable node installs packages: use an image that has them, or ask the operator to set an index."
    ),
    ReasonCode.PROGRAM: gettext_noop(
        "No suitable node has %(asked)s: ask the operator to install its server, or use an image that has it."
    ),
    ReasonCode.DRIVER: gettext_noop("No suitable device works with driver %(asked)s."),
    ReasonCode.NODE_NOT_READY: gettext_noop("No node with a suitable device is ready (%(devices)s devices)."),
    ReasonCode.NODE_CLOSED: gettext_noop(
        "All nodes with a suitable device are closed for new work (%(devices)s devices)."
    ),
    ReasonCode.DEVICE_DISABLED: gettext_noop("All %(devices)s suitable devices are disabled."),
    ReasonCode.DEVICE_UNHEALTHY: gettext_noop("All %(devices)s suitable devices are unhealthy."),
    ReasonCode.NOT_VIRTUAL: gettext_noop(
        "All %(devices)s suitable devices are physical cards, which are given whole; no share of one can be had."
    ),
    ReasonCode.NOT_PHYSICAL: gettext_noop(
        "None of the %(devices)s suitable devices is a physical card; whole cards are asked."
    ),
    ReasonCode.AFFINITY: gettext_noop(
        "Work of affinity %(asked)s runs on a device that does not suit this request."
    ),
    ReasonCode.ANTI_AFFINITY: gettext_noop(
        "On each of the %(devices)s suitable devices runs work that is kept apart by %(asked)s."
    ),
    ReasonCode.ALONE_DEVICE: gettext_noop(
        "Its queue gives it devices of its own, and on each of the %(devices)s suitable ones other work runs."
    ),
    ReasonCode.ALONE_NODE: gettext_noop(
        "Its queue gives it nodes of its own, and on each node with one of the %(devices)s suitable devices other work "
        "runs."
    ),
    ReasonCode.SHARED_OUT: gettext_noop(
        "On each of the %(devices)s suitable devices is as much work already as may share it."
    ),
    ReasonCode.CARD_NOT_IDLE: gettext_noop("None of the %(devices)s suitable devices is wholly free."),
    ReasonCode.SIZE: gettext_noop(
        "The %(devices)s suitable devices give shares of fixed sizes, and none of %(asked_percent)s %% with "
        "%(asked_mib)s: ask for %(percent)s %% with %(mib)s."
    ),
    ReasonCode.NO_SIZE: gettext_noop(
        "The %(devices)s suitable devices give shares of fixed sizes, none as large as %(asked_percent)s %% with "
        "%(asked_mib)s: the largest is %(percent)s %% with %(mib)s."
    ),
    ReasonCode.COMPUTE_PERCENT: gettext_noop(
        "Not enough compute: %(asked)s %% of one device asked, at most %(free)s %% free on %(devices)s "
        "devices."
    ),
    ReasonCode.MEMORY_MIB: gettext_noop(
        "Not enough accelerator memory: %(asked)s of one device asked, at most %(free)s free on "
        "%(devices)s devices with enough compute."
    ),
    ReasonCode.COUNT: gettext_noop(
        "Only %(free)s of the %(asked)s shares would fit now; all start together or none."
    ),
    ReasonCode.COUNT_ON_ONE_NODE: gettext_noop(
        "No single node has room for all %(asked)s shares; the best would take %(free)s."
    ),
    ReasonCode.REPLICA: gettext_noop(
        "No single node has room for a replica of %(asked)s shares; the best would take %(free)s."
    ),
    ReasonCode.REPLICAS: gettext_noop(
        "Only %(free)s of the %(asked)s replicas of %(each)s shares would fit now, each on one node; all start "
        "together or none."
    ),
    ReasonCode.HOST_CPU: gettext_noop(
        "Not enough processor time on the nodes with free devices: %(asked)s cores asked a share, at most %(free)s "
        "free."
    ),
    ReasonCode.HOST_MEMORY: gettext_noop(
        "Not enough main memory on the nodes with free devices: %(asked)s asked a share, at most %(free)s free."
    ),
    ReasonCode.SCRATCH_DISK: gettext_noop(
        "Not enough scratch disk on the nodes with free devices: %(asked)s asked a share, at most %(free)s free."
    ),
}

DIMENSION_TEXTS: dict[Param, str] = {
    "compute_percent": gettext_noop("compute"),
    "memory_mib": gettext_noop("accelerator memory"),
    "shares": gettext_noop("shares"),
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why one request waits, and its place in its queue from 1."""

    reason: Reason
    sentence: str
    position: int
    permanent: bool


@dataclass(frozen=True, slots=True)
class Words:
    """How a language tells sentences, lengths of time (s) and memory (MiB)."""

    text: Callable[[str], str]
    span: Callable[[int], str]
    mib: Callable[[int], str]


ENGLISH = Words(str, "{} s".format, "{} MiB".format)
_SPANS = ("wait_s", "late_s")
_MIB = ("mib", "asked_mib")
_AMOUNTS = ("limit", "used", "kept", "asked", "free")
_IN_MIB = {ReasonCode.MEMORY_MIB, ReasonCode.HOST_MEMORY, ReasonCode.SCRATCH_DISK}


def sentence(code: ReasonCode, params: Mapping[str, Any], words: Words = ENGLISH) -> str:
    """A reason as one sentence, its amounts with their units."""
    dimension = params.get("dimension", "memory_mib" if code in _IN_MIB else "")
    amount: Callable[[int], str] = {
        "compute_percent": "{} %".format, "memory_mib": words.mib,
    }.get(str(dimension), _cores if code is ReasonCode.HOST_CPU else str)  # fmt: skip
    shown = dict(params)
    shown |= {name: amount(params[name]) for name in _AMOUNTS if name in params and _is_number(params[name])}
    shown |= {name: words.span(params[name]) for name in _SPANS if name in params}
    shown |= {name: words.mib(params[name]) for name in _MIB if name in params}
    if "dimension" in params:
        shown["dimension"] = words.text(DIMENSION_TEXTS[params["dimension"]])
    return words.text(TEXTS[code]) % shown


def _cores(milli: int) -> str:
    return f"{milli / 1000:g}"


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def explain(plan: Plan, request_id: str) -> Explanation | None:
    """Why the request waits by this plan; None when the plan places it or does not know it."""
    refusal = plan.refusals.get(request_id)
    if refusal is None:
        return None
    return Explanation(
        refusal.reason,
        sentence(refusal.reason.code, dict(refusal.reason.params)),
        refusal.position,
        refusal.permanent,
    )
