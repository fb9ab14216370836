"""The output of a Slurm job, read from the folder that the cluster shares with the portal: Slurm's REST has none."""

import os
import stat

from django.utils.translation import gettext as _

from apps.centers.adapters.base import CenterRefused, CenterUnreachable

LIMIT_BYTES = 16 * 1024 * 1024


def log_name(job: str) -> str:
    """The name of a job's output in the work folder; `job` is its number, or what Slurm puts its number for."""
    return f"weir-{job}.log"


def folder_check(folder: str) -> None:
    """Raises CenterRefused where the portal does not see the folder."""
    try:
        os.close(os.open(folder, os.O_RDONLY | os.O_DIRECTORY))
    except OSError as error:
        raise CenterRefused(
            _("The folder of logs cannot be opened: %(cause)s") % {"cause": os.strerror(error.errno or 0)}
        ) from error


def log_read(folder: str, job: str, offset: int, limit: int, *, is_private: bool = False) -> bytes:
    """At most `limit` bytes from byte `offset`; nothing where the job has not begun to write.

    Whoever runs jobs may write in that folder: a link out of it, or what is no file, is refused and not followed. One
    that `is_private` is no link itself, and what is read is of the user that the folder belongs to.
    """
    if offset < 0 or limit < 0:
        raise CenterRefused(_("A log is read from its begin or a later byte."))
    try:
        follows = os.O_NOFOLLOW if is_private else 0
        at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | follows)
    except OSError as error:
        raise CenterUnreachable(
            _("The folder of logs cannot be opened: %(cause)s") % {"cause": os.strerror(error.errno or 0)}
        ) from error
    try:
        owner = os.fstat(at).st_uid
        file = os.open(log_name(job), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise CenterRefused(
            _("The job's log cannot be opened: %(cause)s") % {"cause": os.strerror(error.errno or 0)}
        ) from error
    finally:
        os.close(at)
    try:
        held = os.fstat(file)
        if not stat.S_ISREG(held.st_mode) or held.st_nlink != 1:
            raise CenterRefused(_("The job's log is no file of its own."))
        if is_private and held.st_uid != owner:
            raise CenterRefused(_("The job's log is another user's."))
        return _read(file, offset, min(limit, LIMIT_BYTES))
    except OSError as error:
        raise CenterUnreachable(
            _("The job's log cannot be read: %(cause)s") % {"cause": os.strerror(error.errno or 0)}
        ) from error
    finally:
        os.close(file)


def _read(file: int, offset: int, limit: int) -> bytes:
    read = bytearray()
    while len(read) < limit and (block := os.pread(file, limit - len(read), offset + len(read))):
        read += block
    return bytes(read)
