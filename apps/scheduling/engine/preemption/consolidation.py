"""Consolidation: sessions are moved off devices so that something waiting can start there."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from apps.scheduling.engine.model.types import Grant, Move, RunningWorkload
from apps.scheduling.engine.placement.fit import View, room
from apps.scheduling.engine.placement.place import grant_of
from apps.scheduling.engine.resources.pool import Card
from apps.scheduling.engine.resources.shapes import Shape
from apps.scheduling.engine.state.pass_state import PassState

NODES = 8
"""So many nodes are tried for one request, those with the fewest moves first."""
SHAPES = 4

Grants: TypeAlias = tuple[Grant, ...]


class Piece(NamedTuple):
    """One share that could be moved."""

    work: RunningWorkload
    share: int

    @property
    def grant(self) -> Grant:
        return self.work.grants[self.share]


Candidate: TypeAlias = tuple[int, int, Card, list[Piece]]
"""How many moves a card needs, its place in the pool, the card, and the moves."""


def _fewest(lines: list[list[Candidate]], shape: Shape) -> list[list[Candidate]]:
    """Each line with the fewest moves first; of replicas all lines, a node each, as one of whole replicas."""
    ordered = [sorted(line, key=lambda each: each[:2]) for line in lines]
    per = shape.shares_per_replica
    if per == 1:
        return ordered
    parts = [line[i : i + per] for line in ordered for i in range(0, len(line) - per + 1, per)]
    parts.sort(key=lambda part: (sum(each[0] for each in part), part[0][1]))
    return [[each for part in parts for each in part]]


class Consolidation:
    """The moves of one pass."""

    def __init__(self, pass_: PassState) -> None:
        self._pass = pass_
        self._pieces: dict[str, list[Piece]] | None = None
        self._found: list[tuple[Piece, Grant]] = []
        self._tried: set[Shape] = set()
        """Shapes for which no moves were found: a pass looks for few, since it looks at all their devices."""

    def _on(self, card: Card) -> list[Piece]:
        """The movable shares on the card."""
        if self._pieces is None:
            self._pieces = {}
            for work in self._pass.state.roles.movable.values():
                for index, grant in enumerate(work.grants):
                    self._pieces.setdefault(grant.device_id, []).append(Piece(work, index))
        return self._pieces.get(card.device.id, [])

    def free(
        self, owner: str, shape: Shape, view: View, doomed: set[str], within: Callable[[Grants], bool]
    ) -> tuple[Grants, int]:
        """The request's grants and how many moves free them, which are done in the pool; no moves: not possible.
        `within`: whether the request's quotas have room for such grants."""
        left = self._pass.state.policy.max_moves - len(self._pass.moves)
        if left <= 0 or shape.is_worded or shape in self._tried or len(self._tried) >= SHAPES:
            return (), 0
        for cards, pieces in self._plans(shape, view, doomed, left):
            grants = tuple(grant_of(card, shape) for card in cards)
            if within(grants) and self._try(owner, grants, pieces):
                return grants, len(pieces)
        self._tried.add(shape)
        return (), 0

    def _plans(
        self, shape: Shape, view: View, doomed: set[str], left: int
    ) -> list[tuple[list[Card], list[Piece]]]:
        """By node, or over all nodes: the cards that would do with the fewest moves, and those moves."""
        one = self._pass.state.shapes.sized(shape, 1)
        lines: dict[str, list[Candidate]] = {}
        area = self._pass.state.fit.area(shape.constraint)
        for card in self._pass.state.pool.cards_in(area.usable):
            pieces = self._needed(card, one, view, doomed)
            if pieces is not None and len(pieces) <= left:
                together = shape.single_node or shape.shares_per_replica > 1
                lines.setdefault(card.server.node.id if together else "", []).append(
                    (len(pieces), card.at, card, pieces)
                )
        plans = []
        for line in _fewest(list(lines.values()), shape):
            best = line[: shape.shares]
            count = sum(each[0] for each in best)
            if len(best) == shape.shares and 0 < count <= left:
                plans.append(
                    (count, best[0][1], [each[2] for each in best], [p for each in best for p in each[3]])
                )
        return [(cards, pieces) for _, _, cards, pieces in sorted(plans, key=lambda plan: plan[:2])[:NODES]]

    def _needed(self, card: Card, one: Shape, view: View, doomed: set[str]) -> list[Piece] | None:
        """What has to leave the card so that it takes one share; None where moves do not do it."""
        if room(card, one, view):
            return []
        pool = self._pass.state.pool
        out: list[Piece] = []
        try:
            for piece in sorted(self._on(card), key=lambda each: (-each.grant.compute_percent, each.work.id)):
                if piece.work.id in doomed:
                    continue
                pool.give(piece.grant)
                out.append(piece)
                if room(card, one, view):
                    return out
        finally:
            for piece in out:
                pool.take(piece.grant)
        return None

    def _try(self, owner: str, grants: tuple[Grant, ...], pieces: list[Piece]) -> bool:
        """Whether each piece finds room elsewhere that is free at once; if so all is done in the pool. The pieces
        count where they are all the while: what one of them leaves is no room for another yet."""
        pass_ = self._pass
        placer = pass_.state.placer
        for grant in grants:
            pass_.state.pool.take(grant)
        found: list[tuple[Piece, Grant]] = []
        for piece in pieces:
            to = self._elsewhere(piece)
            if to is None:
                break
            found.append((piece, to))
        for grant in grants:
            pass_.state.pool.give(grant)
        if len(found) < len(pieces):
            for piece, to in found:
                placer.undo((to,), self._view(None))
                pass_.state.model_quota.add(piece.work.tenant_id, (to,), -1)
        else:
            pass_.claims.keep_grants(owner, pass_.now, grants)
            self._found = found
        return len(found) == len(pieces)

    def _view(self, ends_at_s: int | None) -> View:
        return self._pass.state.placer.view(ends_at_s)

    def _elsewhere(self, piece: Piece) -> Grant | None:
        state, asks = self._pass.state, piece.work.asks
        queue = state.queues.get(piece.work.queue_id)
        if asks is None or queue is None:
            return None
        shape = state.shapes.sized(state.shapes.of(asks, queue, state.policy), 1)
        shape = state.open_shape(asks.tenant_id, state.shapes.packed(shape))
        taken = state.placer.take(shape, self._view(None), asks.submitted_seq)
        if taken is None:
            return None
        is_own = taken[0].device_id in {grant.device_id for grant in piece.work.grants}
        if is_own or state.model_quota.shortage(asks.tenant_id, taken):
            state.placer.undo(taken, self._view(None))
            return None
        # While it moves it has both: of several moves each sees those before it.
        state.model_quota.add(asks.tenant_id, taken, 1)
        return taken[0]

    def settle(self, request_id: str) -> set[str]:
        """Plan the moves that were found; where they go to stays taken for this pass. Whom they move."""
        pass_ = self._pass
        for piece, to in self._found:
            pass_.moves.append(Move(piece.work.id, piece.share, piece.grant.device_id, to, request_id))
            pass_.shifted.append((piece.work.tenant_id, to, self._view(None)))
        moved = {piece.work.id for piece, _ in self._found}
        if self._pieces is not None:
            self._pieces = {
                device_id: [piece for piece in pieces if piece.work.id not in moved]
                for device_id, pieces in self._pieces.items()
            }
        self._found = []
        return moved
