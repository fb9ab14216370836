"""Refusals of the fleet that carry their own code."""

from django.utils.translation import gettext_lazy as _

from apps.kernel.errors import Conflict, Forbidden, InvalidInput, WeirError


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


class IdentityTaken(Conflict):
    """Another agent process has taken over this node's identity, or a node claims to be another."""

    code = "identity_taken"
    default_cure = _("Stop one of the two agents; a second node joins with a token of its own.")


class IdentityMismatch(Forbidden):
    code = "identity_mismatch"
    default_cure = _("Give the node its name back, or let it join again with a token of its own.")


class FolderStoreFull(WeirError):
    """The portal has no room for a work folder on its way; its node tries again."""

    code = "folder_store_full"
    status = 507
    default_cure = _("Free room on the portal's disk.")


class NoSuchSpec(InvalidInput):
    code = "no_such_spec"
    default_cure = _("Choose one of the resource specifications on offer.")


class NoSuchMigProfile(InvalidInput):
    code = "no_such_mig_profile"


class NoSuchGroup(InvalidInput):
    code = "no_such_group"
    default_cure = _("Choose one of the resource groups that you were granted.")


class DeviceBusy(Conflict):
    """It cannot be switched while something is held of it (POOL-12.15)."""

    code = "device_busy"
    default_cure = _("Disable it, wait until its slices have ended, and try again.")


class MoveImpossible(Conflict):
    """A precondition of moving a session is not met; `code` says which (POOL-12.23)."""

    code = "move_impossible"
    default_cure = _("Choose another device of the same model.")

    def __init__(self, code: str, message: object, *, cure: object = "") -> None:
        super().__init__(message, cure=cure)
        self.code = code


class UnknownProtocol(WeirError):
    """The agent speaks a version that this server does not."""

    code = "unknown_protocol"
    status = 426
    default_cure = _("Install the agent that belongs to this server.")
