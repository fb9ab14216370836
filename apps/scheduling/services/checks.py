"""What is checked before work is taken in: a refusal at once, rather than a wait that never ends.

Internal to the app's services.
"""

from collections.abc import Mapping
from dataclasses import replace

from django.db.models import Q
from django.utils.translation import gettext as _

from apps.fleet.models import Device, Node
from apps.fleet.selectors import device_list, group_allowed, group_get, node_list
from apps.kernel.errors import InvalidInput, WeirError
from apps.scheduling.engine import types as engine
from apps.scheduling.engine.cycle import Cycle
from apps.scheduling.errors import (
    GangTooLarge,
    NodeUnavailable,
    NoSuchDevice,
    NoSuchModel,
    NoSuchNode,
    NoSuchQueue,
    NotAuthorisedForGroup,
    QueueClosed,
    QueueNotAdmitting,
    ShareTooLarge,
)
from apps.scheduling.models import PLACINGS, Queue, Workload
from apps.scheduling.selectors import queue_admits, reason_sentence, request_of, snapshot_get
from apps.scheduling.types import Amounts, Asked
from apps.tenancy.models import Tenant

MAX_SHARES = 512
MAX_PRIORITY = 1000


def amounts_check(amounts: Amounts) -> None:
    """InvalidInput naming each figure that no device could ever meet."""
    wrong = {}
    if not 1 <= amounts.shares <= MAX_SHARES:
        wrong["shares"] = _("1 to %(most)s") % {"most": MAX_SHARES}
    if not 1 <= amounts.compute_percent <= engine.WHOLE_CARD_PERCENT:
        wrong["compute_percent"] = _("1 to 100")
    if not 1 <= amounts.memory_mib < 2**31:
        wrong["memory_mib"] = _("at least 1")
    if wrong.keys() & {"compute_percent", "memory_mib"}:
        raise ShareTooLarge(_("There is no such share of a device."), fields=wrong)
    if wrong:
        raise InvalidInput(fields=wrong)


def asked_check(asked: Asked) -> None:
    """InvalidInput for wishes that contradict one another or have no meaning."""
    wrong: dict[str, object] = {}
    if abs(asked.priority) > MAX_PRIORITY:
        wrong["priority"] = _("-%(most)s to %(most)s") % {"most": MAX_PRIORITY}
    if asked.placing and asked.placing not in dict(PLACINGS):
        wrong["placing"] = _("one of %(names)s") % {"names": ", ".join(dict(PLACINGS))}
    if asked.placing == engine.Placing.LOCAL and not asked.local_node:
        wrong["local_node"] = _("Local placing wants a local node.")
    if asked.affinity and (asked.shares or 1) > 1:
        wrong["affinity"] = _("Affinity is for one share.")
    if asked.affinity and asked.affinity == asked.anti_affinity:
        wrong["anti_affinity"] = _("It cannot be together with and apart from the same work.")
    if wrong:
        raise InvalidInput(fields=wrong)


def queue_open(code: str, tenant: Tenant) -> Queue:
    """The queue, if it takes this tenant's work now."""
    queue = Queue.objects.filter(code=code).first()
    if queue is None:
        raise NoSuchQueue(_("There is no queue %(code)s.") % {"code": code}, fields={"queue": code})
    if queue.state not in (engine.QueueState.UP, engine.QueueState.DOWN):
        raise QueueClosed(
            _("Queue %(code)s is %(state)s and takes no work.") % {"code": code, "state": queue.state}
        )
    if not queue_admits(queue, tenant):
        raise QueueNotAdmitting(_("Queue %(code)s does not admit you.") % {"code": code})
    return queue


def group_check(row: Workload) -> None:
    """NoSuchGroup for none, NotAuthorisedForGroup for one that who submitted it was not granted (POOL-12.13); also
    where it is its queue's. Of an order it is the operators who choose the queue."""
    group = row.resource_group or row.queue.resource_group
    if not group or not row.is_direct:
        return
    if not group_allowed(group=group_get(group).code, tenant=row.tenant, user_id=row.submitted_by_id):
        raise NotAuthorisedForGroup(
            _("You are not authorised for resource group %(group)s.") % {"group": group},
            fields={"resource_group": group},
        )


def pins_read(asked: Asked) -> dict[str, str]:
    """The vendor, model, node and device asked for, nodes by uid; refuses what the pool does not have."""
    devices = device_list()
    for name, value in (("vendor", asked.vendor), ("model", asked.model)):
        if value and not devices.filter(**{name: value}).exists():
            raise NoSuchModel(
                _("The pool has no device of %(name)s %(value)s.") % {"name": name, "value": value},
                fields={name: value},
            )
    if asked.device and not devices.filter(uid=asked.device).exists():
        raise NoSuchDevice(
            _("The pool has no device %(device)s.") % {"device": asked.device},
            fields={"device": asked.device},
        )
    node = node_read(asked.node, "node").uid if asked.node else ""
    pins = {"vendor": asked.vendor, "model": asked.model, "node": node, "device": asked.device}
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
    engine.ReasonCode.COUNT: GangTooLarge,
    engine.ReasonCode.COUNT_ON_ONE_NODE: GangTooLarge,
    engine.ReasonCode.VENDOR: NoSuchModel,
    engine.ReasonCode.MODEL: NoSuchModel,
    engine.ReasonCode.NODE_PIN: NoSuchNode,
    engine.ReasonCode.LOCAL_NODE: NoSuchNode,
    engine.ReasonCode.DEVICE_PIN: NoSuchDevice,
}


def hopeless_check(row: Workload) -> None:
    """Refuse what would not fit even if every device of the pool were whole, ready and empty (ELA-507).

    An empty pool refuses nothing: devices may join.
    """
    snapshot = snapshot_get(with_work=False)
    ideal = replace(
        snapshot,
        nodes=tuple(replace(node, ready=True, schedulable=True) for node in snapshot.nodes),
        devices=tuple(
            replace(device, enabled=True, healthy=True, sliced=None) for device in snapshot.devices
        ),
    )
    reason = Cycle(ideal, seed=0).hopeless(request_of(row))
    if reason is not None and reason.code in _HOPELESS:
        raise _HOPELESS[reason.code](reason_sentence(reason.code, dict(reason.params)))


def device_of(uid: str) -> Device:
    found = device_list().filter(uid=uid).first()
    if found is None:
        raise NoSuchDevice(_("The pool has no device %(device)s.") % {"device": uid}, fields={"device": uid})
    return found
