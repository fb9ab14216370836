"""What a queue's oversubscribe mode means for the devices of its work (PLAT-CLU-53 to PLAT-CLU-60; decision 9)."""

from typing import NamedTuple

from apps.scheduling.engine.model.types import Alone
from apps.scheduling.states import Oversubscribe

PATTERN = r"^((YES|FORCE)(:[1-9][0-9]{0,3})?|NO|EXCLUSIVE)$"
MOST_JOBS = 9999


class Terms(NamedTuple):
    """Whether work has its devices alone, and how many shares are on one of them at most; 0 is no bound."""

    alone: Alone = Alone.NO
    most: int = 0


def terms_of(mode: str, max_jobs: int | None, *, said: bool) -> Terms:
    """The terms of one piece of work of a queue; `said`: whether it stated `oversubscribe` when it was submitted."""
    if mode == Oversubscribe.EXCLUSIVE:
        return Terms(Alone.NODE)
    if mode == Oversubscribe.NO or (mode == Oversubscribe.YES and not said):
        return Terms(Alone.DEVICE)
    return Terms(Alone.NO, max_jobs or 0)


def mode_text(mode: str, max_jobs: int | None) -> str:
    """The mode as it is written: FORCE:4."""
    return mode.upper() + (f":{max_jobs}" if max_jobs else "")


def mode_read(text: str) -> tuple[str, int | None]:
    """What `mode_text` wrote; the text matches PATTERN."""
    mode, _colon, most = text.partition(":")
    return mode.lower(), int(most) if most else None
