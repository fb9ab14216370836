"""What a request says, as the engine takes it: tasks in order, replicas, weights."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from apps.jointcloud.engine.check import policies_check
from apps.jointcloud.engine.reasons import BadInput, Fault
from apps.jointcloud.engine.types import ONE, Weights

_PART = re.compile(r"(-?)([0-9]{1,4})(?:\.([0-9]{1,20}))?", re.ASCII)
_DIGITS = 3
_TASK = re.compile(r"task([1-9][0-9]{0,8})")


def tasks_in_order(given: object) -> list[Any]:
    """The tasks of a request: a list, or an object with the keys task1, task2 … without a gap, in numeric order
    (JC-Q-1).

    `BadInput` names what is missing or no such key.
    """
    if isinstance(given, Mapping):
        found = {_number(key): task for key, task in given.items()}
        for number in range(1, len(found) + 1):
            if number not in found:
                raise BadInput(Fault.TASK_GAP, missing=f"task{number}", last=f"task{max(found)}")
        tasks = [found[number] for number in sorted(found)]
    elif isinstance(given, Sequence) and not isinstance(given, str | bytes):
        tasks = list(given)
    else:
        raise BadInput(Fault.TASKS_SHAPE)
    if not tasks:
        raise BadInput(Fault.TASKS_EMPTY)
    return tasks


def _number(key: object) -> int:
    match = _TASK.fullmatch(key) if isinstance(key, str) else None
    if match is None:
        raise BadInput(Fault.TASK_KEY, key=str(key)[:64])
    return int(match[1])


def weights_read(given: Mapping[str, str | int | Decimal]) -> Weights:
    """Weights from parts of 1, as people write them ("0.25"): exact, in steps of a thousandth.

    `BadInput` where one is no number or finer, where they do not sum to 1, or where one names no policy.
    """
    weights = tuple((policy, _permille(policy, part)) for policy, part in given.items())
    policies_check(weights)
    return weights


def _permille(policy: str, part: str | int | Decimal) -> int:
    match = _PART.fullmatch(str(part))
    if match is None:
        raise BadInput(Fault.WEIGHTS_TEXT, policy=policy, given=str(part)[:32])
    digits = (match[3] or "").rstrip("0")
    if len(digits) > _DIGITS:
        raise BadInput(Fault.WEIGHT_FINE, policy=policy, given=str(part)[:32])
    permille = int(match[2]) * ONE + int(digits.ljust(_DIGITS, "0"))
    return -permille if match[1] else permille
