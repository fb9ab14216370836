"""Memory of a session that collectives hold for a while: copies on their way to another rank, or from one."""

from __future__ import annotations

from collections import deque

from node_agent.sessions.execution.memory import MemoryQuota


class Loan:
    """Counted against the session's quota. Taken by the thread that runs collectives, given back by any."""

    def __init__(self, memory: MemoryQuota) -> None:
        self._memory = memory
        # Appending takes no lock; the books are written where no operator runs.
        self._returned: deque[int] = deque()

    def take(self, nbytes: int) -> None:
        """Raises OutOfMemory where there is no room."""
        self.settle()
        self._memory.need(nbytes)
        self._memory.used_bytes += nbytes
        self._memory.peak_bytes = max(self._memory.peak_bytes, self._memory.used_bytes)

    def give_back(self, nbytes: int) -> None:
        """It is free again, and counted so soon."""
        self._returned.append(nbytes)

    def settle(self) -> None:
        """Write down what was given back."""
        while self._returned:
            self._memory.used_bytes -= self._returned.popleft()
