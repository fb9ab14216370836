"""Refusals of the fleet that carry their own code."""

from django.utils.translation import gettext_lazy as _

from apps.kernel.errors import Conflict, WeirError


class ShareGone(Conflict):
    """The device has no such share any more: somebody else took it, or it is out of service."""

    code = "share_gone"
    default_message = _("The device has no such share left.")
    default_cure = _("Place it anew.")


class UnknownProtocol(WeirError):
    """The agent speaks a version of the protocol that this server does not."""

    code = "unknown_protocol"
    status = 426
    default_cure = _("Install an agent of a supported version.")


class TooLarge(WeirError):
    code = "too_large"
    status = 413
    default_message = _("The message is too large.")
    default_cure = _("Send less at once.")
