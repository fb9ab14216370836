"""When a session on a card that others have too may issue: in its turn, and no more than the card can end in it.

Pure. A card runs what it was given to its end, so what is issued late in a turn would run in another's.
"""

from __future__ import annotations

from node_agent.turn import Turn

# How much the latest span says of how long the next takes.
_WEIGHT = 0.2
# What part of a span has to fit into what is left of a turn: as much is lost at ends of turns as runs over them.
_FITS = 0.5


class TurnTaking:
    """Decides for one span of operators after another. `turn`: None while nobody else has the card."""

    def __init__(self) -> None:
        self.turn: Turn | None = None
        self._span_s = 0.0
        self._number: int | None = None

    def measured(self, span_s: float) -> None:
        """A span took so long on the card."""
        self._span_s += (span_s - self._span_s) * (_WEIGHT if self._span_s else 1.0)

    def wait_s(self, now_s: float, spans_ahead: int) -> float:
        """Seconds to wait before the next span, while so many are not ended; 0: it is issued now.

        The first of a turn always is: one that takes longer than a turn runs too, and its share is paid for later.
        """
        turn = self.turn
        if turn is None:
            return 0.0
        number = turn.number(now_s)
        has_room = turn.left_s(now_s) > (spans_ahead + _FITS) * self._span_s
        if turn.may_run(now_s) and (has_room or number != self._number):
            self._number = number
            return 0.0
        return turn.next_s(now_s)
