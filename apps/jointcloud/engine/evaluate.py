"""All centres before one task: the candidates with the score under each policy and the final one, the others with why.

The interfaces A.5 (`policy_score`) and A.6 (`final_score`) and the pages ask here; the filters, policies and the model
are those of the cycle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from apps.jointcloud.engine.check import policies_check, snapshot_check
from apps.jointcloud.engine.cycle import placed_of
from apps.jointcloud.engine.factors import Ask, Factors
from apps.jointcloud.engine.filter import PASSES, first_refusals, refusals
from apps.jointcloud.engine.model import model_of
from apps.jointcloud.engine.policies.base import Policy
from apps.jointcloud.engine.policies.registry import policy_of
from apps.jointcloud.engine.reasons import BadInput, Fault, Reason
from apps.jointcloud.engine.room import Room
from apps.jointcloud.engine.scores import UNKNOWN, Row, normalised
from apps.jointcloud.engine.types import Job, Snapshot, Task, Weights


class Score(NamedTuple):
    """A candidate's score under one policy, 0 to 100. Where the policy knows no figure it is 0, and not known."""

    policy: str
    score: int
    is_known: bool
    permille: int
    """The policy's weight."""


@dataclass(frozen=True, slots=True)
class CentreStanding:
    """One centre before the task: refused for `reasons`, or a candidate with scores, final score and rank from 1."""

    centre_id: str
    reasons: tuple[Reason, ...] = ()
    scores: tuple[Score, ...] = ()
    final: int | None = None
    rank: int | None = None
    running_tasks: int = 0
    price: int | None = None
    """Of the task's specification there, minor currency per hour."""

    @property
    def is_candidate(self) -> bool:
        """Whether no filter refuses it."""
        return not self.reasons


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All centres before one task: candidates by rank, then the refused by ID."""

    job_id: str
    task_id: str
    centres: tuple[CentreStanding, ...]

    @property
    def chosen(self) -> CentreStanding | None:
        """The scheduling result (JC-6.6.3-3), None where no centre is a candidate."""
        return next((standing for standing in self.centres if standing.rank == 1), None)

    def of(self, centre_id: str) -> CentreStanding:
        """How one centre stands; `BadInput` where the snapshot had none of that ID."""
        for standing in self.centres:
            if standing.centre_id == centre_id:
                return standing
        raise BadInput(Fault.CENTRE_UNKNOWN, centre=centre_id)


class PolicyScore(NamedTuple):
    """What A.5 answers: 0 and not known where the policy has no figure, 0 for what is no candidate."""

    score: int
    is_known: bool
    is_candidate: bool


def evaluate(
    snapshot: Snapshot,
    job: Job,
    task: Task,
    *,
    now: int,
    weights: Weights | None = None,
    taken: Mapping[tuple[str, str], int] | None = None,
) -> Evaluation:
    """Every centre of the snapshot before this task of this job, which need not be in the snapshot.

    `weights` stand in for those of the job and of the settings, whose policies of weight 0 are told too. `taken`: how
    many replicas a cycle has bound since the snapshot, by centre and specification.
    """
    snapshot_check(snapshot)
    used = weights or job.weights or snapshot.settings.weights
    policies_check(used)
    factors = Factors(snapshot, now)
    room, ask = Room(factors), Ask(task, job, tuple(placed_of(factors, job)))
    for (centre_id, spec_id), replicas in (taken or {}).items():
        room.bind(factors.place[centre_id], spec_id, replicas)
    places = _candidates(factors, room, ask)
    policies = [policy_of(name) for name, _ in used]
    figures = _figures(policies, factors, room, ask)[:, places]
    scores = normalised(figures) if places.size else figures
    permille = np.array([weight for _, weight in used], np.int64)
    final = model_of(snapshot.settings.model).final(scores, permille)
    price = factors.price(task.spec_id)
    dear = np.where(price == UNKNOWN, np.iinfo(np.int64).max, price)[places]
    order = np.lexsort((places, dear, room.running[places], -final))
    candidates = {int(places[at]): (int(at), rank) for rank, at in enumerate(order, 1)}
    told = []
    for i, centre in enumerate(factors.centres):
        known_price = None if price[i] == UNKNOWN else int(price[i])
        if i not in candidates:
            told.append(
                CentreStanding(
                    centre.id,
                    refusals(factors, room, ask, i),
                    running_tasks=centre.running_tasks,
                    price=known_price,
                )
            )
            continue
        at, rank = candidates[i]
        rows = tuple(
            Score(name, int(scores[p, at]), bool(figures[p, at] != UNKNOWN), weight)
            for p, (name, weight) in enumerate(used)
        )
        told.append(
            CentreStanding(centre.id, (), rows, int(final[at]), rank, centre.running_tasks, known_price)
        )
    told.sort(key=lambda standing: (standing.rank or len(told) + 1, standing.centre_id))
    return Evaluation(job.id, task.id, tuple(told))


def policy_score(
    snapshot: Snapshot, policy_id: str, centre_id: str, *, now: int, request: tuple[Job, Task] | None = None
) -> PolicyScore:
    """A.5: a centre's score under a policy for a job's task, or for the default request (`default_request`).

    `BadInput` where the policy or the centre is not known.
    """
    snapshot_check(snapshot)
    policy = policy_of(policy_id)
    factors = Factors(snapshot, now)
    place = factors.place.get(centre_id)
    if place is None:
        raise BadInput(Fault.CENTRE_UNKNOWN, centre=centre_id)
    job, task = request or default_request(snapshot)
    room, ask = Room(factors), Ask(task, job, tuple(placed_of(factors, job)))
    places = _candidates(factors, room, ask)
    at = np.flatnonzero(places == place)
    if not at.size:
        return PolicyScore(0, False, False)
    figures = _figures([policy], factors, room, ask)[:, places]
    return PolicyScore(
        int(normalised(figures)[0, at[0]]), bool(figures[0, at[0]] != UNKNOWN), is_candidate=True
    )


def final_score(
    policy_ids: Sequence[str], scores: Sequence[int], weights: Weights, model: str = "weighted_sum"
) -> int:
    """A.6: the final score of a centre from its scores under policies, by the weights in force.

    `BadInput` where the two lists differ in length, a policy is not known, named twice or, having a weight, is missing,
    or a score is not from 0 to 100.
    """
    policies_check(weights)
    if len(policy_ids) != len(scores):
        raise BadInput(Fault.LENGTHS_DIFFER, policies=len(policy_ids), scores=len(scores))
    for policy_id, count in Counter(policy_ids).items():
        policy_of(policy_id)
        if count > 1:
            raise BadInput(Fault.POLICY_TWICE, policy=policy_id)
    for policy_id, score in zip(policy_ids, scores, strict=True):
        if not 0 <= score <= 100:
            raise BadInput(Fault.SCORE_RANGE, policy=policy_id, score=score)
    of_policy = dict(weights)
    for policy_id, weight in weights:
        if weight and policy_id not in policy_ids:
            raise BadInput(Fault.POLICY_MISSING, policy=policy_id, permille=weight)
    permille = np.array([of_policy.get(name, 0) for name in policy_ids], np.int64)
    columns = np.array(scores, np.int64).reshape(len(scores), 1)
    return int(model_of(model).final(columns, permille)[0])


def default_request(snapshot: Snapshot) -> tuple[Job, Task]:
    """What A.5 is asked for without a job (JC-Q-9): one replica of the specification that most centres offer, of equal
    ones the smaller ID, with no data and no demand."""
    known = {spec.id for spec in snapshot.specs}
    offers = Counter(offer.spec_id for centre in snapshot.centres for offer in centre.offers)
    names = sorted(known, key=lambda name: (-offers[name], name))
    task = Task("default", names[0] if names else "")
    return Job("default", (task,)), task


def _candidates(factors: Factors, room: Room, ask: Ask) -> Row:
    fits = room.slots(ask.task.spec_id) >= ask.task.replicas
    return np.flatnonzero((first_refusals(factors, ask) == PASSES) & fits)


def _figures(policies: list[Policy], factors: Factors, room: Room, ask: Ask) -> Row:
    return np.array([policy.figures(factors, room, ask) for policy in policies], np.int64)
