"""What a job may not be. Every fault of a request is told at once, by its field; internal to the app's services."""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from apps.centers.models import GRADE_MOST, ResourceSpec
from apps.centers.selectors import center_codes, resource_specs_named
from apps.centers.states import ServiceType
from apps.jointcloud.engine.outcome import RetryPolicy, StatePolicy
from apps.jointcloud.engine.reasons import BadInput
from apps.jointcloud.engine.submission import weights_read
from apps.jointcloud.engine.types import MOST_COUNT, Weights
from apps.jointcloud.models.jobs import LONG_BYTES, SHORT_BYTES
from apps.jointcloud.text import reason_text
from apps.jointcloud.types import JobRequest, TaskRequest
from apps.kernel.actor import Actor
from apps.kernel.control_characters import control_removed
from apps.kernel.errors import InvalidInput

MOST_TASKS = 1_000
MOST_REPLICAS = 1_000
"""Of a job: tasks, and replicas of all its tasks together."""
# With the variables that go with it, it fits what any adapter takes.
COMMAND_BYTES = 32 * 1024
MOST_RETRIES = 100
PRIORITY_MOST = 9
CHANGEABLE = ("name", "desc", "priority", "weights", "deadline_at")
"""What may be changed of a job that has not ended: what it is called, and by what its centres are chosen."""


def job_check(
    actor: Actor, asked: JobRequest, now: datetime, tenant: str, faults: dict[str, object]
) -> Weights | None:
    """The own weights of a job of the tenant of this code, as the engine takes them. InvalidInput with all faults, by
    field; `faults`: those that were found already."""
    faults |= _text_faults("name", asked.name, LONG_BYTES, is_required=True)
    faults |= _text_faults("desc", asked.desc, LONG_BYTES)
    if asked.job_type not in ServiceType.values:
        faults["job_type"] = _("There is no such type of job. There are: %(known)s.") % {
            "known": ", ".join(ServiceType.values)
        }
    faults |= _priority_faults(actor, asked.priority)
    weights = None
    try:
        weights = None if asked.weights is None else weights_read(asked.weights)
    except BadInput as error:
        faults["weights"] = reason_text(error.reason)
    try:
        StatePolicy(asked.success_policy, asked.failure_policy)
    except BadInput as error:
        faults["success_policy"] = reason_text(error.reason)
    try:
        RetryPolicy(asked.retries)
    except BadInput as error:
        faults["retries"] = reason_text(error.reason)
    if asked.retries is not None and asked.retries > MOST_RETRIES:
        faults["retries"] = _("At most %(most)s times.") % {"most": MOST_RETRIES}
    faults |= _tasks_faults(asked, now, tenant)
    if faults:
        raise InvalidInput(fields=faults)
    return weights


def job_change_check(actor: Actor, changes: Mapping[str, Any], now: datetime) -> Weights | None:
    """The new weights of a job as the engine takes them, where `changes` has some. InvalidInput with all faults, by
    field."""
    faults: dict[str, object] = {
        name[:64]: _("This cannot be changed. Submit another job.")
        for name in changes
        if name not in CHANGEABLE
    }
    if "name" in changes:
        faults |= _text_faults("name", changes["name"], LONG_BYTES, is_required=True)
    if "desc" in changes:
        faults |= _text_faults("desc", changes["desc"], LONG_BYTES)
    if "priority" in changes:
        faults |= _priority_faults(actor, changes["priority"])
    weights = None
    try:
        weights = weights_read(changes["weights"]) if changes.get("weights") is not None else None
    except BadInput as error:
        faults["weights"] = reason_text(error.reason)
    deadline_at = changes.get("deadline_at")
    if deadline_at is not None and deadline_at <= now:
        faults["deadline_at"] = _("The deadline is in the past. Give one to come, or none.")
    if faults:
        raise InvalidInput(fields=faults)
    return weights


def _priority_faults(actor: Actor, priority: int) -> dict[str, object]:
    most = PRIORITY_MOST if actor.kind in ("operator", "system") else 0
    if -PRIORITY_MOST <= priority <= most:
        return {}
    return {
        "priority": _("From %(least)s to %(most)s: what is above 0 operators give.")
        % {"least": -PRIORITY_MOST, "most": most}
    }


def _tasks_faults(asked: JobRequest, now: datetime, tenant: str) -> dict[str, object]:
    tasks = asked.tasks
    if not tasks:
        return {"tasks": _("A job has at least one task.")}
    if len(tasks) > MOST_TASKS:
        return {
            "tasks": _("A job has at most %(most)s tasks; here are %(given)s.")
            % {"most": MOST_TASKS, "given": len(tasks)}
        }
    faults: dict[str, object] = {}
    replicas = sum(task.replicas for task in tasks if task.replicas > 0)
    if replicas > MOST_REPLICAS:
        faults["tasks"] = _("A job has at most %(most)s replicas; here are %(given)s.") % {
            "most": MOST_REPLICAS,
            "given": replicas,
        }
    specs = resource_specs_named({task.resourcespec for task in tasks})
    # Of a centre that does not serve it a tenant hears no more than of none.
    centers = center_codes({code for task in tasks for code in task.centers}, tenant)
    for number, task in enumerate(tasks):
        faults |= {
            f"tasks[{number}].{field}": text
            for field, text in _task_faults(task, asked.job_type, specs, centers, now)
        }
    for name, count in Counter(task.name for task in tasks).items():
        if count > 1:
            faults["tasks"] = _("Two tasks have the name %(name)s. Give each its own.") % {"name": name[:63]}
    return faults


def _task_faults(
    task: TaskRequest,
    job_type: str,
    specs: dict[str, ResourceSpec],
    centers: set[str],
    now: datetime,
) -> Iterator[tuple[str, object]]:
    yield from _text_faults("name", task.name, SHORT_BYTES, is_required=True).items()
    if not task.command.strip() or "\0" in task.command:
        yield "command", _("Give the command that starts it, without a NUL character.")
    elif len(task.command.encode("utf-8", "surrogatepass")) > COMMAND_BYTES or not _is_text(task.command):
        yield "command", _("Give text of at most %(most)s bytes.") % {"most": COMMAND_BYTES}
    if task.replicas < 1:
        yield "replicas", _("Give at least 1.")
    spec = specs.get(task.resourcespec)
    if spec is None:
        yield (
            "resourcespec",
            _("There is no network specification %(code)s.") % {"code": task.resourcespec[:64]},
        )
    elif job_type in ServiceType.values and job_type not in spec.service_types:
        yield (
            "resourcespec",
            _("The specification %(code)s is for jobs of the types %(types)s.")
            % {
                "code": task.resourcespec,
                "types": ", ".join(spec.service_types),
            },
        )
    if task.image_id:
        yield (
            "image_id",
            _("No centre has an image %(image)s. Leave it out: the command runs without one.")
            % {"image": task.image_id[:64]},
        )
    unknown = [code for code in task.centers if code not in centers]
    if unknown:
        yield "centers", _("There is no centre %(code)s.") % {"code": unknown[0][:64]}
    if not 0 <= task.min_security_grade <= GRADE_MOST:
        yield "min_security_grade", _("From 0 to %(most)s.") % {"most": GRADE_MOST}
    if task.deadline_at is not None and task.deadline_at <= now:
        yield "deadline_at", _("The deadline is in the past. Give one to come, or none.")
    if task.duration_s is not None and not 1 <= task.duration_s <= MOST_COUNT:
        yield "duration_s", _("From 1 to %(most)s seconds.") % {"most": MOST_COUNT}


def _text_faults(field: str, text: str, most: int, *, is_required: bool = False) -> dict[str, object]:
    if is_required and not text.strip():
        return {field: _("Say something here.")}
    if not _is_text(text) or control_removed(text) != text:
        return {field: _("Letters, digits and signs only, in one line.")}
    size = len(text.encode())
    if size > most:
        return {field: _("At most %(most)s bytes; this has %(size)s.") % {"most": most, "size": size}}
    return {}


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
