"""How a person reads the portal: what he has read of what is new, and how close its lines stand."""

from django.utils.translation import gettext as _

from apps.identity.models import User
from apps.kernel.actor import Actor
from apps.kernel.errors import InvalidInput
from apps.kernel.service import service


@service(recorded=False, own=True)
def news_read(*, actor: Actor, version: str) -> None:
    """The actor has read what is new up to that version of the portal. Twice is once."""
    assert actor.user_id is not None, "news are read by somebody"
    User.objects.filter(pk=actor.user_id).exclude(news_read=version).update(news_read=version)


@service(recorded=False, own=True)
def density_set(*, actor: Actor, density: str) -> None:
    """The actor's pages stand as close as that from now on, on all his machines.

    Raises:
        InvalidInput: there is no such density.
    """
    assert actor.user_id is not None, "a page is somebody's"
    if density not in User.Density.values:
        raise InvalidInput(_("There is no such density."), cure=_("Choose comfortable or compact."))
    User.objects.filter(pk=actor.user_id).update(density=density)
