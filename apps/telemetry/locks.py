"""Who does what only one process may do at a time."""

from apps.telemetry.models import Turn


def turn_take(name: str) -> Turn | None:
    """The turn, held until the transaction ends; None while somebody else has it."""
    free = Turn.objects.select_for_update(skip_locked=True).filter(name=name)
    turn = free.first()
    if turn is None:
        # Taken, or not there yet: the first one makes it.
        _turn, is_new = Turn.objects.get_or_create(name=name)
        turn = free.first() if is_new else None
    return turn
