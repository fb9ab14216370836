"""How figures become scores, and scores one sum: integers of 0 to 100, rounded half up (JC-Q-10)."""

from __future__ import annotations

from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from apps.jointcloud.engine.types import ONE

Row: TypeAlias = NDArray[np.int64]
UNKNOWN = int(np.iinfo(np.int64).min)
"""Stands among figures for one that nobody knows."""
BEST = 100
"""The highest score."""


def normalised(figures: Row) -> Row:
    """Scores of rows of figures, more being better, over all their columns: the best 100, the worst 0, what is between
    in proportion and rounded half up; all equal 100, unknown 0."""
    most = np.maximum.reduce(figures, axis=-1, keepdims=True)
    least = np.minimum.reduce(figures, axis=-1, keepdims=True)
    # The least figure is smaller than any that is known where one is unknown.
    if least.min() == UNKNOWN:
        return _normalised_known(figures, most)
    span = most - least
    return _scaled(figures - least, span)


def _normalised_known(figures: Row, most: Row) -> Row:
    known = figures != UNKNOWN
    least = np.where(known, figures, most).min(axis=-1, keepdims=True)
    return np.where(known, _scaled(np.where(known, figures - least, 0), most - least), 0)


def _scaled(above: Row, span: Row) -> Row:
    # Where the span is 0, all is equal: 201 // 2 is the best score.
    level = span == 0
    scores: Row = (200 * above + (span + 201 * level)) // (2 * (span + level))
    return scores


def weighted(scores: Row, weights: Row) -> Row:
    """Formula 2 before its rounding: of every column the sum of its scores, each times its policy's permille."""
    return weights @ scores


Sums = TypeVar("Sums", int, Row)


def rounded(sums: Sums) -> Sums:
    """The final scores of such sums: whole, half up."""
    return (sums + ONE // 2) // ONE
