"""What is said of work that no order stands behind."""

from django.utils.translation import gettext as _

from apps.catalog.models import Commodity


def direct_said(commodity: Commodity | None) -> str:
    """What it is charged as from now on, or that it is refused."""
    if commodity is None:
        return _("Direct work has no price from now on: it is refused.")
    return _("Direct work is charged as %(commodity)s from now on.") % {"commodity": commodity.name}
