"""Signed addresses of logs (interface A.4): whoever has one reads one log, for a while, without signing in.

An address names the replica and the moment until which it holds, and is signed over both by the installation's key:
with another replica, a later moment or another installation's key the signature is wrong. Nothing of it is kept.
"""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.core.signing import BadSignature, Signer
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.centers.selectors import remote_tasks_named
from apps.centers.services.abilities import center_tells_logs
from apps.centers.services.remote_tasks import LOG_FILE_MOST
from apps.jointcloud.errors import LogAddressExpired, LogAddressUnsigned
from apps.jointcloud.models import Job, Replica
from apps.jointcloud.selectors.jobs import job_get_across, replica_get
from apps.jointcloud.services.logs import log_untold, replica_log_bytes
from apps.kernel.errors import InvalidInput, NotFound
from apps.tenancy.states import TenantState

HOLDS_S = 600
"""For so long an address holds."""
_OFFSET_DIGITS = 15
_SALT = "weir.jointcloud.log"


@dataclass(frozen=True, slots=True)
class LogFile:
    """Bytes of a log as the centre has them, from `offset` on; `next_offset` where more may be there behind them."""

    content: bytes
    name: str
    next_offset: int | None


def log_link_query(job: Job, attempt: Replica) -> str:
    """The query that makes the address of a replica's log one that anybody may read for `HOLDS_S`.

    Raises NotFound where its centre tells no logs, by whatever address.
    """
    found = remote_tasks_named([attempt.key]).get(attempt.key)
    if found is None or not center_tells_logs(found.center):
        raise log_untold(attempt.center_name)
    until = str(int(timezone.now().timestamp()) + HOLDS_S)
    task, replica = attempt.task.number, attempt.number
    return urlencode({"until": until, "signature": _signature(job.job_id, task, replica, until)})


def log_file(
    *, job_id: str, task: int, replica: int, until: str, signature: str, offset: str = "0"
) -> LogFile:
    """What a signed address leads to: at most 16 MiB of the log from byte `offset` on.

    Asks the centre: no transaction belongs around it. Raises LogAddressUnsigned, LogAddressExpired, InvalidInput,
    NotFound, and CenterSaysNo, CenterSilent, CenterNonsense, of which none names an address of the centre.
    """
    try:
        _signer().unsign(f"{_signed(job_id, task, replica, until)}.{signature}")
    except (BadSignature, UnicodeEncodeError) as error:
        raise LogAddressUnsigned() from error
    if int(until) < timezone.now().timestamp():
        raise LogAddressExpired()
    if not (offset.isascii() and offset.isdigit() and len(offset) <= _OFFSET_DIGITS):
        raise InvalidInput(fields={"offset": _("A whole number from 0.")})
    job = job_get_across(job_id)
    if job.tenant.state == TenantState.DELETED:
        raise NotFound()
    content = replica_log_bytes(replica_get(job, task, replica), int(offset), LOG_FILE_MOST)
    is_full = len(content) >= LOG_FILE_MOST
    return LogFile(content, f"{job_id}-{task}-{replica}.log", int(offset) + len(content) if is_full else None)


def _signature(job_id: str, task: int, replica: int, until: str) -> str:
    return _signer().signature(_signed(job_id, task, replica, until))


def _signer() -> Signer:
    return Signer(salt=_SALT, sep=".")


def _signed(job_id: str, task: int, replica: int, until: str) -> str:
    return f"{job_id}/{task}/{replica}/{until}"
