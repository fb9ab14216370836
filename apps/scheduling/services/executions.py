"""Running something beside work: a terminal, a command, a connection to one of its ports.

It is asked for here, by who may, and written down; the secret that is given for it is brought to the gateway, which
carries what is typed and shown.
"""

from dataclasses import asdict, dataclass
from uuid import UUID

from django.utils.translation import gettext as _

from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, Forbidden, InvalidInput
from apps.kernel.service import service
from apps.scheduling.permissions import ResourcePermission as P
from apps.scheduling.selectors.executions import may_execute
from apps.scheduling.selectors.workloads import workload_get
from apps.scheduling.services.work_access import AskedBy, WorkAccess, secret_keep, secret_read, secret_use
from apps.scheduling.states import WorkKind, WorkloadState
from apps.tenancy.models import Tenant
from node_agent.protocol.execution import ARGUMENTS_BYTES

# How long a ticket waits to be used, and how long a way to a port stays open to new connections.
TICKET_S = 60
PORT_S = 12 * 3600
_PROGRAM_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionAccess(WorkAccess):
    """What may be run beside which share of a workload, by whom: these words (none: a shell), or a connection to a port
    on which it listens. `tty`: with a terminal."""

    share: int
    argv: list[str]
    tty: bool
    port: int | None = None


@service(P.OPERATE)
def execution_open(
    *,
    actor: Actor,
    tenant: Tenant,
    workload_uid: UUID,
    argv: list[str],
    tty: bool,
    by: AskedBy,
    share: int = 0,
) -> str:
    """A ticket to run a command beside a share of the actor's own running work, once and within a minute.

    No words: a shell. What runs ends with the session or token by which it is asked for.

    Raises:
        NotFound: there is no such workload.
        Forbidden: somebody else submitted it.
        Conflict: it does not run, or it is a session.
        InvalidInput: the command is too long, or it has no such share.
    """
    if sum(len(word.encode()) for word in argv) > ARGUMENTS_BYTES:
        raise InvalidInput(
            _("The command is longer than %(most)s bytes.") % {"most": ARGUMENTS_BYTES},
            cure=_("Copy a script there and run that."),
            fields={"argv": _("Too long.")},
        )
    access = _access(actor, tenant, workload_uid, share, by, argv=argv, tty=tty)
    act_subject("workload", workload_uid, program=argv[0][:_PROGRAM_CHARS] if argv else "shell")
    return secret_keep("exec", asdict(access), TICKET_S)


@service(P.OPERATE)
def port_open(
    *,
    actor: Actor,
    tenant: Tenant,
    workload_uid: UUID,
    port: int,
    by: AskedBy,
    share: int = 0,
) -> str:
    """A key for connections to a port on which the actor's own running work listens, as many as are wanted.

    Raises:
        NotFound, Forbidden, Conflict, InvalidInput: as for `execution_open`.
    """
    access = _access(actor, tenant, workload_uid, share, by, argv=[], tty=False, port=port)
    act_subject("workload", workload_uid)
    return secret_keep("port", asdict(access), PORT_S)


def _access(
    actor: Actor,
    tenant: Tenant,
    workload_uid: UUID,
    share: int,
    by: AskedBy,
    *,
    argv: list[str],
    tty: bool,
    port: int | None = None,
) -> ExecutionAccess:
    row = workload_get(tenant, workload_uid, actor=actor)
    if row.kind == WorkKind.SESSION:
        raise Conflict(
            _("%(no)s is a session: its program is run by your own computer.") % {"no": row.no},
            cure=_("Open a terminal there."),
        )
    if not may_execute(actor, row):
        raise Forbidden(
            _("A terminal on %(no)s is for who submitted it.") % {"no": row.no},
            cure=_("Start work of your own."),
        )
    if row.state != WorkloadState.RUNNING:
        raise Conflict(
            _("%(no)s does not run now.") % {"no": row.no},
            cure=_("Wait until it runs, or start another one."),
        )
    if not 0 <= share < row.shares:
        raise InvalidInput(
            _("%(no)s has no share %(share)s.") % {"no": row.no, "share": share},
            cure=_("Shares are counted from 0."),
            fields={"share": _("There is none of this number.")},
        )
    assert actor.user_id is not None
    return ExecutionAccess(
        workload_uid=str(row.uid),
        schema=tenant.schema_name,
        user_id=actor.user_id,
        role=actor.role,
        session_key=by.session_key,
        token_digest=by.token_digest,
        share=share,
        argv=argv,
        tty=tty,
        port=port,
    )


def execution_take(secret: str) -> ExecutionAccess | None:
    """What a ticket or a key allows; a ticket allows it once. None where it does not hold (any more)."""
    ticket = secret_read("exec", secret)
    if ticket is not None:
        return ExecutionAccess(**ticket) if secret_use("exec", secret) else None
    key = secret_read("port", secret)
    return ExecutionAccess(**key) if key is not None else None
