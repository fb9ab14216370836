"""What is sent to slurmrestd for a job."""

import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from apps.centers.adapters.base import CenterRefused, JobMessage, Quantities
from apps.centers.adapters.slurm.logs import log_name
from apps.centers.adapters.slurm.records import DEVICES

# What the accounts can be asked for in a list, and a shell can be shown.
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PATH = "/usr/local/bin:/usr/bin:/bin"
# slurmrestd 22.05 does not pass on that a job is not to be run again when its node fails: whether it is run again the
# portal decides.
_SCRIPT = """#!/bin/sh
if [ "${{SLURM_RESTART_COUNT:-0}}" -gt 0 ]; then
    echo "Not run a second time." >&2
    exit 75
fi
{command}
"""


def key_check(key: str, length: int) -> None:
    """Raises CenterRefused for what is no key."""
    if not _KEY.fullmatch(key) or len(key) > length:
        raise CenterRefused(
            _("A key has letters, digits, dots and dashes, %(length)s of them at most.") % {"length": length}
        )


def job_body(
    message: JobMessage, key: str, *, folder: str, partition: str, account: str, devices: Mapping[str, str]
) -> dict[str, Any]:
    """The submission of a job on one node. Raises CenterRefused for what Slurm cannot be asked for."""
    if message.image:
        raise CenterRefused(_("Jobs of this kind of centre run in no image."))
    if not message.command.strip() or "\0" in message.command:
        raise CenterRefused(_("A job has a command, without a NUL character."))
    for name, value in message.environment.items():
        if not _NAME.fullmatch(name) or "\0" in value:
            raise CenterRefused(_("%(name)s is no variable that a job can have.") % {"name": repr(name[:60])})
    asked = message.quantities
    job: dict[str, Any] = {
        "name": key,
        "environment": {"PATH": _PATH, **message.environment},
        "current_working_directory": folder,
        "standard_output": f"{folder}/{log_name('%j')}",
        "nodes": [1, 1],
        "tasks": 1,
        "cpus_per_task": max(asked.cpu, 1),
    }
    if asked.memory:
        job["memory_per_node"] = asked.memory
    if asked.storage:
        job["temporary_disk_per_node"] = asked.storage * 1024
    if listed := _gres(asked, devices):
        job["gres"] = listed
    if message.time_limit_s is not None:
        # Slurm counts whole minutes.
        job["time_limit"] = max(1, -(-message.time_limit_s // 60))
    if partition:
        job["partition"] = partition
    if account:
        job["account"] = account
    return {"script": _SCRIPT.format(command=message.command), "job": job}


def _gres(asked: Quantities, devices: Mapping[str, str]) -> str:
    parts = []
    for quantity in DEVICES:
        count = getattr(asked, quantity)
        if count and quantity not in devices:
            raise CenterRefused(
                _("The settings of this centre name no device that counts as %(quantity)s.")
                % {"quantity": quantity}
            )
        if count:
            parts.append(f"gres:{devices[quantity]}:{count}")
    return ",".join(parts)
