"""Lengths of time and amounts of memory as people read them."""

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

_GIB = 1024
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def span_text(seconds: float) -> str:
    """A length of time in its two largest units."""
    left = int(seconds)
    parts = []
    for size, name in ((_DAY, _("d")), (_HOUR, _("h")), (_MINUTE, _("min")), (1, _("s"))):
        figure, left = divmod(left, size)
        if figure:
            parts.append(f"{figure} {name}")
    return " ".join(parts[:2]) or f"0 {_('s')}"


def mib_text(mib: int) -> str:
    """Memory in whole GiB where it is whole, else in MiB."""
    return f"{mib // _GIB} GiB" if mib and mib % _GIB == 0 else f"{mib} MiB"


def cores_text(milli: int) -> str:
    """Thousandths of processor cores as cores: 1 core, 2.5 cores."""
    number = ngettext("%(count)s core", "%(count)s cores", 1 if milli == 1000 else 2)
    return number % {"count": f"{milli / 1000:g}"}
