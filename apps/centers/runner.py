"""One centre, asked again and again by whoever watches it."""

import logging
from contextlib import suppress
from time import monotonic

from django.utils import timezone, translation

from apps.centers.adapters.base import CenterAdapter, CenterError
from apps.centers.models import Center
from apps.centers.services.calls import center_asked, error_text
from apps.centers.services.sampling import center_adapter, center_answered, center_failed
from apps.kernel.actor import SYSTEM

log = logging.getLogger("weir.centers")
POLL_S = 5.0
POLL_MOST_S = 60.0
_POLL_LEAST_S = 1.0
# A slow centre is asked for no more than this part of the time.
_SHARE = 0.25


class CenterWatch:
    """Asks one centre what it holds, and keeps what it says. Its connections stay open while it is reached as it was.

    Args:
        center_id: the key of its row.
    """

    def __init__(self, center_id: int) -> None:
        self._center_id = center_id
        self._revision = 0
        self._adapter: CenterAdapter | None = None
        self._failures = 0

    def ask(self) -> float | None:
        """Ask once; the seconds until the next time, None where there is no such centre any more.

        Five while it answers, more where an answer takes long, and twice as many with each failure up to a minute.
        """
        center = Center.objects.filter(pk=self._center_id).first()
        if center is None:
            return None
        asked_at, began_s = timezone.now(), monotonic()
        try:
            # What it comes to is kept for readers of all languages.
            with translation.override("en"):
                answer = center_asked(self._adapter_of(center))
        except CenterError as error:
            self.close()
            self._failures += 1
            if self._failures == 1:
                log.warning("centre %s: %s", center.ai_center_id, error_text(error))
            center_failed(actor=SYSTEM, center=center, asked_at=asked_at, error=error)
        else:
            self._failures = 0
            center_answered(actor=SYSTEM, center=center, answer=answer)
        return self._pause_s(center, monotonic() - began_s)

    def close(self) -> None:
        """Let go of connections to the centre."""
        adapter, self._adapter = self._adapter, None
        if adapter is not None:
            # An outsider's adapter may raise anything.
            with suppress(Exception):
                adapter.close()

    def _adapter_of(self, center: Center) -> CenterAdapter:
        if self._adapter is None or self._revision != center.revision:
            self.close()
            self._adapter, self._revision = center_adapter(center), center.revision
        return self._adapter

    def _pause_s(self, center: Center, took_s: float) -> float:
        if self._failures:
            # A failure is tried again soon enough to be sure of it before the centre counts as gone.
            most_s = min(POLL_MOST_S, max(POLL_S, center.lost_after_s / 4))
            return min(most_s, POLL_S * 2.0 ** min(self._failures, 8))
        # One that is slow is heard again before it counts as silent.
        most_s = max(_POLL_LEAST_S, center.stale_after_s / 3)
        return min(most_s, max(POLL_S, took_s / _SHARE))
