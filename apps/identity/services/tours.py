"""The guided tours that a person has done with."""

from apps.identity.models import User
from apps.kernel.actor import Actor
from apps.kernel.service import service


@service(recorded=False, own=True)
def tour_end(*, actor: Actor) -> None:
    """The tour of the actor's role was taken, or is not wanted: it is no longer offered. Twice is once."""
    assert actor.user_id is not None, "a tour is somebody's"
    user = User.objects.select_for_update().get(pk=actor.user_id)
    if actor.role not in user.tours_ended:
        user.tours_ended = [*user.tours_ended, actor.role]
        user.save(update_fields=["tours_ended"])
