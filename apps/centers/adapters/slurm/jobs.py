"""What is sent to slurmrestd for a job."""

from collections.abc import Mapping
from typing import Any

from apps.centers.adapters.base import JobMessage, Quantities
from apps.centers.adapters.requests import DEVICES, device_named, message_check
from apps.centers.adapters.slurm.logs import log_name

_PATH = "/usr/local/bin:/usr/bin:/bin"
# slurmrestd 22.05 does not pass on that a job is not to be run again when its node fails: whether it is run again the
# portal decides.
_SCRIPT = """#!/bin/sh
if [ "${{SLURM_RESTART_COUNT:-0}}" -gt 0 ]; then
    echo "Not run a second time." >&2
    exit 75
fi
{mask}{command}
"""
# What a tenant's work makes outside of its folder, as in /tmp, is its user's alone.
_MASK = "umask 077\n"


def job_body(
    message: JobMessage,
    key: str,
    *,
    folder: str,
    partition: str,
    account: str,
    devices: Mapping[str, str],
    is_private: bool = False,
) -> dict[str, Any]:
    """The submission of a job on one node, whose files are for its user alone where it `is_private`. Raises
    CenterRefused for what Slurm cannot be asked for."""
    message_check(message)
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
    return {"script": _SCRIPT.format(command=message.command, mask=_MASK if is_private else ""), "job": job}


def _gres(asked: Quantities, devices: Mapping[str, str]) -> str:
    parts = []
    for quantity in DEVICES:
        count = getattr(asked, quantity)
        if count:
            parts.append(f"gres:{device_named(quantity, devices)}:{count}")
    return ",".join(parts)
