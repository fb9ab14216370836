"""Durations, memory and instants as other systems write them."""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation

from weir.cli.units import instant
from weir.errors import WeirClientError

_WORDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 7 * 86400}
_SUFFIXES = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4, "p": 1000**5}
_MIB = 1024 * 1024


def clock_s(text: str) -> int:
    """Seconds of Slurm's and PBS's `minutes`, `minutes:seconds`, `hours:minutes:seconds`, `days-hours[:…]`.

    Raises:
        WeirClientError: it is none of them.
    """
    found = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", text.strip())
    if not found:
        raise WeirClientError(f"{text!r} is no time.", "Write for example 30, 10:00, 1:30:00 or 2-12.")
    days, *rest = found.groups()
    parts = [int(part) for part in rest if part is not None]
    if days is not None:
        hours, minutes, seconds = [*parts, 0, 0][:3]
    elif len(parts) == 3:
        hours, minutes, seconds = parts
    else:
        hours, (minutes, seconds) = 0, [*parts, 0][:2]
    return ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds


def binary_mib(text: str, *, bare: str = "m") -> int:
    """MiB, rounded up, of `4G`, `512M`, `4gb`, which Slurm and PBS mean in powers of 1024; `bare` is the unit of a
    number alone. Raises WeirClientError."""
    found = re.fullmatch(r"(\d+)([kmgt]?)(?:b|w)?", text.strip().lower())
    if not found:
        raise WeirClientError(f"{text!r} is no amount of memory.", "Write for example 4G or 512M.")
    power = "kmgt".index(found[2] or bare) + 1
    return max(1, math.ceil(int(found[1]) * float(1024**power) / _MIB))


def quantity(text: str) -> Decimal:
    """The number that a Kubernetes quantity is: `500m`, `4Gi`, `2`, `1e3`. Raises WeirClientError."""
    found = re.fullmatch(r"([0-9.]+(?:[eE][0-9]+)?)(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?", text.strip())
    try:
        if found is None:
            raise InvalidOperation
        number, suffix = Decimal(found[1]), found[2] or ""
    except InvalidOperation as error:
        raise WeirClientError(f"{text!r} is no quantity.", "Write for example 500m, 2 or 4Gi.") from error
    if suffix == "m":
        return number / 1000
    if suffix.endswith("i"):
        return number * int(1024 ** ("KMGTP".index(suffix[0]) + 1))
    return number * _SUFFIXES[suffix.lower()]


def quantity_mib(text: str) -> int:
    """MiB, rounded up, of a Kubernetes quantity of bytes."""
    return math.ceil(quantity(text) / _MIB)


def begin(text: str, *, now: datetime | None = None) -> str:
    """An instant in the API's words of Slurm's `16:00`, `now+1hour`, `tomorrow`, `2026-01-20T12:34:00`.

    Raises:
        WeirClientError: it is none of them.
    """
    since = now or datetime.now().astimezone()
    if text == "now":
        return since.isoformat()
    if text == "tomorrow":
        midnight = since.replace(hour=0, minute=0, second=0, microsecond=0)
        return (midnight + timedelta(days=1)).isoformat()
    if found := re.fullmatch(r"now\+(\d+)(second|minute|hour|day|week)?s?", text):
        return (since + timedelta(seconds=int(found[1]) * _WORDS[found[2] or "second"])).isoformat()
    return instant(text.removesuffix(":00") if re.fullmatch(r"\d\d?:\d\d:00", text) else text, now=since)
