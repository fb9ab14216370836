"""The data that tasks read: found when they are submitted, and told to them where they run; internal to the app's
services."""

import re
from collections.abc import Collection, Iterator, Sequence

from django.utils.translation import gettext as _

from apps.jointcloud.models import Dataset, DatasetCopy, Task, TaskData
from apps.jointcloud.selectors.data import datasets_named
from apps.jointcloud.types import TaskRequest
from apps.kernel.actor import Actor

MOST_DATA = 16
"""Of a task: with the addresses of so many, its variables fit what any adapter takes."""
VARIABLE = "WEIR_DATA_"


class DataGone(Exception):
    """A centre holds data of a task no more; its text is the cause."""


def data_variable(data_name: str) -> str:
    """The variable in which a task finds where data lies."""
    return VARIABLE + re.sub("[^A-Z0-9]", "_", data_name.upper())


def tasks_data_find(
    actor: Actor, schema: str, tasks: Sequence[TaskRequest]
) -> tuple[list[list[Dataset]], dict[str, object]]:
    """The data of each task, locked so that it stays until the job is there; and what is wrong, by field."""
    names = {name for task in tasks for name in task.data}
    meant = datasets_named(schema, names, actor=actor, is_locked=True) if names else {}
    faults: dict[str, object] = {}
    found: list[list[Dataset]] = []
    for number, task in enumerate(tasks):
        fault = next(_faults(task, meant), "")
        if fault:
            faults[f"tasks[{number}].data"] = fault
        found.append([meant[name][0] for name in task.data if meant[name]])
    return found, faults


def meaning_fault(name: str, meant: Sequence[Dataset]) -> str:
    """What is wrong with naming data so; empty where it means one thing or nothing."""
    if len(meant) < 2:
        return ""
    versions = ", ".join(row.data_version for row in meant)
    return _("There are several versions of %(data)s: %(versions)s. Name one, as %(data)s:%(version)s.") % {
        "data": name[:63],
        "versions": versions[:200],
        "version": meant[-1].data_version,
    }


def _faults(task: TaskRequest, meant: dict[str, list[Dataset]]) -> Iterator[str]:
    if len(task.data) > MOST_DATA:
        yield _("A task reads at most %(most)s datasets.") % {"most": MOST_DATA}
    variables: dict[str, str] = {}
    for name in task.data:
        if not meant[name]:
            yield _("There is no data %(data)s.") % {"data": name[:128]}
        elif fault := meaning_fault(name, meant[name]):
            yield fault
        else:
            variable = data_variable(meant[name][0].data_name)
            if variable in variables:
                yield _("Both %(one)s and %(other)s would lie in %(variable)s. Leave one out.") % {
                    "one": variables[variable][:63],
                    "other": name[:63],
                    "variable": variable,
                }
            variables[variable] = name


def tasks_data_keep(tasks: Sequence[Task], found: Sequence[Sequence[Dataset]]) -> None:
    """Keep which data each task reads."""
    TaskData.objects.bulk_create(
        TaskData(
            task=task,
            number=number,
            dataset=row,
            data_id=row.data_id,
            data_name=row.data_name,
            data_version=row.data_version,
        )
        for task, rows in zip(tasks, found, strict=True)
        for number, row in enumerate(rows)
    )


def data_there(task: Task, centers: Collection[str]) -> dict[str, dict[str, str]]:
    """By the code of each of these centres: where the task's data lies there, by variable. The caller holds the data
    (`datasets_hold`). Raises DataGone, with the centre's code as its second argument."""
    wanted = list(task.data.order_by("number"))
    if not wanted:
        return {code: {} for code in centers}
    ids = [row.data_id for row in wanted]
    copies = DatasetCopy.objects.filter(dataset__data_id__in=ids, center__ai_center_id__in=list(centers))
    lies = {
        (copy.dataset.data_id, copy.center.ai_center_id): copy.address
        for copy in copies.select_related("dataset", "center")
        if copy.is_of_it
    }
    found: dict[str, dict[str, str]] = {code: {} for code in centers}
    for code in centers:
        for row in wanted:
            if (row.data_id, code) not in lies:
                raise DataGone(f"The data {row} is not there any more.", code)
            found[code][data_variable(row.data_name)] = lies[row.data_id, code]
    return found
