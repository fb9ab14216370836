"""What is checked before work is taken in: a refusal at once, rather than a wait that never ends.

import re
Internal to the app's services.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import get_args

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _

from apps.fleet.models import Device, Node
from apps.fleet.models.secrets import SECRET_NAME
from apps.fleet.selectors import device_list, group_allowed, group_get, node_list
from apps.fleet.services.folder_uploads import upload_check
from apps.kernel.actor import Actor
from apps.kernel.errors import InvalidInput, WeirError
from apps.kernel.prepared_queries import Param, PreparedQuery
from apps.kernel.unit_text import span_text
from apps.scheduling.engine.model import types as engine
from apps.scheduling.errors import (
    BeyondQuota,
    DeadlineImpossible,
    GangTooLarge,
    HostTooSmall,
    NodeUnavailable,
    NoSuchDevice,
    NoSuchModel,
    NoSuchNode,
    NoSuchQueue,
    NoSuchSize,
    NotAuthorisedForGroup,
    QueueClosed,
    QueueNotAdmitting,
    RunTooLong,
    ShareTooLarge,
)
from apps.scheduling.models import PLACINGS, Queue, QueueTenant, UserGroup, Workload
from apps.scheduling.selectors.workloads import reason_sentence
from apps.scheduling.services.workloads.submission.feasibility import hopeless
from apps.scheduling.services.workloads.submission.packages import RequirementsRefused, requirements_read
from apps.scheduling.snapshot.workloads import request_of
from apps.scheduling.states import Purpose, WorkKind
from apps.scheduling.types import Amounts, WorkloadRequest
from apps.tenancy.models import Tenant
from node_agent.protocol.fields import CheckpointSignal
from node_agent.protocol.services import HEALTH_PATH, PORT_LEAST, PORT_MOST
from weir_wire.end_warning import warning_of

SIGNALS = tuple(filter(None, get_args(CheckpointSignal)))
MAX_SHARES = 512
MAX_PRIORITY = 1000
MAX_CPU_MILLI = 1_000_000
MAX_HOST_MIB = 2**31 - 1
MAX_ATTEMPTS = 100
MAX_RETRY_DELAY_S = 7 * 86_400


def amounts_check(amounts: Amounts) -> None:
    """InvalidInput naming each figure that no device could ever meet."""
    wrong = {}
    if not 1 <= amounts.shares <= MAX_SHARES:
        wrong["shares"] = _("1 to %(most)s") % {"most": MAX_SHARES}
    if not amounts.is_on_host:
        if not 1 <= amounts.compute_percent <= engine.WHOLE_CARD_PERCENT:
            wrong["compute_percent"] = _("1 to 100")
        if not 1 <= amounts.memory_mib < 2**31:
            wrong["memory_mib"] = _("at least 1")
    hosts = {
        "host_cpu_milli": MAX_CPU_MILLI,
        "host_memory_mib": MAX_HOST_MIB,
        "scratch_disk_mib": MAX_HOST_MIB,
    }
    for name, most in hosts.items():
        if not 0 <= getattr(amounts, name) <= most:
            wrong[name] = _("%(least)s to %(most)s") % {"least": 0, "most": most}
    if wrong.keys() & {"compute_percent", "memory_mib"}:
        raise ShareTooLarge(_("There is no such share of a device."), fields=wrong)
    if wrong:
        raise InvalidInput(fields=wrong)


def asked_check(asked: WorkloadRequest, now: datetime) -> None:
    """InvalidInput for requests that contradict one another or have no meaning; DeadlineImpossible."""
    wrong = _words_check(asked)
    shares = asked.shares or 1
    if asked.placing == engine.Placing.LOCAL and not asked.local_node:
        wrong["local_node"] = _("Local placing wants a local node.")
    if asked.affinity and shares > 1:
        wrong["affinity"] = _("Affinity is for one share.")
    if asked.affinity and asked.affinity == asked.anti_affinity:
        wrong["anti_affinity"] = _("It cannot be together with and apart from the same work.")
    if asked.model and asked.any_models and asked.model not in asked.any_models:
        wrong["any_models"] = _("None of them is the model %(model)s.") % {"model": asked.model}
    if asked.single_node and asked.node and asked.local_node and asked.node != asked.local_node:
        wrong["local_node"] = _("It is to run on node %(node)s.") % {"node": asked.node}
    wrong |= _checkpoint_check(asked)
    wrong |= _warning_check(asked)
    wrong |= _secrets_check(asked)
    if asked.outputs and asked.kind == WorkKind.SESSION:
        wrong["outputs"] = _("A session leaves no outputs: its program runs at its caller's.")
    if asked.web and asked.kind == WorkKind.SESSION:
        wrong["web"] = _("A session serves no web pages.")
    wrong |= _service_check(asked)
    wrong |= _packages_check(asked)
    if wrong:
        raise InvalidInput(fields=wrong)
    times_check(asked, now)


def folder_check(actor: Actor, tenant: Tenant, asked: WorkloadRequest) -> None:
    """InvalidInput for a folder that the actor has not sent, or that the work has no use for."""
    if not asked.folder:
        return
    if asked.kind == WorkKind.SESSION:
        problem = _("A session has no folder: its program runs at its caller's.")
    else:
        problem = upload_check(actor, tenant, asked.folder)
    if problem:
        raise InvalidInput(fields={"folder": problem})


def _checkpoint_check(asked: WorkloadRequest) -> dict[str, object]:
    """What is wrong with how it is asked to save itself (ELA-810)."""
    name = "checkpoint_signal" if asked.checkpoint_signal else "checkpoint_command"
    if not asked.checkpoint_signal and not asked.checkpoint_command:
        return {}
    if asked.kind == WorkKind.SESSION:
        return {name: _("A session saves nothing of itself.")}
    if asked.checkpoint_signal and asked.checkpoint_command:
        return {name: _("A signal or a command, not both.")}
    if asked.checkpoint_signal and asked.checkpoint_signal not in SIGNALS:
        return {name: _("one of %(names)s") % {"names": ", ".join(SIGNALS)}}
    if asked.checkpoint_command and not asked.checkpoint_command[0]:
        return {name: _("It names no program.")}
    return {}


def _secrets_check(asked: WorkloadRequest) -> dict[str, object]:
    """What is wrong with the names of its secrets; whether they are there is looked up where the work is taken in."""
    if asked.secrets and asked.kind == WorkKind.SESSION:
        return {"secrets": _("A session has no program to give them to.")}
    for name in asked.secrets:
        if not re.fullmatch(SECRET_NAME, name):
            return {"secrets": _("%(name)s is no variable's name.") % {"name": name[:40]}}
        if name in asked.env:
            return {"secrets": _("%(name)s is set as a plain variable too.") % {"name": name}}
    return {}


def _packages_check(asked: WorkloadRequest) -> dict[str, object]:
    """What is wrong with the packages it names; whether an index has them is known where they are installed."""
    if not asked.requirements:
        return {}
    if asked.kind == WorkKind.SESSION:
        return {"requirements": _("A session runs no program that could use packages.")}
    try:
        requirements_read(asked.requirements)
    except RequirementsRefused as error:
        return {"requirements": str(error)}
    return {}


def _service_check(asked: WorkloadRequest) -> dict[str, object]:
    """What is wrong with how it is reached and kept alive."""
    if asked.serve is None:
        return {"health": _("Its health is asked for only of a service.")} if asked.health else {}
    if asked.kind == WorkKind.SESSION:
        return {"serve": _("A session is no service.")}
    if (asked.shares or 1) > 1 or (asked.replicas or 1) > 1:
        return {"serve": _("A service is one share, with one address.")}
    if asked.serve and not PORT_LEAST <= asked.serve <= PORT_MOST:
        told = {"least": PORT_LEAST, "most": PORT_MOST}
        return {"serve": _("%(least)s to %(most)s, or 0 for one that its node chooses") % told}
    if asked.health and not re.fullmatch(HEALTH_PATH, asked.health):
        return {"health": _("A path begins with / and has no spaces: /healthz")}
    return {}


def _warning_check(asked: WorkloadRequest) -> dict[str, object]:
    """What is wrong with the signal before its run time is over."""
    if not asked.signal:
        return {}
    if asked.kind == WorkKind.SESSION:
        return {"signal": _("A session has no program to send it to.")}
    try:
        warning_of(asked.signal)
    except (ValueError, KeyError):
        return {
            "signal": _(
                "It is no signal and seconds before the end: USR1@60, a name or a number (not KILL or STOP), and 1"
                " to 65535."
            )
        }
    return {}


def warning_time_check(asked: WorkloadRequest, run_timeout_s: int | None) -> None:
    """InvalidInput where the signal would never be sent, or as soon as it starts."""
    if not asked.signal:
        return
    _name, before_s = warning_of(asked.signal)
    if run_timeout_s is None:
        raise InvalidInput(
            fields={"signal": _("It is sent before the end of its run time, and it has none.")},
            cure=_("Say how long it may run."),
        )
    if before_s >= run_timeout_s:
        raise InvalidInput(
            fields={"signal": _("It runs for %(run)s at most.") % {"run": span_text(run_timeout_s)}},
            cure=_("Let it be sent later, or let it run longer."),
        )


def elastic_check(min_shares: int | None, shares: int) -> None:
    """InvalidInput where elastic work would begin with more than its most (ELA-507)."""
    if min_shares is not None and not 1 <= min_shares <= shares:
        raise InvalidInput(fields={"min_shares": _("1 to %(most)s") % {"most": shares}})


def _words_check(asked: WorkloadRequest) -> dict[str, object]:
    wrong: dict[str, object] = {}
    if asked.priority is not None and abs(asked.priority) > MAX_PRIORITY:
        wrong["priority"] = _("-%(most)s to %(most)s") % {"most": MAX_PRIORITY}
    words = {"placing": dict(PLACINGS), "purpose": dict(Purpose.choices)}
    for name, allowed in words.items():
        if getattr(asked, name) and getattr(asked, name) not in allowed:
            wrong[name] = _("one of %(names)s") % {"names": ", ".join(allowed)}
    figures = {
        "host_cpu_milli": (0, MAX_CPU_MILLI),
        "host_memory_mib": (0, MAX_HOST_MIB),
        "scratch_disk_mib": (0, MAX_HOST_MIB),
        "max_attempts": (1, MAX_ATTEMPTS),
        "retry_delay_s": (0, MAX_RETRY_DELAY_S),
    }
    for name, (least, most) in figures.items():
        if not least <= getattr(asked, name) <= most:
            wrong[name] = _("%(least)s to %(most)s") % {"least": least, "most": most}
    return wrong


def times_check(asked: WorkloadRequest, now: datetime) -> None:
    """DeadlineImpossible where its run time does not fit before its deadline."""
    if asked.deadline_at is None:
        return
    told = {"fields": {"deadline_at": asked.deadline_at.isoformat()}}
    if asked.deadline_at <= now:
        raise DeadlineImpossible(_("The deadline is past."), **told)
    begin = max(now, asked.earliest_start_at or now)
    if asked.deadline_at <= begin:
        raise DeadlineImpossible(_("It may not start before its deadline."), **told)
    if asked.run_timeout_s and begin + timedelta(seconds=asked.run_timeout_s) > asked.deadline_at:
        raise DeadlineImpossible(
            _("It may run %(run)s, and %(left)s are left before its deadline.")
            % {
                "run": span_text(asked.run_timeout_s),
                "left": span_text((asked.deadline_at - begin).total_seconds()),
            },
            **told,
        )


def _queues() -> QuerySet[Queue]:
    named = QueueTenant.objects.across().filter(queue=OuterRef("pk"))
    groups = UserGroup.objects.filter(queues=OuterRef("pk"))
    # All may submit to it where none is named.
    return Queue.objects.filter(retired_at=None).annotate(
        admits=~Exists(named) | Exists(named.filter(tenant=Param("tenant"))),
        lets=~Exists(groups) | Exists(groups.filter(users=Param("user"))),
    )


_OPEN = ("admits", "lets")
_NAMED_QUEUE = PreparedQuery(lambda: _queues().filter(code=Param("code")), annotations=_OPEN)
_DEFAULT_QUEUE = PreparedQuery(lambda: _queues().filter(is_default=True), annotations=_OPEN)


def queue_open(code: str, tenant: Tenant, user_id: int | None = None) -> Queue:
    """The queue, if it takes this tenant's and this user's work now; "" is the default queue (PLAT-CLU-50).

    Without a user no group is asked for: of an order it is the operators who choose the queue.
    """
    who = {"tenant": tenant.pk, "user": user_id}
    queue = _NAMED_QUEUE.first(code=code, **who) if code else _DEFAULT_QUEUE.first(**who)
    if queue is None:
        raise _no_queue(code)
    told = {"code": queue.code, "state": queue.state}
    if queue.state not in (engine.QueueState.UP, engine.QueueState.DOWN):
        raise QueueClosed(_("Queue %(code)s is %(state)s and takes no work.") % told)
    if not queue.admits:
        raise QueueNotAdmitting(_("Queue %(code)s does not admit you.") % told)
    if user_id is not None and not queue.lets:
        raise _outside(queue)
    return queue


def _no_queue(code: str) -> NoSuchQueue:
    if code:
        return NoSuchQueue(_("There is no queue %(code)s.") % {"code": code}, fields={"queue": code})
    return NoSuchQueue(
        _("No queue is the default one."), cure=_("Name a queue."), fields={"queue": _("name one")}
    )


def _outside(queue: Queue) -> QueueNotAdmitting:
    """The refusal of a user who is in none of the queue's groups (PLAT-CLU-61)."""
    groups = ", ".join(str(group) for group in queue.user_groups.all())
    return QueueNotAdmitting(
        _("Queue %(code)s is for these user groups, and you are in none of them: %(groups)s.")
        % {"code": queue.code, "groups": groups},
        cure=_("Choose another queue, or ask an operator to put you into a group."),
    )


def run_time_of(queue: Queue, asked_s: int | None) -> int | None:
    """How long work of the queue may run that asked for so long: what asked for nothing has the queue's limit, and is
    ended at it (PLAT-CLU-52). Raises RunTooLong."""
    most_s = queue.max_run_s
    if most_s is None:
        return asked_s
    if asked_s is not None and asked_s > most_s:
        raise RunTooLong(
            _("Work of queue %(code)s runs for %(most)s at most, %(asked)s are asked.")
            % {"code": queue.code, "most": span_text(most_s), "asked": span_text(asked_s)},
            fields={"run_timeout_s": _("at most %(most)s") % {"most": span_text(most_s)}},
        )
    return most_s if asked_s is None else asked_s


def endless_check(queue: Queue) -> None:
    """RunTooLong where an order without an end would be delivered in a queue that ends its work."""
    if queue.max_run_s is not None:
        raise RunTooLong(
            _("Work of queue %(code)s runs for %(most)s at most, and this is to run without an end.")
            % {"code": queue.code, "most": span_text(queue.max_run_s)},
            cure=_("Say for how long."),
        )


def group_check(row: Workload) -> None:
    """NoSuchGroup for none, NotAuthorisedForGroup for one that who submitted it was not granted (POOL-12.13); also
    where it is its queue's."""
    for error in groups_refused([row]).values():
        raise error


def groups_refused(rows: Iterable[Workload]) -> dict[int | None, WeirError]:
    """By key, why rows may not run in their groups: each group, tenant and user is judged once."""
    judged: dict[tuple[str, int, int | None], WeirError | None] = {}
    refused: dict[int | None, WeirError] = {}
    for row in rows:
        group = row.resource_group or row.queue.resource_group
        if not group:
            continue
        who = (group, row.tenant_id, row.submitted_by_id)
        if who not in judged:
            judged[who] = _group_refusal(group, row)
        if (error := judged[who]) is not None:
            refused[row.pk] = error
    return refused


def _group_refusal(group: str, row: Workload) -> WeirError | None:
    try:
        known = group_get(group)
    except WeirError as error:
        return error
    if group_allowed(group=known.code, tenant=row.tenant, user_id=row.submitted_by_id):
        return None
    return NotAuthorisedForGroup(
        _("You are not authorised for resource group %(group)s.") % {"group": group},
        fields={"resource_group": group},
    )


def pins_of(*, vendor: str, model: str, any_models: Iterable[str] = ()) -> dict[str, str]:
    """The vendor and the model asked for; refuses what the pool does not have."""
    for name, value in (("vendor", vendor), *(("model", each) for each in (model, *any_models))):
        if value and not device_list().filter(**{name: value}).exists():
            raise NoSuchModel(
                _("The pool has no device of %(name)s %(value)s.") % {"name": name, "value": value},
                fields={name: value},
            )
    return {name: value for name, value in (("vendor", vendor), ("model", model)) if value}


def pins_read(asked: WorkloadRequest) -> dict[str, str]:
    """The vendor, model, node and device asked for, nodes by uid; refuses what the pool does not have."""
    pins = pins_of(vendor=asked.vendor, model=asked.model, any_models=asked.any_models)
    if asked.device and not device_list().filter(uid=asked.device).exists():
        raise NoSuchDevice(
            _("The pool has no device %(device)s.") % {"device": asked.device},
            fields={"device": asked.device},
        )
    node = node_read(asked.node, "node").uid if asked.node else ""
    pins |= {"node": node, "device": asked.device}
    return {name: value for name, value in pins.items() if value}


def node_read(given: str, field: str) -> Node:
    """The node of that name or uid, if it takes work."""
    found = node_list().filter(Q(uid=given) | Q(name=given)).first()
    if found is None:
        raise NoSuchNode(_("The pool has no node %(node)s.") % {"node": given}, fields={field: given})
    if not found.is_ready:
        raise NodeUnavailable(
            _("Node %(node)s takes no work: it is %(state)s.")
            % {"node": found.name, "state": found.get_state_display()},
            fields={field: given},
        )
    return found


_HOPELESS: Mapping[engine.ReasonCode, type[WeirError]] = {
    engine.ReasonCode.COMPUTE_PERCENT: ShareTooLarge,
    engine.ReasonCode.MEMORY_MIB: ShareTooLarge,
    engine.ReasonCode.SIZE: NoSuchSize,
    engine.ReasonCode.NO_SIZE: NoSuchSize,
    engine.ReasonCode.COUNT: GangTooLarge,
    engine.ReasonCode.COUNT_ON_ONE_NODE: GangTooLarge,
    engine.ReasonCode.REPLICA: GangTooLarge,
    engine.ReasonCode.REPLICAS: GangTooLarge,
    engine.ReasonCode.CONTRADICTION: InvalidInput,
    engine.ReasonCode.VENDOR: NoSuchModel,
    engine.ReasonCode.MODEL: NoSuchModel,
    engine.ReasonCode.NODE_PIN: NoSuchNode,
    engine.ReasonCode.LOCAL_NODE: NoSuchNode,
    engine.ReasonCode.DEVICE_PIN: NoSuchDevice,
    engine.ReasonCode.DRIVER: InvalidInput,
    engine.ReasonCode.LABEL: InvalidInput,
    engine.ReasonCode.STORAGE: InvalidInput,
    engine.ReasonCode.CONTAINERS: InvalidInput,
    engine.ReasonCode.PACKAGES: InvalidInput,
    engine.ReasonCode.PROGRAM: InvalidInput,
    engine.ReasonCode.REQUEST_INVALID: InvalidInput,
    engine.ReasonCode.HOST_CPU: HostTooSmall,
    engine.ReasonCode.HOST_MEMORY: HostTooSmall,
    engine.ReasonCode.SCRATCH_DISK: HostTooSmall,
    engine.ReasonCode.QUEUE_QUOTA: BeyondQuota,
    engine.ReasonCode.TENANT_QUOTA: BeyondQuota,
    engine.ReasonCode.MODEL_QUOTA: BeyondQuota,
}


def hopeless_check(row: Workload) -> None:
    """Refuse what would not fit even if every device of the pool were whole, ready and empty, and nothing of any quota
    used (ELA-507).

    An empty pool refuses nothing: devices may join. What fits the pool as it was read last is let in at once;
    nothing is refused but by the pool as it is.
    """
    request = request_of(row)
    reason = hopeless(request, is_fresh=False) and hopeless(request, is_fresh=True)
    if reason is not None and reason.code in _HOPELESS:
        raise _HOPELESS[reason.code](reason_sentence(reason.code, dict(reason.params)))


def device_of(uid: str) -> Device:
    found = device_list().filter(uid=uid).first()
    if found is None:
        raise NoSuchDevice(_("The pool has no device %(device)s.") % {"device": uid}, fields={"device": uid})
    return found
