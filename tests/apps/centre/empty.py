"""An empty centre: as a fresh installation leaves it, without row and operators."""

from apps.centre.models import Centre
from apps.centre.selectors import centre_forget


def centre_empty() -> None:
    Centre.objects.all().delete()
    centre_forget()
