"""The clock: any number of beats may run, one at a time ticks (POOL-8.1a)."""

import logging
import os
import socket
import time
from typing import Any

from celery.beat import PersistentScheduler
from django.db import DatabaseError, connection

log = logging.getLogger(__name__)
LEASE_S = 8.0
_RENEW_S = 2.0
_WAIT_S = 1.0


class LeaderScheduler(PersistentScheduler):
    """Ticks while it holds the lease. Losing it costs nothing: every task that is fired is a sweep."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._holder = f"{socket.gethostname()}/{os.environ.get('WEIR_PROCESS_NAME', 'beat')}/{os.getpid()}"
        self._leads_until_s = 0.0
        self._renew_at_s = 0.0
        super().__init__(*args, **kwargs)

    def tick(self, *args: Any, **kwargs: Any) -> float:
        if not self._leads():
            return _WAIT_S
        return min(super().tick(*args, **kwargs), _RENEW_S)

    def close(self) -> None:
        """Called when the process is told to end: the schedule is kept, the lead given away, good-bye said."""
        from apps.kernel.actor import SYSTEM
        from apps.rollouts.services.server_processes import lease_leave
        from portal.celery import heartbeats

        super().close()
        heartbeats["beat"].end()
        try:
            lease_leave(actor=SYSTEM, name="beat", holder=self._holder)
        except DatabaseError as error:
            log.info("the lead runs out by itself: %s", error)

    def _leads(self) -> bool:
        if time.monotonic() >= self._renew_at_s:
            self._renew()
        return time.monotonic() < self._leads_until_s

    def _renew(self) -> None:
        from apps.kernel.actor import SYSTEM
        from apps.rollouts.services.server_processes import lease_hold

        began_s = time.monotonic()
        self._renew_at_s = began_s + _WAIT_S
        try:
            has_lead = lease_hold(actor=SYSTEM, name="beat", holder=self._holder, ttl_s=LEASE_S)
        except DatabaseError as error:
            log.warning("nobody knows who leads: %s", error)
            connection.close()
            return
        if has_lead and self._leads_until_s == 0.0:
            log.info("this beat leads now")
        self._leads_until_s = began_s + LEASE_S if has_lead else 0.0
