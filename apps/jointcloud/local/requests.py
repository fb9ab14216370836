"""A job of the network as a workload of the pool."""

import re

from django.utils.translation import gettext as _

from apps.centers.adapters.base import CenterRefused, JobMessage
from apps.jointcloud.local.accelerators import cards_for
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
    """What is submitted for a job: one replica, on one node, never run a second time by the pool itself.

    Each of its accelerators is a share of its own, as everywhere in the pool: a member with its card, told of the
    others; what the job asks of its node is divided among them. Raises CenterRefused for what the pool cannot be asked
    for.
    """
    if not message.command.strip() or "\0" in message.command:
        raise CenterRefused(_("A job has a command, without a NUL character."))
    for name, value in message.environment.items():
        if not _NAME.fullmatch(name) or "\0" in value:
            raise CenterRefused(_("%(name)s is no variable that a job can have.") % {"name": repr(name[:60])})
    asked, cards = message.quantities, cards_for(message.quantities)
    if cards is None and asked.cpu < 1:
        raise CenterRefused(_("A job without an accelerator says how many CPU cores it needs."))
    shares = cards.count if cards else 1
    return WorkloadRequest(
        name=key,
        argv=("sh", "-c", message.command),
        env=dict(message.environment),
        image=message.image,
        queue=queue,
        client_key=key,
        shares=shares,
        shares_per_replica=shares,
        whole_cards=bool(cards and not cards.is_sliced),
        compute_percent=100 if cards else 0,
        memory_mib=cards.memory_mib if cards else 0,
        vendor=cards.vendor if cards else "",
        model=cards.model if cards else "",
        host_cpu_milli=_part(asked.cpu * 1000, shares),
        host_memory_mib=_part(asked.memory, shares),
        scratch_disk_mib=_part(asked.storage * 1024, shares),
        run_timeout_s=message.time_limit_s,
    )


def _part(amount: int, shares: int) -> int:
    """Of each share, so that all of them have the amount at least."""
    return -(-amount // shares)
