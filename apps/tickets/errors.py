from apps.kernel.errors import Conflict


class Unanswered(Conflict):
    """Nobody would take the ticket: nothing was opened."""

    code = "unanswered"
