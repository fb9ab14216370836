"""Nodes come, are drained, are configured, and leave."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import ValidationError

from apps.fleet.errors import DeviceTaken, NodeNameTaken
from apps.fleet.events import DeviceFound, NodeRemoved
from apps.fleet.models import Device, Node, Slice, WorkFolder
from apps.fleet.permissions import FleetPermission as P
from apps.fleet.services.nodes.discovery import device_new
from apps.fleet.states import NODE, NodeState
from apps.identity.models import AgentToken
from apps.identity.services.tokens import agent_token_revoke, join_token_use
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import InvalidInput, NotFound
from apps.kernel.events import emit
from apps.kernel.service import service
from node_agent.protocol.fields import PROTOCOL_VERSION
from node_agent.protocol.join import DeviceReport, JoinReply, JoinRequest
from node_agent.protocol.sync import AgentConfig, DesiredRelease


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
            _node_admit(actor, known, node_uid, request)
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


def _node_admit(actor: Actor, known: Node | None, node_uid: str, request: JoinRequest) -> None:
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
    node.address, node.components = request.node.address, dict(request.node.components)
    node.is_leaving = False
    node.save()
    _devices_admit(node, request.devices, owned)
    for uid in {report.uid for report in request.devices} - {
        d.uid for d in owned.values() if d.node_id == node.pk
    }:
        emit(DeviceFound(device_uid=uid, node_uid=node.uid, node=node.name), actor=actor)


def _same_check(known: Node, request: JoinRequest, owned: dict[str, Device]) -> None:
    has_devices = known.devices.exists()
    if has_devices and not any(device.node_id == known.pk for device in owned.values()):
        raise NodeNameTaken(_name_taken(request))


def _devices_admit(node: Node, reports: Sequence[DeviceReport], owned: dict[str, Device]) -> None:
    """New devices are made, those of a removed node move here; known ones follow with the next sync."""
    Device.objects.bulk_create([device_new(node, report) for report in reports if report.uid not in owned])
    moved = [device.pk for device in owned.values() if device.node_id != node.pk]
    Device.objects.filter(pk__in=moved).update(node=node, is_leaving=False, left_at=None, missing_at=None)


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
    """Let new slices onto the node again; one that was to leave stays."""
    node = _node_locked(node_uid)
    if node.state == NodeState.DRAINED:
        NODE.move(node, NodeState.READY, actor=actor, is_drained=False, is_leaving=False)
    else:
        Node.objects.filter(pk=node.pk).update(is_drained=False, is_leaving=False)
    node.refresh_from_db()
    return node


@service(P.MANAGE)
def node_remove(*, actor: Actor, node_uid: str) -> Node:
    """Take the node out of the pool: at once when nothing runs there, else when its last slice has ended; nothing
    new is put on it meanwhile (POOL-12.25). Its credential ends then, its name and devices are free.
    `node_undrain` takes that back."""
    node = _node_locked(node_uid)
    Node.objects.filter(pk=node.pk).update(is_leaving=True)
    nodes_leave(Node.objects.filter(pk=node.pk), actor=actor)
    node.refresh_from_db()
    return node


def nodes_leave(rows: QuerySet[Node], *, actor: Actor) -> int:
    """Let those of the leaving nodes go that have no slices any more; how many did."""
    busy = Slice.plain.filter(node=OuterRef("pk"), closed_at=None)
    held = Device.objects.filter(Q(held_percent__gt=0) | Q(held_mib__gt=0), node=OuterRef("pk"))
    # What its work keeps there is brought away first.
    kept = WorkFolder.plain.filter(node=OuterRef("pk"), sent_at=None, given_up="")
    stays = Exists(kept) & ~Q(state=NodeState.LOST)
    due = rows.filter(~Exists(busy), ~Exists(held), ~stays, is_leaving=True).exclude(state=NodeState.REMOVED)
    gone = list(due.select_for_update(no_key=True).order_by("pk"))
    for node in gone:
        NODE.move(node, NodeState.REMOVED, actor=actor)
        for token in AgentToken.objects.filter(kind=AgentToken.Kind.NODE, node_uid=node.uid, revoked_at=None):
            agent_token_revoke(actor=actor, token=token)
        devices = tuple(node.devices.order_by("pk").values_list("uid", flat=True))
        emit(NodeRemoved(node_uid=node.uid, device_uids=devices), actor=actor)
    return len(gone)


@service(P.MANAGE)
def node_want(
    *,
    actor: Actor,
    node_uid: str,
    config: Mapping[str, Any] | None = None,
    release: Mapping[str, Any] | None = None,
) -> Node:
    """Want a configuration (fields of AgentConfig without `generation`) or a release (DesiredRelease) of a node; it is
    told with every reply until it runs them. None leaves what is wanted, an empty release wants none any more.

    Raises InvalidInput naming the field that no agent could take.
    """
    node = _node_locked(node_uid)
    if config is not None:
        heard = (node.wanted_config or {}).get("generation", 0)
        generation = max(heard, node.config_generation) + 1
        node.wanted_config = _checked(AgentConfig, {**config, "generation": generation})
    if release is not None:
        node.wanted_release = _checked(DesiredRelease, release) if release else None
    node.save(update_fields=["wanted_config", "wanted_release", "updated_at"])
    act_subject("node", node_uid, config=node.wanted_config, release=node.wanted_release)
    return node


def _checked(kind: type[AgentConfig] | type[DesiredRelease], given: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return kind.model_validate(dict(given)).model_dump(mode="json")
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "config"
        raise InvalidInput(_("No agent could take this."), fields={place: first["msg"]}) from error


def _node_locked(node_uid: str) -> Node:
    act_subject("node", node_uid)
    rows = Node.objects.exclude(state=NodeState.REMOVED).select_for_update(no_key=True)
    node = rows.filter(uid=node_uid).first()
    if node is None:
        raise NotFound(_("There is no such node."))
    return node
