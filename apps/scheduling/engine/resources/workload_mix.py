"""What kinds of work arrive, and how often: the measure of what a placement takes from those still to come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from apps.scheduling.engine.model.types import Request, Typical


def tally(requests: Iterable[Request], known: Iterable[Typical] = ()) -> tuple[Typical, ...]:
    """The kinds among these requests, added to those already known, in a fixed order.

    Work without devices is left out: it leaves the devices to others whatever is done with it.
    """
    counts = Counter({replace(kind, count=1): kind.count for kind in known})
    for request in requests:
        if request.compute_percent:
            counts[_kind(request)] += 1
    kinds = (replace(kind, count=count) for kind, count in counts.items())
    return tuple(sorted(kinds, key=_order))


def _kind(request: Request) -> Typical:
    models = request.models if request.model is None else request.models | {request.model}
    together = request.shares if request.single_node else request.shares_per_replica
    return Typical(request.compute_percent, together, request.host_cpu_milli, models)


def _order(kind: Typical) -> tuple[int, int, int, int, tuple[str, ...]]:
    return (-kind.count, kind.compute_percent, kind.shares, kind.host_cpu_milli, tuple(sorted(kind.models)))
