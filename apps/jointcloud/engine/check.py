"""What a snapshot may not be. A fault of it is told before anything is decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from apps.jointcloud.engine.model import model_of
from apps.jointcloud.engine.policies.registry import policy_of
from apps.jointcloud.engine.reasons import BadInput, Fault
from apps.jointcloud.engine.types import Snapshot, Weights, figure_check, weights_check

MOST_CENTRES = 2**16 - 1


def snapshot_check(snapshot: Snapshot) -> None:
    """Raise where an ID stands twice, a weight names no policy, or the model is not known."""
    _once("centre", (centre.id for centre in snapshot.centres))
    _once("specification", (spec.id for spec in snapshot.specs))
    _once("image", (image.id for image in snapshot.images))
    _once("data", (data.id for data in snapshot.data))
    _once("job", (job.id for job in snapshot.jobs))
    _once("task", (task.id for job in snapshot.jobs for task in job.tasks))
    figure_check("centres", len(snapshot.centres), 0, MOST_CENTRES)
    model_of(snapshot.settings.model)
    used = {snapshot.settings.weights, *(job.weights for job in snapshot.jobs if job.weights is not None)}
    for weights in used:
        policies_check(weights)


def policies_check(weights: Weights) -> None:
    """Raise where weights are no weights (see `weights_check`) or name what is no policy."""
    weights_check(weights)
    for policy, _ in weights:
        policy_of(policy)


def _once(kind: str, names: Iterable[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise BadInput(Fault.ID_TWICE, kind=kind, id=name)
