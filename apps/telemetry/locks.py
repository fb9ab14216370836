"""Who does what only one process may do at a time."""

from apps.telemetry.models import Turn


def turn_take(name: str) -> Turn | None:
    """The turn, held until the transaction ends; None while somebody else has it."""
    Turn.objects.get_or_create(name=name)
    return Turn.objects.select_for_update(skip_locked=True).filter(name=name).first()
