"""The output of a job within the log that Ray keeps of it, which begins with lines of Ray's own."""

from django.utils.translation import gettext as _

from apps.centers.adapters.base import CenterRefused

# The line behind which a job's own output begins.
BEGINS = "weir-begins"
LIMIT_BYTES = 16 * 1024 * 1024
_MARK = f"\n{BEGINS}\n".encode()
# Ray's own lines are far shorter; without the mark within these the job has not begun.
_HEAD_BYTES = 256 * 1024


def log_name(job: str) -> str:
    """What Ray calls the file of a job's output."""
    return f"job-driver-{job}.log"


class LogWindow:
    """Takes a log block by block and keeps at most `limit` bytes from byte `offset` of the job's own output."""

    def __init__(self, offset: int, limit: int) -> None:
        """Raises CenterRefused for an offset or a limit below zero."""
        if offset < 0 or limit < 0:
            raise CenterRefused(_("A log is read from its begin or a later byte."))
        self._skip, self._limit = offset, min(limit, LIMIT_BYTES)
        self._head: bytes | None = b""
        self._kept = bytearray()

    def take(self, block: bytes) -> bool:
        """The next block; whether more are wanted."""
        if self._head is not None:
            self._head += block
            _ray, mark, block = self._head.partition(_MARK)
            if not mark:
                return len(self._head) < _HEAD_BYTES
            self._head = None
        passed = min(self._skip, len(block))
        self._skip -= passed
        self._kept += block[passed : passed + self._limit - len(self._kept)]
        return len(self._kept) < self._limit

    @property
    def read(self) -> bytes:
        """What was kept."""
        return bytes(self._kept)
