"""A job of the network as a workload of the pool."""

import re

from django.utils.translation import gettext as _

from apps.centers.adapters.base import CenterRefused, JobMessage
from apps.jointcloud.local.accelerators import card_for
from apps.scheduling.types import WorkloadRequest

# Of a workload's `client_key`.
KEY_LENGTH = 64
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def key_check(key: str) -> None:
    """Raises CenterRefused for what is no key."""
    if not _KEY.fullmatch(key) or len(key) > KEY_LENGTH:
        raise CenterRefused(
            _("A key has letters, digits, dots and dashes, %(length)s of them at most.")
            % {"length": KEY_LENGTH}
        )


def request_of(message: JobMessage, key: str, queue: str) -> WorkloadRequest:
    """What is submitted for a job: one share, never run a second time by the pool itself; without an accelerator on a
    node's host alone. Raises CenterRefused for what the pool cannot be asked for."""
    if not message.command.strip() or "\0" in message.command:
        raise CenterRefused(_("A job has a command, without a NUL character."))
    for name, value in message.environment.items():
        if not _NAME.fullmatch(name) or "\0" in value:
            raise CenterRefused(_("%(name)s is no variable that a job can have.") % {"name": repr(name[:60])})
    asked, card = message.quantities, card_for(message.quantities)
    if card is None and asked.cpu < 1:
        raise CenterRefused(_("A job without an accelerator says how many CPU cores it needs."))
    return WorkloadRequest(
        name=key,
        argv=("sh", "-c", message.command),
        env=dict(message.environment),
        image=message.image,
        queue=queue,
        client_key=key,
        shares=1,
        whole_cards=bool(card and not card.is_sliced),
        compute_percent=100 if card else 0,
        memory_mib=card.memory_mib if card else 0,
        vendor=card.vendor if card else "",
        model=card.model if card else "",
        host_cpu_milli=asked.cpu * 1000,
        host_memory_mib=asked.memory,
        scratch_disk_mib=asked.storage * 1024,
        run_timeout_s=message.time_limit_s,
    )
