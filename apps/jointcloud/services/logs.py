"""What a replica has printed, read at its centre through us: no address and no credential of a centre leaves Weir."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from apps.centers.errors import CenterNonsense, CenterSaysNo, CenterSilent
from apps.centers.models import RemoteTask
from apps.centers.selectors import remote_tasks_named
from apps.centers.services.remote_tasks import LOG_MOST, remote_task_log
from apps.jointcloud.models import Replica
from apps.jointcloud.states import OPEN
from apps.kernel.control_characters import control_removed
from apps.kernel.errors import NotFound

_CHARACTER_MOST = 4


@dataclass(frozen=True, slots=True)
class LogPart:
    """Bytes `offset` to `next_offset` of a log, as text."""

    text: str
    offset: int
    next_offset: int
    is_whole: bool


def replica_log(row: Replica, offset: int = 0, limit: int = LOG_MOST) -> LogPart:
    """At most `limit` bytes of the log of an attempt, from byte `offset`; a character is never cut in two.

    Asks the centre: no transaction belongs around it. Raises NotFound where the centre tells no logs, CenterSaysNo,
    CenterSilent, CenterNonsense; none of them names an address of the centre.
    """
    is_over = row.state not in OPEN
    part = replica_log_bytes(row, offset, limit)
    is_full = len(part) >= limit
    # The rest of a character that is not there yet comes with the next part.
    part = part if is_over and not is_full else _whole_characters(part)
    return LogPart(
        text=_shown(part),
        offset=offset,
        next_offset=offset + len(part),
        is_whole=is_over and not is_full,
    )


def replica_log_bytes(row: Replica, offset: int, limit: int) -> bytes:
    """At most `limit` bytes of the log of an attempt as they are, from byte `offset`; nothing where its centre is gone.

    Asks the centre and raises as `replica_log` does.
    """
    found = remote_tasks_named([row.key]).get(row.key)
    return b"" if found is None else _asked(found, offset, limit)


def log_untold(center: object) -> NotFound:
    """That a centre tells no logs, whatever is asked of it."""
    return NotFound(
        _("%(center)s tells no logs.") % {"center": center},
        cure=_("Ask the operators whether it can tell them."),
    )


def _asked(found: RemoteTask, offset: int, limit: int) -> bytes:
    """What the centre tells. What its errors say is the operators': it names the centre's address."""
    later = _("Try again in a while; the operators see at the centre what is wrong.")
    try:
        return remote_task_log(found, offset, limit)
    except NotFound as error:
        raise log_untold(found.center) from error
    except CenterSaysNo as error:
        raise CenterSaysNo(_("The centre does not tell this log."), cure=later) from error
    except CenterSilent as error:
        raise CenterSilent(_("The centre did not answer."), cure=later) from error
    except CenterNonsense as error:
        raise CenterNonsense(_("The centre's answer was no log."), cure=later) from error


def _whole_characters(part: bytes) -> bytes:
    """Without the beginning of a character at its end."""
    for cut in range(1, min(_CHARACTER_MOST, len(part)) + 1):
        byte = part[-cut]
        if byte >= 0xC0:
            size = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return part[:-cut] if cut < size and cut < len(part) else part
        if byte < 0x80:
            return part
    return part


def _shown(part: bytes) -> str:
    lines = part.decode("utf-8", "replace").split("\n")
    return "\n".join(control_removed(each.replace("\t", "    ").rstrip("\r")) for each in lines)
