"""Nodes come, are drained, leave, and are missed."""

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.fleet.errors import DeviceTaken, NodeBusy, NodeNameTaken
from apps.fleet.events import NodeLost, NodeRemoved
from apps.fleet.locks import slices_lock
from apps.fleet.models import Device, Node, Slice, Watch
from apps.fleet.permissions import FleetPermission as P
from apps.fleet.services.discovery import device_new
from apps.fleet.services.ending import END_FIELDS, ended_tell, slice_close, slices_end_now
from apps.fleet.states import NODE, NodeState, SliceState
from apps.fleet.types import NodesChecked
from apps.identity.models import AgentToken
from apps.identity.services import agent_token_revoke, join_token_use
from apps.kernel.acts import Actor, act_subject
from apps.kernel.errors import NotFound
from apps.kernel.events import emit
from apps.kernel.service import service
from node_agent.protocol.fields import PROTOCOL_VERSION
from node_agent.protocol.join import DeviceReport, JoinReply, JoinRequest

_BATCH = 500
LOST_REASON = gettext_noop("The node was lost and did not come back in time.")


@service()
def node_join(*, actor: Actor, request: JoinRequest) -> JoinReply:
    """Let a node in for a one-time token and give it its own credential (PLAT-OPS-22).

    A node that joins again under its name with a device of its own is the same node: its old credential ends.
    Raises Unauthenticated for the token, NodeNameTaken or DeviceTaken for a node that cannot be told apart.
    """
    known = _node_named(request.node.name)
    node_uid = known.uid if known else str(uuid.uuid4())
    act_subject("node", node_uid, name=request.node.name)
    credential = join_token_use(actor=actor, secret=request.join_token, node_uid=node_uid)
    try:
        with transaction.atomic():
            _node_admit(known, node_uid, request)
    except IntegrityError as error:
        raise NodeNameTaken(_name_taken(request)) from error
    return JoinReply(
        protocol=PROTOCOL_VERSION,
        node_uid=node_uid,
        credential=credential,
        next_sync_s=settings.WEIR_AGENT_SYNC_S,
    )


def _node_named(name: str) -> Node | None:
    rows = Node.objects.exclude(state=NodeState.REMOVED).filter(name=name)
    return rows.select_for_update(no_key=True).first()


def _name_taken(request: JoinRequest) -> str:
    return _("Another node is called %(name)s.") % {"name": request.node.name}


def _node_admit(known: Node | None, node_uid: str, request: JoinRequest) -> None:
    now = timezone.now()
    owned = {
        device.uid: device
        for device in Device.objects.select_related("node").filter(uid__in=[d.uid for d in request.devices])
    }
    if known is not None:
        _same_check(known, request, owned)
    for device in owned.values():
        if device.node.state != NodeState.REMOVED and device.node_id != (known and known.pk):
            raise DeviceTaken(
                _("Device %(device)s belongs to node %(node)s.")
                % {"device": device.uid, "node": device.node.name}
            )
    node = known or Node(uid=node_uid, name=request.node.name)
    node.last_seen_at = now
    node.info = request.node.model_dump(mode="json")
    node.agent_version = request.node.agent_version
    node.save()
    _devices_admit(node, request.devices, owned)


def _same_check(known: Node, request: JoinRequest, owned: dict[str, Device]) -> None:
    has_devices = known.devices.exists()
    if has_devices and not any(device.node_id == known.pk for device in owned.values()):
        raise NodeNameTaken(_name_taken(request))


def _devices_admit(node: Node, reports: Sequence[DeviceReport], owned: dict[str, Device]) -> None:
    """New devices are made, those of a removed node move here; known ones follow with the next sync."""
    Device.objects.bulk_create([device_new(node, report) for report in reports if report.uid not in owned])
    moved = [device.pk for device in owned.values() if device.node_id != node.pk]
    Device.objects.filter(pk__in=moved).update(node=node)


@service(P.MANAGE)
def node_drain(*, actor: Actor, node_uid: str) -> Node:
    """Let no new slices onto the node; those that run go on."""
    node = _node_locked(node_uid)
    if node.state == NodeState.READY:
        NODE.move(node, NodeState.DRAINED, actor=actor, is_drained=True)
    else:
        Node.objects.filter(pk=node.pk).update(is_drained=True)
    return node


@service(P.MANAGE)
def node_undrain(*, actor: Actor, node_uid: str) -> Node:
    """Let new slices onto the node again."""
    node = _node_locked(node_uid)
    if node.state == NodeState.DRAINED:
        NODE.move(node, NodeState.READY, actor=actor, is_drained=False)
    else:
        Node.objects.filter(pk=node.pk).update(is_drained=False)
    return node


@service(P.MANAGE)
def node_remove(*, actor: Actor, node_uid: str) -> Node:
    """Take the node out of the fleet: its credential ends, its name and devices are free. NodeBusy while it
    has slices that have not ended."""
    node = _node_locked(node_uid)
    if Slice.plain.filter(node=node, closed_at=None).exists():
        raise NodeBusy(_("The node still has slices."))
    NODE.move(node, NodeState.REMOVED, actor=actor)
    for token in AgentToken.objects.filter(kind=AgentToken.Kind.NODE, node_uid=node_uid, revoked_at=None):
        agent_token_revoke(actor=actor, token=token)
    emit(NodeRemoved(node_uid=node_uid), actor=actor)
    return node


def _node_locked(node_uid: str) -> Node:
    act_subject("node", node_uid)
    rows = Node.objects.exclude(state=NodeState.REMOVED).select_for_update(no_key=True)
    node = rows.filter(uid=node_uid).first()
    if node is None:
        raise NotFound(_("There is no such node."))
    return node


@service(recorded=False)
def nodes_check(*, actor: Actor) -> NodesChecked:
    """Miss the nodes that were silent for `WEIR_NODE_LOST_AFTER_S`; give up what they never brought back.

    A lost node's slices keep their state, unvouched, for `WEIR_SLICE_LOST_AFTER_S`; then they are lost and their
    hold is given back. A slice that has ended, but whose last usage does not come, is closed after that time too.
    """
    now = timezone.now()
    listening_since_at = _watch(now)
    long_ago = now - timedelta(seconds=settings.WEIR_SLICE_LOST_AFTER_S)
    return NodesChecked(
        lost_nodes=_nodes_miss(actor, now, listening_since_at),
        lost_slices=_slices_lose(actor, now, long_ago),
        closed_slices=_slices_give_up(actor, now, long_ago),
    )


def _watch(now: datetime) -> datetime:
    """Since when nodes have been checked without a long break: after one they get time to be heard again."""
    break_s = timedelta(seconds=max(2 * settings.WEIR_NODE_LOST_AFTER_S, 30))
    row, _is_new = Watch.objects.select_for_update(no_key=True).get_or_create(
        is_only=True, defaults={"checked_at": now, "listening_since_at": now}
    )
    if now - row.checked_at > break_s:
        row.listening_since_at = now
    row.checked_at = now
    row.save()
    return row.listening_since_at


def _nodes_miss(actor: Actor, now: datetime, listening_since_at: datetime) -> int:
    silent = now - timedelta(seconds=settings.WEIR_NODE_LOST_AFTER_S)
    if listening_since_at > silent:
        return 0
    rows = Node.objects.filter(state__in=[NodeState.READY, NodeState.DRAINED], last_seen_at__lt=silent)
    nodes = list(rows.select_for_update(no_key=True, skip_locked=True).order_by("pk"))
    for node in nodes:
        NODE.move(node, NodeState.LOST, actor=actor, lost_at=now)
        emit(NodeLost(node_uid=node.uid, name=node.name), actor=actor)
    return len(nodes)


def _slices_lose(actor: Actor, now: datetime, long_ago: datetime) -> int:
    # The node's row is the lock against its return; then the slices, as everywhere.
    # A node may be removed at the moment a slice is wanted on it: nobody would ever hear of that one.
    gone = Node.objects.filter(Q(state=NodeState.LOST, lost_at__lt=long_ago) | Q(state=NodeState.REMOVED))
    nodes = list(
        gone.select_for_update(no_key=True, skip_locked=True).order_by("pk").values_list("pk", flat=True)
    )
    slices = _batch_locked(Q(node__in=nodes, final_at=None))
    slices_end_now(slices, SliceState.LOST, actor=actor, now=now, reason_code="lost", reason=LOST_REASON)
    return len(slices)


def _slices_give_up(actor: Actor, now: datetime, long_ago: datetime) -> int:
    slices = _batch_locked(Q(closed_at=None, final_at__lt=long_ago))
    for row in slices:
        slice_close(row, now=now, is_given_up=True)
    Slice.plain.bulk_update(slices, END_FIELDS)
    ended_tell(slices, actor=actor)
    return len(slices)


def _batch_locked(due: Q) -> list[Slice]:
    """Some of the slices that are due, locked; those that were no more when their lock was had are left out."""
    pks = set(Slice.plain.filter(due).order_by("pk").values_list("pk", flat=True)[:_BATCH])
    if not pks:
        return []
    mine = Q(pk__in=pks) & due
    return [row for row in slices_lock(mine, ending=mine) if row.pk in pks]
