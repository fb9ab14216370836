"""What a centre is asked for, looked at before anything is sent: keys, messages, names of devices."""

import re
from collections.abc import Mapping

from django.utils.translation import gettext as _

from apps.centers.adapters.base import CenterRefused, JobMessage

# The quantities that a centre may have under names of its own.
DEVICES = ("gpu", "npu", "mlu", "user_define")
# What engines can be asked for in a list, a file can be named by, and a shell can be shown.
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DEVICE = re.compile(r"(?P<quantity>\w+)=(?P<name>[A-Za-z0-9_.-]+)")


def key_check(key: str, length: int) -> None:
    """Raises CenterRefused for what is no key."""
    if not _KEY.fullmatch(key) or len(key) > length:
        raise CenterRefused(
            _("A key has letters, digits, dots and dashes, %(length)s of them at most.") % {"length": length}
        )


def message_check(message: JobMessage) -> None:
    """Raises CenterRefused for a job that no shell can run, and for one in an image."""
    if message.image:
        raise CenterRefused(_("Jobs of this kind of centre run in no image."))
    if not message.command.strip() or "\0" in message.command:
        raise CenterRefused(_("A job has a command, without a NUL character."))
    for name, value in message.environment.items():
        if not _NAME.fullmatch(name) or "\0" in value:
            raise CenterRefused(_("%(name)s is no variable that a job can have.") % {"name": repr(name[:60])})


def device_named(quantity: str, devices: Mapping[str, str]) -> str:
    """What the centre calls a quantity. Raises CenterRefused where it has no such device."""
    if quantity not in devices:
        raise CenterRefused(
            _("The settings of this centre name no device that counts as %(quantity)s.")
            % {"quantity": quantity}
        )
    return devices[quantity]


def device_names(written: str, usual: Mapping[str, str]) -> dict[str, str]:
    """The centre's names of devices by the portal's: `usual`, and over them what is written as "npu=ascend"."""
    found = dict(usual)
    for part in written.replace(",", " ").split():
        match = _DEVICE.fullmatch(part)
        if match is None or match["quantity"] not in DEVICES:
            raise CenterRefused(
                _("Write names of devices as gpu=gpu npu=ascend user_define=fpga, not %(part)s.")
                % {"part": repr(part[:60])}
            )
        found[match["quantity"]] = match["name"]
    if len(set(found.values())) != len(found):
        raise CenterRefused(_("Two kinds of devices have the same name at the cluster."))
    return found
