"""Evaluation models (JC-6.6.3): what makes one final score of a centre's scores under all policies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from apps.jointcloud.engine.reasons import BadInput, Fault
from apps.jointcloud.engine.scores import Row, rounded, weighted


@dataclass(frozen=True, slots=True)
class Model:
    """`final`: of scores (a row a policy, a column a centre) and the policies' permille, the centres' final scores.

    `adds_up`: it is `rounded` of `weighted`, so that a cycle may keep parts of the sum.
    """

    id: str
    final: Callable[[Row, Row], Row]
    adds_up: bool = False


def _weighted_sum(scores: Row, weights: Row) -> Row:
    return rounded(weighted(scores, weights))


def _worst_score(scores: Row, weights: Row) -> Row:
    least: Row = scores[weights > 0].min(axis=0)
    return least


WEIGHTED_SUM = Model("weighted_sum", _weighted_sum, adds_up=True)
"""Formula 2, the default."""
WORST_SCORE = Model("worst_score", _worst_score)
"""A centre is as good as its worst score under any policy with a weight: no strength makes up for a weakness."""
MODELS: dict[str, Model] = {model.id: model for model in (WEIGHTED_SUM, WORST_SCORE)}


def model_of(model_id: str) -> Model:
    """The model of that name; `BadInput` where there is none."""
    found = MODELS.get(model_id)
    if found is None:
        raise BadInput(Fault.MODEL_UNKNOWN, model=model_id, known=", ".join(sorted(MODELS)))
    return found


def permilles(weights: dict[str, int]) -> Row:
    """The weights as a row, in their order."""
    return np.array(list(weights.values()), np.int64)
