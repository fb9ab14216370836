"""The signal that a program is sent before its run time is over, as people write it."""

import signal as signals

WARNING_BEFORE_S = 60
WARNING_MOST_S = 65_535


def warning_of(text: str) -> tuple[str, int]:
    """The signal by name and the seconds of `USR1@60`, `SIGUSR1@60`, `10@60`, or `USR1` (60 seconds before).

    Raises:
        ValueError: it names no signal that a program can hear, or no seconds from 1 to 65535.
    """
    name, sign, seconds = text.strip().upper().removeprefix("B:").partition("@")
    number = int(name) if name.isascii() and name.isdigit() else 0
    found = signals.Signals(number) if number else signals.Signals[f"SIG{name.removeprefix('SIG')}"]
    before = (int(seconds) if seconds.isascii() and seconds.isdigit() else 0) if sign else WARNING_BEFORE_S
    if found in (signals.SIGKILL, signals.SIGSTOP) or not 1 <= before <= WARNING_MOST_S:
        raise ValueError(text)
    return found.name.removeprefix("SIG"), before
