from django.utils.translation import gettext_lazy as _

from apps.kernel.errors import Conflict, InvalidInput


class BackupError(Exception):
    """The backup cannot be made or restored; the text says why and what to do."""


class ReleaseUnsound(InvalidInput):
    """The file is no release, or its signature is not by a key that is trusted."""

    code = "release_unsound"
    default_message = _("The file is not a release that can be trusted.")
    default_cure = _("Build and sign it with `manage.py release_build` and a key that is trusted here.")


class ReleaseKnown(Conflict):
    code = "release_known"
    default_message = _("There is a release of this version already.")
    default_cure = _("A release is never changed: give the new one another version.")


class TargetBusy(Conflict):
    """A target is in another roll-out that is not over."""

    code = "target_in_rollout"
    default_message = _("A target is in another roll-out.")
    default_cure = _("Wait for that one, or cancel it.")


class NodeUnreachable(Conflict):
    code = "node_unavailable"
    default_message = _("A node does not answer.")
    default_cure = _("Leave it out, or bring it back first.")
