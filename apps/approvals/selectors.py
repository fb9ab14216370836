"""The inbox, one task, the time line of a subject, and who may decide."""

from functools import lru_cache
from typing import Any
from uuid import UUID

from django.db.models import Prefetch, Q, QuerySet

from apps.approvals.models import Decision, HumanTask, ProcessInstance
from apps.approvals.permissions import ApprovalsPermission as P
from apps.approvals.permissions import tasks_reached
from apps.approvals.states import TaskState
from apps.cases.types import CaseData, CaseKind
from apps.catalog.models import ProcessTemplate
from apps.catalog.selectors.processes import process_definition
from apps.identity.selectors import operators_who_may, operators_with_role
from apps.kernel.actor import Actor
from apps.kernel.errors import InvalidInput, NotFound
from apps.orgs.selectors.roles import members_who_may, role_codes_of, users_with_role
from workflows.engine import Definition, Node

TABS = ("todo", "done", "urged")


@lru_cache(maxsize=64)
def definition_by(key: str, version: str) -> Definition:
    """The loaded process of the template with this key and version."""
    return process_definition(ProcessTemplate.objects.get(key=key, version=version))


def definition_of(template: ProcessTemplate) -> Definition:
    """The loaded process of a template; templates never change, so each is parsed once in a server process."""
    return definition_by(template.key, template.version)


def steps_undecidable_here(template: ProcessTemplate) -> list[Node]:
    """The steps of a process that are for roles of the current tenant, and that nobody of it can decide now."""
    return [node for node in definition_of(template).nodes if _is_vacant(node)]


def _is_vacant(node: Node) -> bool:
    roles = [one.value for one in node.candidates if (one.kind, one.side) == ("role", "tenant")]
    if not roles or len(roles) < len(node.candidates):
        return False
    holders = {pk for role in roles for pk in users_with_role(role)}
    return not members_who_may(P.DECIDE, holders)


# --- who may decide --------------------------------------------------------------------------------------------


def _candidacy(actor: Actor) -> Q:
    """The tasks that the actor is a candidate of: as a member by the roles bound in this tenant, as an operator by
    the active role; by name either way."""
    by_name = Q(user_ids__contains=[actor.user_id])
    if actor.kind == "operator":
        return by_name | Q(operator_roles__contains=[actor.role])
    return by_name | Q(roles__overlap=sorted(role_codes_of(actor.user_id or 0)) or [""])


def role_decided_in(task: HumanTask, actor: Actor) -> str | None:
    """The role in which the actor is a candidate of the task ("" when by name); None when he is none."""
    if actor.user_id is None or actor.kind not in ("user", "operator"):
        return None
    if actor.kind == "operator":
        held, wanted = {actor.role}, set(task.operator_roles)
    else:
        held, wanted = set(role_codes_of(actor.user_id)), set(task.roles)
    fitting = held & wanted
    if fitting:
        return actor.role if actor.role in fitting else min(fitting)
    return "" if actor.user_id in task.user_ids else None


def candidate_ids(task: HumanTask) -> tuple[list[int], list[int]]:
    """Who may decide the task now, without its applicant: members of the tenant, and operators."""
    members = set(task.user_ids)
    for role in task.roles:
        members.update(users_with_role(role))
    operators = {pk for role in task.operator_roles for pk in operators_with_role(role)}
    applicant = {task.instance.applicant_id}
    return sorted(members - applicant), sorted(operators - applicant)


def decider_ids(task: HumanTask) -> set[int]:
    """The candidates of the task whose roles let them decide, too: with none of them it would wait for ever."""
    members, _operators = candidate_ids(task)
    applicant = {task.instance.applicant_id}
    operators = operators_who_may(P.DECIDE, roles=task.operator_roles, ids=task.user_ids)
    return members_who_may(P.DECIDE, members) | (operators - applicant)


def waits_for_role(code: str) -> bool:
    """Whether an open task of the current tenant can be decided by who holds this role."""
    return HumanTask.objects.filter(roles__contains=[code], state=TaskState.WAITING).exists()


def may_decide(task: HumanTask, actor: Actor) -> bool:
    """Whether a page offers the decision: the task waits, and the actor is a candidate who has not decided yet."""
    return (
        task.state == TaskState.WAITING
        and actor.may(P.DECIDE)
        and actor.user_id != task.instance.applicant_id
        and role_decided_in(task, actor) is not None
        and not task.given.filter(user_id=actor.user_id).exists()
    )


def _decided_by(actor: Actor) -> QuerySet[Decision, Any]:
    """The keys of the tasks on which the actor has decided."""
    return Decision.objects.filter(user_id=actor.user_id).values("task_id")


# --- the inbox -------------------------------------------------------------------------------------------------


def task_list(
    *, actor: Actor, tab: str = "todo", search: str = "", state: str = "", template: str = ""
) -> QuerySet[HumanTask]:
    """The actor's tasks of the current tenant: to do, done, urged; fuzzy by applicant and business number, by the
    process's state and by the name of its template (PLAT-TODO-1, -2, -6, -7)."""
    if tab not in TABS:
        raise InvalidInput(fields={"tab": ", ".join(TABS)})
    rows = HumanTask.objects.select_related("instance", "instance__process_template")
    if tab == "done":
        rows = rows.filter(pk__in=_decided_by(actor))
    elif not actor.may(P.DECIDE):
        rows = rows.none()
    else:
        rows = rows.filter(_candidacy(actor), state=TaskState.WAITING).exclude(
            instance__applicant_id=actor.user_id
        )
        rows = rows.exclude(pk__in=_decided_by(actor))
    if tab == "urged":
        rows = rows.filter(urged_at__isnull=False)
    if search:
        rows = rows.filter(
            Q(instance__subject_no__icontains=search) | Q(instance__applicant_name__icontains=search)
        )
    if state:
        rows = rows.filter(instance__state=state)
    if template:
        rows = rows.filter(
            Q(instance__process_template__name_zh__icontains=template)
            | Q(instance__process_template__name_en__icontains=template)
        )
    return rows


def task_get(*, actor: Actor, uid: UUID) -> HumanTask:
    """One task: for its candidates, its applicant, who decided on it, and whose data permission reaches it."""
    rows = HumanTask.objects.select_related("instance", "instance__process_template").prefetch_related(
        "given"
    )
    decided = Q(pk__in=_decided_by(actor))
    row = rows.filter(tasks_reached(actor) | decided | _candidacy(actor), uid=uid).first()
    if row is None:
        raise NotFound()
    return row


def is_followed(actor: Actor, task: HumanTask) -> bool:
    """Whether the actor's data permission reaches the application that the task decides on."""
    return HumanTask.objects.filter(tasks_reached(actor), pk=task.pk).exists()


# --- a subject's process ---------------------------------------------------------------------------------------


def process_list(subject_uid: UUID) -> list[ProcessInstance]:
    """All processes of a subject with their tasks and decisions, newest first: the time line (PLAT-APPLY-19).
    The caller has checked that the actor may see the subject."""
    tasks = HumanTask.objects.order_by("created_at", "pk").prefetch_related("given")
    rows = ProcessInstance.objects.filter(subject_uid=subject_uid).select_related("process_template")
    return list(rows.prefetch_related(Prefetch("tasks", queryset=tasks)))


def has_decisions(subject_uid: UUID) -> bool:
    """Whether anybody has decided on the subject's running process: then it cannot be withdrawn (PLAT-APPLY-15)."""
    return Decision.objects.filter(
        task__instance__subject_uid=subject_uid, task__instance__state="running"
    ).exists()


def subjects_asked_of(user_id: int | None) -> QuerySet[HumanTask]:
    """The subjects on which a user was asked by name or decided."""
    mine = Q(user_ids__contains=[user_id]) | Q(given__user_id=user_id)
    return HumanTask.objects.filter(mine).values("instance__subject_uid")


def case_of(task: HumanTask) -> CaseData:
    """The task as operators see it among all tenants' cases."""
    instance = task.instance
    return CaseData(
        kind=CaseKind.TASK,
        uid=task.uid,
        no=instance.subject_no,
        title_zh=f"{task.name_zh}: {instance.title_zh}"[:200],
        title_en=f"{task.name_en}: {instance.title_en}"[:200],
        state=task.state,
        created_at=task.created_at,
        is_open=task.state == TaskState.WAITING,
        link=f"/tasks/{task.uid}/",
        applicant_id=instance.applicant_id,
        applicant_name=instance.applicant_name,
        organization=instance.organization_name,
        business_system=instance.business_system_name,
        side=task.side,
        roles=tuple(task.operator_roles or task.roles),
        candidate_ids=tuple(task.user_ids),
        worked_by_ids=tuple(task.given.values_list("user_id", flat=True)),
        due_at=task.due_at,
        urged_at=task.urged_at,
        amount=instance.amount,
    )
