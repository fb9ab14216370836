"""What is sent to Ray for a job: a fixed entrypoint, and the job itself beside it.

Ray shows an entrypoint in its lists and writes it into the job's log, and puts values for what looks like a variable
within the variables of a job. So the command and the exact values travel in one variable, packed in base64.
"""

import base64
import shlex
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from apps.centers.adapters.base import CenterRefused, JobMessage, Quantities
from apps.centers.adapters.ray.logs import BEGINS
from apps.centers.adapters.requests import DEVICES, device_named, message_check

# Ray's own name of GPUs; whatever else a node has is a resource by its name.
GPU = "GPU"
MIB = 2**20
# Linux takes 128 KiB for a variable; Ray keeps all variables of a job in one, packed ones among them.
SCRIPT_BYTES_MAX = 64 * 1024
# Ray writes a line of its own into the job's log while the job already runs: the job waits for that, so that all behind
# its mark is its own.
_ENTRYPOINT = """i=0
until grep -qs "^Running entrypoint for job" /proc/$$/fd/1 || [ $i -ge 200 ]; do i=$((i+1)); sleep 0.05; done
printf "%s-%s\\n" {begins}
script=$WEIR_SCRIPT; unset WEIR_SCRIPT i
exec {limit}sh -c "$(printf %s "$script" | base64 -d)\""""


def job_body(message: JobMessage, key: str, *, devices: Mapping[str, str]) -> dict[str, Any]:
    """The submission of a job on one node. Raises CenterRefused for what Ray cannot be asked for."""
    message_check(message)
    asked = asked_resources(message.quantities, devices)
    body: dict[str, Any] = {
        "submission_id": key,
        "entrypoint": _ENTRYPOINT.format(begins=BEGINS.replace("-", " "), limit=_limit(message)),
        "runtime_env": {"env_vars": _variables(message)},
        "entrypoint_num_cpus": asked.pop("CPU"),
    }
    if gpus := asked.pop(GPU, 0):
        body["entrypoint_num_gpus"] = gpus
    if memory := asked.pop("memory", 0):
        body["entrypoint_memory"] = memory
    if asked:
        body["entrypoint_resources"] = asked
    return body


def asked_resources(asked: Quantities, devices: Mapping[str, str]) -> dict[str, int]:
    """Amounts by Ray's names, its memory in bytes. Raises CenterRefused for what it does not count."""
    if asked.storage:
        raise CenterRefused(_("Ray counts no storage: ask for none there."))
    found = {"CPU": max(asked.cpu, 1)}
    if asked.memory:
        found["memory"] = asked.memory * MIB
    for quantity in DEVICES:
        if count := getattr(asked, quantity):
            found[device_named(quantity, devices)] = count
    return found


def _limit(message: JobMessage) -> str:
    """Ray bounds no job by time: the node's own `timeout` does, with a moment for the job to end by itself."""
    return "" if message.time_limit_s is None else f"timeout -k 10 {max(1, message.time_limit_s)} "


def _variables(message: JobMessage) -> dict[str, str]:
    lines = [f"export {name}={shlex.quote(value)}" for name, value in message.environment.items()]
    script = "\n".join([*lines, message.command]).encode()
    if len(script) > SCRIPT_BYTES_MAX:
        raise CenterRefused(
            _("A job's command and variables have %(bytes)s bytes at most there.")
            % {"bytes": SCRIPT_BYTES_MAX}
        )
    # Those that Ray leaves as they are reach the workers that the job starts by Ray, too.
    plain = {name: value for name, value in message.environment.items() if "$" not in value}
    return {**plain, "WEIR_SCRIPT": base64.b64encode(script).decode()}
