"""Processes that the product ships: the newest version that operators imported, else the shipped one."""

from uuid import UUID

from apps.approvals.selectors import process_list
from apps.catalog.models import ProcessTemplate
from apps.catalog.services.processes import process_template_import
from apps.kernel.actor import SYSTEM
from workflows.registry import definition_get


def template_of(key: str) -> ProcessTemplate:
    """The newest version of the process that operators imported; the shipped one where there is none yet."""
    found = ProcessTemplate.objects.filter(key=key).order_by("-created_at", "-pk").first()
    if found is not None:
        return found
    shipped = definition_get(key)
    return process_template_import(
        actor=SYSTEM, key=key, xml=shipped.xml, name_en=shipped.name, name_zh=shipped.name_zh
    )


def last_comment(subject_uid: UUID) -> str:
    """What was said last in the newest process of a subject of the current tenant."""
    process = process_list(subject_uid)[0]
    given = [each for task in process.tasks.all() for each in task.given.all()]
    return max(given, key=lambda each: each.pk).comment if given else ""
