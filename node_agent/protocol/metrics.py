"""Figures that work writes of itself: series by name, sent in numbered batches."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from node_agent.protocol.fields import Counter, Message, Sequence, Uid
from node_agent.protocol.metric_bounds import NAME_CHARACTERS, NAMES_PER_WORK, POINTS_PER_BATCH

METRICS_PER_SYNC = 10

MetricName = Annotated[
    str, StringConstraints(min_length=1, max_length=NAME_CHARACTERS, pattern=r"^[^\x00-\x1f\x7f]+$")
]
_Points = Field(min_length=1, max_length=POINTS_PER_BATCH)
# Seconds since 1970, by the clock of whoever wrote it.
Instant = Annotated[float, Field(ge=0, le=1e11)]
Value = Annotated[float, Field(allow_inf_nan=False)]


class MetricSeries(Message):
    """Points of one series: at each step a value and when it was."""

    name: MetricName
    steps: Annotated[tuple[Counter, ...], _Points]
    values: Annotated[tuple[Value, ...], _Points]
    times: Annotated[tuple[Instant, ...], _Points]

    @model_validator(mode="after")
    def _alike(self) -> Self:
        if not len(self.steps) == len(self.values) == len(self.times):
            raise ValueError("steps, values and times must be as many")
        return self


class MetricBatch(Message):
    """What the work of a slice has written since the batch before; `seq` rises within the slice."""

    slice_uid: Uid
    seq: Sequence
    series: Annotated[tuple[MetricSeries, ...], Field(min_length=1, max_length=NAMES_PER_WORK)]

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if sum(len(one.steps) for one in self.series) > POINTS_PER_BATCH:
            raise ValueError(f"more than {POINTS_PER_BATCH} points in one batch")
        return self
