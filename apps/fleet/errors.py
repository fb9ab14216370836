"""Refusals of the fleet that carry their own code."""

from django.utils.translation import gettext_lazy as _

from apps.kernel.errors import Conflict, WeirError


class DeviceUnavailable(Conflict):
    """The device is disabled, ill, full, or its node is not ready; the sentence says which, with the figures."""

    code = "device_unavailable"
    default_cure = _("Choose another device, or wait until something is released.")


class NodeNameTaken(Conflict):
    code = "node_name_taken"
    default_cure = _("Give this node another name, or remove the other one.")


class DeviceTaken(Conflict):
    code = "device_taken"
    default_cure = _("Remove the other node first, or give this node's devices their own numbers.")


class NodeBusy(Conflict):
    code = "node_busy"
    default_cure = _("Drain it and wait until its slices have ended.")


class UnknownProtocol(WeirError):
    """The agent speaks a version that this server does not."""

    code = "unknown_protocol"
    status = 426
    default_cure = _("Install the agent that belongs to this server.")
