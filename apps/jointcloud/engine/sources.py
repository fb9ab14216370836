"""From where data is copied to the centre of a task (JC-6.3.2): sources that hold it, filtered, scored, in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from apps.jointcloud.engine.factors import row
from apps.jointcloud.engine.reasons import BadInput, Fault, Reason, SourceCode, reason
from apps.jointcloud.engine.scores import UNKNOWN, normalised, rounded, weighted
from apps.jointcloud.engine.types import MOST_COUNT, Weights, figure_check, weights_check

PPM = 10**6

DEFAULT_WEIGHTS: Weights = (("load", 250), ("time", 250), ("topology", 200), ("state", 200), ("rate", 100))


@dataclass(frozen=True, slots=True)
class Source:
    """A centre that holds the data, with its features (JC-6.3.2-Fa to -Fg); None is not known.

    `is_readable`: other centres may read it there. `succeeded`, `interrupted`, `failed`: downloads so far, by how they
    ended. `rate_limit`: the highest rate allowed, in kB/s; None has no limit. `concurrency_limit`: at most so many
    downloads at once; None has no limit. `distance`: from the centre that wants it. `mean_time_s`: of earlier
    downloads.
    """

    centre_id: str
    is_available: bool = True
    is_readable: bool = True
    succeeded: int = 0
    interrupted: int = 0
    failed: int = 0
    rate_limit: int | None = None
    concurrency_limit: int | None = None
    current_downloads: int = 0
    distance: int | None = None
    mean_time_s: int | None = None

    def __post_init__(self) -> None:
        for name in ("succeeded", "interrupted", "failed", "current_downloads", "distance", "mean_time_s"):
            figure_check(name, getattr(self, name), 0, MOST_COUNT)
        figure_check("rate_limit", self.rate_limit, 1, MOST_COUNT)
        figure_check("concurrency_limit", self.concurrency_limit, 1, MOST_COUNT)


@dataclass(frozen=True, slots=True)
class Evaluator:
    """An evaluation policy: of a source a whole figure, more being better, None where it knows none."""

    id: str
    figure: Callable[[Source], int | None]


def _load(source: Source) -> int:
    if source.concurrency_limit is None:
        return 0
    return -(source.current_downloads * PPM // source.concurrency_limit)


def _time(source: Source) -> int | None:
    return None if source.mean_time_s is None else -source.mean_time_s


def _topology(source: Source) -> int | None:
    return None if source.distance is None else -source.distance


def _state(source: Source) -> int | None:
    tried = source.succeeded + source.interrupted + source.failed
    return source.succeeded * PPM // tried if tried else None


def _rate(source: Source) -> int:
    return MOST_COUNT + 1 if source.rate_limit is None else source.rate_limit


EVALUATORS: dict[str, Evaluator] = {
    evaluator.id: evaluator
    for evaluator in (
        Evaluator("load", _load),  # JC-6.3.2-Ea
        Evaluator("time", _time),  # JC-6.3.2-Eb
        Evaluator("topology", _topology),  # JC-6.3.2-Ec
        Evaluator("state", _state),  # JC-6.3.2-Ed
        Evaluator("rate", _rate),  # JC-6.3.2-Ee
    )
}


class Ranked(NamedTuple):
    """A source with its score under each evaluator, None where it knows no figure (counts as 0), and the final one."""

    centre_id: str
    final: int
    scores: tuple[tuple[str, int | None], ...]


class SourceList(NamedTuple):
    """The sources, best first, and the others with why they are none."""

    sources: tuple[Ranked, ...]
    refused: tuple[tuple[str, Reason], ...]


def choose_sources(
    sources: tuple[Source, ...], target_id: str, *, weights: Weights = DEFAULT_WEIGHTS
) -> SourceList:
    """The ordered list for a copy to the centre `target_id`: by the weighted sum of scores of 0 to 100 over those that
    are not refused, equal ones by fewer current downloads, then the smaller ID.

    `BadInput` where weights do not add up to 1 or name what is no evaluator, or a centre stands twice.
    """
    weights_check(weights)
    for name, _ in weights:
        if name not in EVALUATORS:
            raise BadInput(Fault.POLICY_UNKNOWN, policy=name, known=", ".join(sorted(EVALUATORS)))
    by_id = {source.centre_id: source for source in sources}
    if len(by_id) < len(sources):
        twice = next(name for name in by_id if sum(s.centre_id == name for s in sources) > 1)
        raise BadInput(Fault.ID_TWICE, kind="source", id=twice)
    why = {name: refusal(by_id[name], target_id) for name in sorted(by_id)}
    refused = tuple((name, told) for name, told in why.items() if told is not None)
    left = [by_id[name] for name, told in why.items() if told is None]
    if not left:
        return SourceList((), refused)
    figures = np.array([row(EVALUATORS[name].figure(source) for source in left) for name, _ in weights])
    scores = normalised(figures)
    finals = rounded(weighted(scores, np.array([weight for _, weight in weights], np.int64)))
    ranked = [
        Ranked(
            source.centre_id,
            int(finals[i]),
            tuple(
                (name, None if figures[e, i] == UNKNOWN else int(scores[e, i]))
                for e, (name, _) in enumerate(weights)
            ),
        )
        for i, source in enumerate(left)
    ]
    ranked.sort(key=lambda each: (-each.final, by_id[each.centre_id].current_downloads, each.centre_id))
    return SourceList(tuple(ranked), refused)


def refusal(source: Source, target_id: str) -> Reason | None:
    """Why data cannot be copied from there; None where it can."""
    if source.centre_id == target_id:
        return reason(SourceCode.IS_TARGET)
    if not source.is_available:
        return reason(SourceCode.UNAVAILABLE)
    if not source.is_readable:
        return reason(SourceCode.UNREADABLE)
    limit = source.concurrency_limit
    if limit is not None and source.current_downloads >= limit:
        return reason(SourceCode.AT_LIMIT, downloads=source.current_downloads, limit=limit)
    return None
