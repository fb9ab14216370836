"""What people type: durations and amounts."""

import os
import re
import shlex
from datetime import datetime, timedelta
from pathlib import Path

from weir.errors import WeirClientError

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_MEBIBYTES = {"m": 1, "mi": 1, "g": 1024, "gi": 1024, "t": 1024**2, "ti": 1024**2}


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
    """`["A=1", "B=x=y", "HOME"]` as a dictionary of texts; one without a value has the caller's own.

    Raises:
        WeirClientError: one has no name, or no value here either.
    """
    found = {}
    for pair in given:
        name, sign, value = pair.partition("=")
        if not name or not (sign or name in os.environ):
            raise WeirClientError(
                f"{pair!r} is no variable.", "Write NAME=value, or NAME for one that is set here."
            )
        found[name] = value if sign else os.environ[name]
    return found


def attempts(text: str) -> int:
    """How often work is tried that is tried again so often.

    Raises:
        WeirClientError: the text is no number from 0 to 99.
    """
    if not re.fullmatch(r"\d{1,2}", text.strip()):
        raise WeirClientError(f"{text!r} is no number of retries.", "Write 0 to 99.")
    return int(text) + 1


def names(given: list[str]) -> list[str]:
    """`["W-1,W-2", "W-3"]` as a list of three."""
    return [name for part in given for name in re.split(r"[,\s]+", part) if name]


def memory_mib(text: str) -> int:
    """MiB of `4Gi`, `512Mi`, `1Ti`, `4G`, `512M` (of 1024 too, as Slurm and Docker count) or a bare number of MiB.

    Raises:
        WeirClientError: the text is no amount of memory in whole MiB.
    """
    found = re.fullmatch(r"(\d{1,9})(mi?|gi?|ti?)?b?", text.strip().lower())
    if not found:
        raise WeirClientError(f"{text!r} is no amount of memory.", "Write for example 4Gi, 512Mi or 4096.")
    return int(found[1]) * _MEBIBYTES[found[2] or "mi"]


def signal_name(text: str) -> str:
    """`USR1` of `usr1` or `SIGUSR1`."""
    return text.strip().upper().removeprefix("SIG")


def command_words(text: str) -> list[str]:
    """The words of a command as a shell would cut it, without pipes or variables.

    Raises:
        WeirClientError: a quotation mark is not closed.
    """
    try:
        return shlex.split(text)
    except ValueError as error:
        raise WeirClientError(f"{text!r} is no command: {error}.", "Close its quotation marks.") from error


def cores_milli(text: str) -> int:
    """Thousandths of a processor core of `2` or `0.5`.

    Raises:
        WeirClientError: the text is no number of cores.
    """
    found = re.fullmatch(r"(\d{1,4})(?:\.(\d{1,3}))?", text.strip())
    if not found:
        raise WeirClientError(f"{text!r} is no number of cores.", "Write for example 2 or 0.5.")
    return int(found[1]) * 1000 + int((found[2] or "").ljust(3, "0"))


def instant(text: str, *, now: datetime | None = None) -> str:
    """An instant in the API's words, of `18:00` (the next one), a date with time, or a duration from `now`.

    Raises:
        WeirClientError: the text is none of them.
    """
    since = now or datetime.now().astimezone()
    if found := re.fullmatch(r"(\d\d?):(\d\d)", text.strip()):
        return _next_clock(since, int(found[1]), int(found[2]), text).isoformat()
    if re.fullmatch(r"\d{1,9}[smhd]", text.strip()):
        return (since + timedelta(seconds=duration_s(text))).isoformat()
    try:
        given = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise _no_instant(text) from error
    return (given if given.tzinfo else given.astimezone()).isoformat()


def _next_clock(since: datetime, hour: int, minute: int, text: str) -> datetime:
    try:
        today = since.replace(hour=hour, minute=minute, second=0, microsecond=0)
    except ValueError as error:
        raise _no_instant(text) from error
    return today if today > since else today + timedelta(days=1)


def _no_instant(text: str) -> WeirClientError:
    return WeirClientError(f"{text!r} is no time.", "Write for example 18:00, 2026-12-01T08:00 or 2h.")


def file_text(name: str) -> str:
    """What stands in a file of this machine.

    Raises:
        WeirClientError: it cannot be read, or is no text.
    """
    try:
        return Path(name).expanduser().read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is no text in UTF-8"
        raise WeirClientError(f"{name} cannot be read: {why}.", "Name a text file that lies here.") from error
