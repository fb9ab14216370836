"""Lengths of time and amounts of memory as people read them."""

from typing import Any

from django.utils.translation import gettext_noop, ngettext

from apps.kernel.translatable import message, message_text

_GIB = 1024
_SPANS = (
    (86400, gettext_noop("d")),
    (3600, gettext_noop("h")),
    (60, gettext_noop("min")),
    (1, gettext_noop("s")),
)


def span_text(seconds: float) -> str:
    """A length of time in its two largest units."""
    return message_text(span_message(seconds))


def span_message(seconds: float) -> dict[str, Any]:
    """A length of time in seconds as a message in its two largest units, to be kept as a parameter of another."""
    left = int(seconds)
    parts = []
    for size, name in _SPANS:
        figure, left = divmod(left, size)
        if figure:
            parts.append((figure, name))
    said = parts[:2] or [(0, "s")]
    msgid = " ".join(f"{figure} %({name})s" for figure, name in said)
    return message(msgid, {name: message(name) for _figure, name in said})


def mib_text(mib: int) -> str:
    """Memory in whole GiB where it is whole, else in MiB."""
    return f"{mib // _GIB} GiB" if mib and mib % _GIB == 0 else f"{mib} MiB"


def cores_text(milli: int) -> str:
    """Thousandths of processor cores as cores: 1 core, 2.5 cores."""
    number = ngettext("%(count)s core", "%(count)s cores", 1 if milli == 1000 else 2)
    return number % {"count": f"{milli / 1000:g}"}
