"""Why a job stands as it does, and what was decided on its tasks, in the reader's words.

`names` are those of the centres by their codes; one that is there no more is called by its code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from apps.jointcloud.engine.reasons import AnyCode, Code, Finding, Reason
from apps.jointcloud.models import Decision, Job, Task
from apps.jointcloud.states import OPEN, DecisionKind, WorkState
from apps.jointcloud.text import cause_text, reason_text


def reasons_kept(reasons: Iterable[Reason]) -> list[list[Any]]:
    """Reasons as JSON keeps them: [code, figures]."""
    return [[str(each.code), dict(each.params)] for each in reasons]


def reasons_read(kept: Iterable[Any]) -> list[Reason]:
    """Reasons as they were kept; those of a version that knew others are left out."""
    known: dict[str, AnyCode] = {str(code): code for kind in (Code, Finding) for code in kind}
    return [Reason(known[code], tuple(params.items())) for code, params in kept if code in known]


def reasons_text(kept: Iterable[Any], names: Mapping[str, str]) -> str:
    """Reasons as they were kept, as sentences."""
    return " ".join(reason_text(each, names) for each in reasons_read(kept))


def decision_text(row: Decision, names: Mapping[str, str]) -> str:
    """A decision in a sentence or a few."""
    figures = {
        "task": row.task.name,
        "center": names.get(row.ai_center_id, row.ai_center_id),
        "count": row.replicas,
    }
    match row.kind:
        case DecisionKind.PLACED:
            return (
                _("%(task)s goes to %(center)s (replicas: %(count)s).") % figures
                + " "
                + reasons_text(row.reasons, names)
            )
        case DecisionKind.WAITS:
            return _("%(task)s waits.") % figures + " " + reasons_text(row.reasons, names)
        case DecisionKind.REFUSED:
            said = _("%(center)s refused %(task)s.") % figures
            return f"{said} {cause_text(row.message)}".strip()
        case DecisionKind.TAKEN_BACK:
            return _("%(task)s is taken back from %(center)s: all tasks of the job start together.") % figures
        case DecisionKind.LOST:
            return _("%(center)s is gone, and %(task)s with it: it is placed anew.") % figures
        case _:
            return _("%(task)s has failed and is tried again (replicas: %(count)s).") % figures


def state_text(job: Job, tasks: Sequence[Task], names: Mapping[str, str]) -> str:
    """Why the job stands as it does, in a sentence; its tasks with `current`, the attempts of their replicas."""
    if job.state == WorkState.COMPLETED:
        return _("All that it takes has completed.")
    if job.state == WorkState.STOPPED:
        return _("It was stopped.")
    if job.state == WorkState.FAILED:
        return _failed_text(tasks)
    if job.stop_asked_at is not None:
        return _("It was asked to stop; its centres are ending it.")
    waits = next((task for task in tasks if len(task.current) < task.replicas), None)  # type: ignore[attr-defined]
    if waits is not None:
        why = reasons_text(waits.waits_for, names) or _("The next cycle looks for a centre.")
        return _("%(task)s waits for a centre.") % {"task": waits.name} + " " + why
    if job.state in OPEN and job.state == WorkState.PENDING:
        return _("It is at its centres and waits there.")
    return _("It runs.")


def _failed_text(tasks: Sequence[Task]) -> str:
    for task in tasks:
        for row in task.current:  # type: ignore[attr-defined]
            if row.state == WorkState.FAILED:
                said = _("Replica %(replica)s of %(task)s has failed at %(center)s.") % {
                    "replica": row.number + 1,
                    "task": task.name,
                    "center": row.center_name,
                }
                return f"{said} {cause_text(row.reason)}".strip()
    return _("A task of it has failed.")
