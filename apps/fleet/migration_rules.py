"""Whether a session may move to a device: the preconditions of POOL-12.23, each with a reason of its own."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from apps.fleet.models import Device, Node, Slice
from apps.fleet.states import Desired, Health, NodeState, SliceKind, SliceState


@dataclass(frozen=True, slots=True)
class WhyNot:
    """A code for programs and a sentence for people."""

    code: str
    text: str


def move_why_not(source: Slice, device: Device) -> WhyNot | None:
    """The first precondition that is not met; None when the session may move there. Room is not looked at."""
    return _of_source(source) or _of_node(source, device.node) or _of_device(source, device)


def _of_source(source: Slice) -> WhyNot | None:
    if source.kind != SliceKind.SESSION:
        return WhyNot("not_a_session", _("Only sessions move; a program stays where it started."))
    is_on = source.state == SliceState.RUNNING and source.desired == Desired.RUNNING and source.is_vouched
    if not is_on or not source.session.get("port"):
        return WhyNot("not_running", _("The session does not run."))
    return None


def _of_node(source: Slice, node: Node) -> WhyNot | None:
    name = {"node": node.name}
    if node.state == NodeState.LOST:
        return WhyNot("node_failed", _("Node %(node)s does not answer.") % name)
    if not node.is_ready:
        return WhyNot("node_disabled", _("Node %(node)s is disabled.") % name)
    if node.is_upgrading:
        return WhyNot("node_upgrading", _("Node %(node)s is being upgraded.") % name)
    here, there = source.node.session_server, node.session_server
    if here != there:
        text = _("The session server of node %(node)s is %(there)s, this one is %(here)s.")
        return WhyNot("server_version", text % {**name, "there": there or "?", "here": here or "?"})
    return None


def _of_device(source: Slice, device: Device) -> WhyNot | None:
    name, now = {"device": device.uid}, source.device
    if device.pk == now.pk:
        return WhyNot("same_device", _("The session is on that device."))
    if device.health != Health.OK:
        return WhyNot("device_failed", _("Device %(device)s is not healthy.") % name)
    if not device.is_enabled or device.is_leaving:
        return WhyNot("device_disabled", _("Device %(device)s is disabled.") % name)
    if device.model != now.model:
        text = _("Device %(device)s is a %(there)s, the session runs on a %(here)s.")
        return WhyNot("device_model", text % {**name, "there": device.model, "here": now.model})
    if device.driver_version != now.driver_version:
        text = _("The driver of device %(device)s is %(there)s, this one is %(here)s.")
        versions = {"there": device.driver_version or "?", "here": now.driver_version or "?"}
        return WhyNot("driver_version", text % {**name, **versions})
    if (device.group.code if device.group else "") != source.group_code:
        return WhyNot("resource_group", _("Device %(device)s is of another resource group.") % name)
    if device.is_sliced == source.is_exclusive:
        return WhyNot("device_class", _("Device %(device)s is of the other class.") % name)
    return None
