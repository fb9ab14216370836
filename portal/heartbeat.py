"""A server process tells that it lives, and leaves when its turn to restart has come (POOL-12.20, 12.22)."""

import logging
import threading
from collections.abc import Callable

from django.db import DatabaseError, connection

log = logging.getLogger(__name__)
BEAT_S = 2.0
_BYE_S = 5.0


class Heartbeat(threading.Thread):
    """Beats until `end`. Whatever the database does, the process goes on.

    Args:
        kind: web, worker or beat.
        leave: asks the process to end in good order; whoever supervises it starts it again.
    """

    def __init__(self, kind: str, leave: Callable[[], None]) -> None:
        super().__init__(name="heartbeat", daemon=True)
        self._kind, self._leave = kind, leave
        self._ended = threading.Event()
        self._trouble = ""

    def run(self) -> None:
        # Models can be imported only once Django stands.
        from apps.rollouts.services.server_processes import Self

        process = Self.of(self._kind)
        while not self._ended.is_set():
            self._try(lambda: self._beat(process))
            self._ended.wait(BEAT_S)
        self._try(lambda: self._bye(process))

    def end(self) -> None:
        """Say good-bye and stop; returns when that is done, or after five seconds."""
        self._ended.set()
        if self.is_alive() and threading.current_thread() is not self:
            self.join(_BYE_S)

    def _beat(self, process: object) -> None:
        from apps.kernel.actor import SYSTEM
        from apps.rollouts.services.server_processes import process_beat

        if process_beat(actor=SYSTEM, process=process):
            log.info("this %s gives way to its successor", self._kind)
            self._leave()

    def _bye(self, process: object) -> None:
        from apps.kernel.actor import SYSTEM
        from apps.rollouts.services.server_processes import process_leave

        process_leave(actor=SYSTEM, process=process)

    def _try(self, work: Callable[[], None]) -> None:
        try:
            work()
            self._trouble = ""
        except (DatabaseError, OSError) as error:
            if repr(error) != self._trouble:
                self._trouble = repr(error)
                log.warning("the heartbeat is not heard: %s", error)
        finally:
            # Worker processes fork from this one: they must find no connection to inherit.
            connection.close()
