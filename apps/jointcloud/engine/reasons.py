"""Codes with figures: why a centre is refused, why one was chosen, what is wrong with input. Sentences: `text.py`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

Param: TypeAlias = str | int | bool | None


class Code(StrEnum):
    """Why a centre is no candidate for a task. The order is that in which the filters are told."""

    UNAVAILABLE = "unavailable"
    STALE = "stale"
    DRAINED = "drained"
    NOT_SERVED = "not_served"
    COOLING_OFF = "cooling_off"
    NOT_NAMED = "not_named"
    REFUSED_IT = "refused_it"
    NOT_OFFERED = "not_offered"
    JOB_TYPE = "job_type"
    IMAGE_MISSING = "image_missing"
    IMAGE_UNFIT = "image_unfit"
    SECURITY_GRADE = "security_grade"
    DATA_STAYS = "data_stays"
    DATA_NOWHERE = "data_nowhere"
    NO_ROOM = "no_room"


class SourceCode(StrEnum):
    """Why data is not copied from a centre that holds it."""

    IS_TARGET = "source_is_target"
    UNAVAILABLE = "source_unavailable"
    UNREADABLE = "source_unreadable"
    AT_LIMIT = "source_at_limit"


class Finding(StrEnum):
    """What is said of an evaluation as a whole."""

    CHOSEN = "chosen"
    ONLY_CANDIDATE = "only_candidate"
    AHEAD_BY_POLICY = "ahead_by_policy"
    TIE_RUNNING = "tie_running"
    TIE_PRICE = "tie_price"
    TIE_ID = "tie_id"
    UNKNOWN_FIGURE = "unknown_figure"
    NO_CANDIDATE = "no_candidate"
    GANG_INCOMPLETE = "gang_incomplete"
    FUNDS_TOO_LOW = "funds_too_low"
    NO_ACCOUNT = "no_account"
    DATA_THERE = "data_there"


class Fault(StrEnum):
    """What is wrong with input."""

    WEIGHTS_SUM = "weights_sum"
    WEIGHT_NEGATIVE = "weight_negative"
    WEIGHT_TWICE = "weight_twice"
    WEIGHT_FINE = "weight_fine"
    WEIGHTS_TEXT = "weights_text"
    POLICY_UNKNOWN = "policy_unknown"
    POLICY_TWICE = "policy_twice"
    POLICY_MISSING = "policy_missing"
    MODEL_UNKNOWN = "model_unknown"
    LENGTHS_DIFFER = "lengths_differ"
    SCORE_RANGE = "score_range"
    REPLICAS = "replicas"
    TASK_GAP = "task_gap"
    TASK_KEY = "task_key"
    TASKS_SHAPE = "tasks_shape"
    TASKS_EMPTY = "tasks_empty"
    RETRIES = "retries"
    STATE_POLICY = "state_policy"
    ID_TWICE = "id_twice"
    CENTRE_UNKNOWN = "centre_unknown"
    TASK_UNKNOWN = "task_unknown"
    TOO_SMALL = "too_small"
    TOO_LARGE = "too_large"
    TIMES = "times"
    NO_POWER = "no_power"


AnyCode: TypeAlias = Code | SourceCode | Finding | Fault


@dataclass(frozen=True, slots=True)
class Reason:
    """A code and the figures of its sentence, by name in fixed order."""

    code: AnyCode
    params: tuple[tuple[str, Param], ...] = ()

    def get(self, name: str) -> Param:
        """The figure called `name`, None where the reason has no such figure."""
        return dict(self.params).get(name)


def reason(code: AnyCode, **params: Param) -> Reason:
    """A reason with its figures."""
    return Reason(code, tuple(params.items()))


class BadInput(ValueError):
    """The engine was given what cannot be meant; `reason` says what, and nothing was decided."""

    def __init__(self, code: Fault, **params: Param) -> None:
        self.reason = reason(code, **params)
        super().__init__(f"{code}: " + ", ".join(f"{name}={value}" for name, value in params.items()))
