"""What people type: durations and amounts."""

import re

from weir.errors import WeirClientError

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def duration_s(text: str) -> int:
    """Seconds of `90s`, `45m`, `2h`, `1d` or a bare number of seconds.

    Raises:
        WeirClientError: the text is no duration above zero.
    """
    found = re.fullmatch(r"(\d{1,9})([smhd]?)", text.strip())
    seconds = int(found[1]) * _SECONDS[found[2] or "s"] if found else 0
    if seconds < 1:
        raise WeirClientError(f"{text!r} is no duration.", "Write for example 90s, 45m, 2h or 1d.")
    return seconds


def amounts(pairs: list[str]) -> dict[str, int]:
    """`["compute_share=25", "gpu_memory=2048"]` as a dictionary.

    Raises:
        WeirClientError: a pair is not `component=whole number`.
    """
    found = {}
    for pair in pairs:
        name, sign, number = pair.partition("=")
        if not (sign and name and number.isdecimal()):
            raise WeirClientError(
                f"{pair!r} is no amount.", "Write component=number, for example gpu_memory=2048."
            )
        found[name.strip()] = int(number)
    return found


def pairs(given: list[str]) -> dict[str, str]:
    """`["A=1", "B=x=y"]` as a dictionary of texts.

    Raises:
        WeirClientError: one has no `=`.
    """
    found = {}
    for pair in given:
        name, sign, value = pair.partition("=")
        if not (sign and name):
            raise WeirClientError(f"{pair!r} is no variable.", "Write NAME=value.")
        found[name] = value
    return found
