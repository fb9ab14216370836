"""The server's own processes: they tell of themselves, restart in turn when asked, and one leads (POOL-8.1a)."""

import os
import socket
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from apps.kernel.actor import Actor
from apps.kernel.service import service
from apps.rollouts.models import Lease, ServerGeneration, ServerProcess
from apps.rollouts.states import ProcessState

# Longer than any process takes to end its requests and to come back, on a busy machine too: after that the next one
# does not wait for it.
RESTART_MAX_S = 300
_FORGET_AFTER = timedelta(days=1)
_TURN_LOCK = 0x57656973


@dataclass(frozen=True, slots=True)
class Self:
    """A server process as it knows itself."""

    kind: str
    name: str
    host: str
    pid: int
    version: str
    started_at: datetime

    @classmethod
    def of(cls, kind: str) -> "Self":
        """This process."""
        return cls(
            kind=kind,
            name=os.environ.get("WEIR_PROCESS_NAME") or kind,
            host=socket.gethostname()[:200],
            pid=os.getpid(),
            version=settings.WEIR_VERSION,
            started_at=timezone.now(),
        )


@service(recorded=False)
def process_beat(*, actor: Actor, process: Self) -> bool:
    """Tell that the process lives. True: it is its turn to restart; of its kind nobody else restarts meanwhile."""
    _turn_take()
    desired, _is_new = ServerGeneration.objects.get_or_create(is_only=True)
    now = timezone.now()
    facts = {
        "kind": process.kind,
        "version": process.version,
        "seen_at": now,
        "started_at": process.started_at,
        "pid": process.pid,
    }
    row = ServerProcess.objects.filter(host=process.host, name=process.name).first()
    if row is None or row.pid != process.pid or row.started_at != process.started_at:
        began = {"state": ProcessState.RUNNING, "generation": desired.generation, "restart_at": None}
        ServerProcess.objects.update_or_create(host=process.host, name=process.name, defaults=facts | began)
        return False
    ServerProcess.objects.filter(pk=row.pk).update(seen_at=now)
    return row.generation < desired.generation and _may_restart(row, now)


def _turn_take() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_TURN_LOCK])


def _may_restart(row: ServerProcess, now: datetime) -> bool:
    restarting = ServerProcess.objects.filter(
        kind=row.kind,
        state=ProcessState.RESTARTING,
        restart_at__gt=now - timedelta(seconds=RESTART_MAX_S),
    ).exclude(pk=row.pk)
    if row.state == ProcessState.RUNNING and restarting.exists():
        return False
    ServerProcess.objects.filter(pk=row.pk).update(state=ProcessState.RESTARTING, restart_at=now)
    return True


@service(recorded=False)
def process_leave(*, actor: Actor, process: Self) -> None:
    """Tell that the process ends. One that restarts keeps its turn until it is back."""
    ServerProcess.objects.filter(
        host=process.host, name=process.name, pid=process.pid, state=ProcessState.RUNNING
    ).update(state=ProcessState.STOPPED, seen_at=timezone.now())


@service(recorded=False)
def processes_prune(*, actor: Actor) -> int:
    """Forget processes that nobody has heard of for a day."""
    count, _kinds = ServerProcess.objects.filter(seen_at__lt=timezone.now() - _FORGET_AFTER).delete()
    return count


@service(recorded=False)
def server_restart_request(*, actor: Actor) -> int:
    """Ask all server processes to restart in turn; the generation that says so."""
    _turn_take()
    ServerGeneration.objects.get_or_create(is_only=True)
    ServerGeneration.objects.update(generation=F("generation") + 1)
    return ServerGeneration.objects.get().generation


@service(recorded=False)
def lease_hold(*, actor: Actor, name: str, holder: str, ttl_s: float) -> bool:
    """Take or keep the lead; False while somebody else has it. By the database's clock alone."""
    until = Now() + timedelta(seconds=ttl_s)
    Lease.objects.get_or_create(name=name, defaults={"holder": holder, "until_at": until})
    rows = Lease.objects.filter(name=name)
    mine = rows.filter(holder=holder) | rows.filter(until_at__lt=Now())
    return bool(mine.update(holder=holder, until_at=until))


@service(recorded=False)
def lease_leave(*, actor: Actor, name: str, holder: str) -> None:
    """Give the lead away at once."""
    Lease.objects.filter(name=name, holder=holder).delete()
