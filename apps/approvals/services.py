"""Start, decide, urge and withdraw approvals. The engine thinks; this keeps what it said and who said what.

Locks: an operation on a process takes the row of its instance first, so all of them on one process queue up.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any, TypeVar
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.approvals.events import ProcessFinished, TaskDecided
from apps.approvals.models import Decision, HumanTask, ProcessInstance
from apps.approvals.permissions import ApprovalsPermission as P
from apps.approvals.progress import task_of
from apps.approvals.selectors import (
    candidate_ids,
    case_of,
    decider_ids,
    definition_of,
    is_followed,
    role_decided_in,
    task_get,
)
from apps.approvals.states import INSTANCE, TASK, InstanceState, TaskState
from apps.cases.selectors import case_get
from apps.cases.services import case_put
from apps.cases.types import CaseKind
from apps.catalog.errors import Undecidable
from apps.catalog.models import ProcessTemplate
from apps.identity.models import User
from apps.identity.selectors import operator_role_title
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound, WeirError
from apps.kernel.events import emit
from apps.kernel.planes import current_schema, current_tenant, in_tenant
from apps.kernel.service import service
from apps.notices.push import push
from apps.notices.services import notice_send
from apps.orgs.selectors.roles import role_title
from workflows import engine

T = TypeVar("T")
URGE_PAUSE = timedelta(minutes=10)
COMMENT_MAX = 1000
# So many are decided with one press.
TOGETHER_MOST = 100


@service()
def process_start(
    *,
    actor: Actor,
    template: ProcessTemplate,
    subject_kind: str,
    subject_uid: UUID,
    subject_no: str,
    title_zh: str,
    title_en: str,
    applicant_id: int,
    data: Mapping[str, Any],
    organization_id: int | None = None,
    organization_name: str = "",
    business_system_id: int | None = None,
    business_system_name: str = "",
    amount: Decimal | None = None,
) -> ProcessInstance:
    """Start the approval of a subject; its first tasks are open when this returns (PLAT-APPLY-6).

    `data` are the values that conditions of the process may read, `amount` what the subject costs in all, in CNY.
    Raises Conflict when a process of the subject is running already, and Undecidable where a step that an approval of
    it passes has nobody who can decide.
    """
    act_subject(subject_kind, subject_uid, no=subject_no, process=template.key)
    instance = ProcessInstance(
        process_template=template,
        subject_kind=subject_kind,
        subject_uid=subject_uid,
        subject_no=subject_no,
        title_zh=title_zh[:200],
        title_en=title_en[:200],
        applicant_id=applicant_id,
        applicant_name=str(User.objects.get(pk=applicant_id)),
        organization_id=organization_id,
        organization_name=organization_name,
        business_system_id=business_system_id,
        business_system_name=business_system_name,
        amount=amount,
    )
    definition = definition_of(template)
    step = _engine(lambda: engine.start(definition, data, seed=str(instance.uid)))
    for waiting in _engine(lambda: engine.approval_path(definition, step)):
        _decidable_check(task_of(instance, waiting))
    instance.state_json = step.state
    try:
        with transaction.atomic():
            instance.save()
    except IntegrityError as error:
        raise Conflict(_("The approval of %(no)s is running already.") % {"no": subject_no}) from error
    _follow(actor, instance, step)
    return instance


def _engine(call: Callable[[], T]) -> T:
    try:
        return call()
    except engine.WorkflowError as error:
        raise Conflict(
            _("The process cannot go on: %(reason)s") % {"reason": error},
            cure=_("Ask the operators to correct the process."),
        ) from error


def _follow(actor: Actor, instance: ProcessInstance, step: engine.Step) -> None:
    """Bring tasks and instance to where the engine stands."""
    instance.state_json = step.state
    instance.save(update_fields=["state_json", "updated_at"])
    open_ids = {waiting.task_id for waiting in step.waiting}
    kept = {task.engine_task_id for task in instance.tasks.filter(state=TaskState.WAITING)}
    for task in instance.tasks.filter(state=TaskState.WAITING).exclude(engine_task_id__in=open_ids):
        _task_close(actor, task, TaskState.CANCELLED)
    for waiting in step.waiting:
        if waiting.task_id not in kept:
            _task_open(actor, instance, waiting)
    if step.done:
        # The engine takes no drawing whose end does not say how it ends; nothing is granted by silence.
        _finish(actor, instance, step.outcome or "rejected")
    push(f"{instance.subject_kind}.{instance.subject_uid}")


def _finish(actor: Actor, instance: ProcessInstance, outcome: str) -> None:
    INSTANCE.move(instance, InstanceState(outcome), actor=actor)
    emit(
        ProcessFinished(
            schema=current_schema(),
            subject_kind=instance.subject_kind,
            subject_uid=instance.subject_uid,
            outcome=outcome,
        ),
        actor=actor,
    )


# --- tasks -----------------------------------------------------------------------------------------------------


def _decidable_check(task: HumanTask) -> None:
    """Undecidable for a step that would wait for ever."""
    if decider_ids(task):
        return
    asked = sorted({*task.roles, *task.operator_roles})
    cure = _("Ask an administrator to fill the post, organization or role it names.")
    if asked:
        side = _("the computing centre") if task.operator_roles else str(current_tenant())
        cure = _("An administrator of %(side)s has to give somebody else the role %(roles)s.") % {
            "side": side,
            "roles": ", ".join(f"{role_title(code) or operator_role_title(code)} ({code})" for code in asked),
        }
    raise Undecidable(_("Nobody can decide the step %(step)s.") % {"step": task.name}, cure=cure)


def _task_open(actor: Actor, instance: ProcessInstance, waiting: engine.Waiting) -> None:
    task = task_of(instance, waiting)
    _decidable_check(task)
    task.save()
    case_put(actor=actor, data=case_of(task))
    _tell(actor, task, _ASKED)


_ASKED = gettext_noop("%(applicant)s asks for your decision on %(no)s.")
_URGED = gettext_noop("%(applicant)s urges you to decide on %(no)s.")


def _tell(actor: Actor, task: HumanTask, msgid: str) -> None:
    """A message to everybody who may decide, each with the address of his own portal."""
    members, operators = candidate_ids(task)
    params = {"applicant": task.instance.applicant_name, "no": task.instance.subject_no}
    link, tenant = f"/tasks/{task.uid}/", current_tenant()
    under = f"/t/{tenant.schema_name}{link}"
    notice_send(actor=actor, user_ids=members, msgid=msgid, params=params, link=link, tenant=tenant)
    notice_send(actor=actor, user_ids=operators, msgid=msgid, params=params, link=under)


def _task_close(actor: Actor, task: HumanTask, state: str) -> None:
    TASK.move(task, state, actor=actor, done_at=timezone.now())
    case_put(actor=actor, data=case_of(task))
    members, operators = candidate_ids(task)
    for user_id in (*members, *operators):
        push(f"user.{user_id}", "task")


def _lock(actor: Actor, task_uid: UUID) -> HumanTask:
    """The task with its instance locked, both as they are now; NotFound for one that a person does not see."""
    if actor.is_user:
        task_get(actor=actor, uid=task_uid)
    task = HumanTask.objects.filter(uid=task_uid).first()
    if task is None:
        raise NotFound()
    instance = ProcessInstance.objects.select_for_update(no_key=True).get(pk=task.instance_id)
    task.refresh_from_db()
    task.instance = instance
    return task


@service(P.DECIDE)
def task_decide(*, actor: Actor, task_uid: UUID, decision: str, comment: str = "") -> HumanTask:
    """Approve, refuse or send back (PLAT-TODO-5). Of two parallel decisions exactly one counts.

    Raises Forbidden for who is no candidate or applies himself, Conflict when it is decided or withdrawn already.
    """
    task = _lock(actor, task_uid)
    instance = task.instance
    act_subject("task", task.uid, no=instance.subject_no, decision=decision)
    role = _candidate_check(task, actor)
    _open_check(task, actor)
    if decision not in task.decisions:
        raise InvalidInput(
            fields={"decision": _("Choose one of: %(all)s.") % {"all": ", ".join(task.decisions)}}
        )
    if len(comment) > COMMENT_MAX:
        raise InvalidInput(fields={"comment": _("At most %(most)s characters.") % {"most": COMMENT_MAX}})
    _reason_check(decision, comment)
    is_first = not Decision.objects.filter(task__instance=instance).exists()
    user = User.objects.get(pk=actor.user_id)
    Decision.objects.create(
        task=task, user=user, user_name=str(user), role=role, decision=decision, comment=comment.strip()
    )
    emit(
        TaskDecided(
            schema=current_schema(),
            task_uid=task.uid,
            subject_kind=instance.subject_kind,
            subject_uid=instance.subject_uid,
            decision=decision,
            is_first=is_first,
        ),
        actor=actor,
    )
    _count(actor, task)
    return task


def _reason_check(decision: str, comment: str) -> None:
    if decision == "refuse" and not comment.strip():
        reason = _("Say why: the applicant reads it.")
        raise InvalidInput(_("A refusal needs a reason."), fields={"comment": reason})


@dataclass(frozen=True, slots=True)
class Decided:
    """What came of one of several decisions: `problem` says why it was not taken."""

    no: str
    problem: WeirError | None = None


def tasks_decide(
    *, actor: Actor, task_uids: Sequence[UUID], decision: str, comment: str = ""
) -> list[Decided]:
    """Decide several tasks of the current tenant alike, each by itself: what cannot be decided keeps nothing back.

    Raises InvalidInput for too many of them, and for a refusal without a reason; nothing is decided then.
    """
    _together_check(task_uids, decision, comment)
    return [_decided(actor, uid, decision, comment) for uid in task_uids]


def tasks_decide_across(
    *, actor: Actor, task_uids: Sequence[UUID], decision: str, comment: str = ""
) -> list[Decided]:
    """Decide several tasks of all tenants alike, as an operator: each in its own tenant, whose name stands beside the
    number. What cannot be decided keeps nothing back.

    Raises InvalidInput for too many of them, and for a refusal without a reason; nothing is decided then.
    """
    _together_check(task_uids, decision, comment)
    return [_decided_there(actor, uid, decision, comment) for uid in task_uids]


def _decided_there(actor: Actor, uid: UUID, decision: str, comment: str) -> Decided:
    try:
        case = case_get(actor=actor, kind=CaseKind.TASK, uid=uid)
    except NotFound as error:
        return Decided("–", error)
    tenant = case.tenant
    with in_tenant(tenant.schema_name):
        there = replace(actor, tenant=tenant.schema_name)
        one = _decided(there, uid, decision, comment)
    return replace(one, no=f"{case.no} ({tenant.name})")


def _together_check(task_uids: Sequence[UUID], decision: str, comment: str) -> None:
    _reason_check(decision, comment)
    if not 1 <= len(task_uids) <= TOGETHER_MOST:
        raise InvalidInput(
            _("Choose 1 to %(most)s applications.") % {"most": TOGETHER_MOST},
            cure=_("Tick those that are decided alike."),
        )


def _decided(actor: Actor, uid: UUID, decision: str, comment: str) -> Decided:
    try:
        row = task_decide(actor=actor, task_uid=uid, decision=decision, comment=comment)
    except WeirError as error:
        known = HumanTask.objects.filter(uid=uid).select_related("instance").first()
        return Decided(known.instance.subject_no if known and not isinstance(error, NotFound) else "–", error)
    return Decided(row.instance.subject_no)


def _candidate_check(task: HumanTask, actor: Actor) -> str:
    if actor.user_id == task.instance.applicant_id:
        raise Forbidden(
            _("Nobody decides on his own application."),
            cure=_("Another candidate of this step has to decide."),
        )
    role = role_decided_in(task, actor)
    if role is None:
        raise Forbidden(
            _("You are no candidate of this step."), cure=_("Switch to a role that is asked here.")
        )
    return role


def _open_check(task: HumanTask, actor: Actor) -> None:
    state = task.instance.state
    if state == InstanceState.WITHDRAWN:
        raise Conflict(_("%(no)s was withdrawn by its applicant.") % {"no": task.instance.subject_no})
    if state != InstanceState.RUNNING or task.state != TaskState.WAITING:
        raise Conflict(_("This step of %(no)s is decided already.") % {"no": task.instance.subject_no})
    if task.given.filter(user_id=actor.user_id).exists():
        raise Conflict(_("You have decided on this step already; it waits for the others."))


def _count(actor: Actor, task: HumanTask) -> None:
    """Close the task and move on once enough people have decided (PLAT-CFG-18)."""
    given = {str(one.user_id): one.decision for one in task.given.all()}
    expected = {str(pk) for pk in decider_ids(task)} if task.rule == "all_of" else set(given)
    # Who has decided was asked, even if the role was taken away since.
    verdict = engine.tally(task.rule, given, expected | set(given))
    if verdict is None:
        case_put(actor=actor, data=case_of(task))
        push(f"{task.instance.subject_kind}.{task.instance.subject_uid}")
        return
    instance = task.instance
    definition = definition_of(instance.process_template)
    step = _engine(
        lambda: engine.complete(definition, instance.state_json, task.engine_task_id, {"decision": verdict})
    )
    _task_close(actor, task, TaskState.DONE)
    _follow(actor, instance, step)


@service()
def task_urge(*, actor: Actor, task_uid: UUID) -> HumanTask:
    """The applicant, or whose data permission reaches the application, urges those who have to decide (PLAT-TODO-3)."""
    task = _lock(actor, task_uid)
    act_subject("task", task.uid, no=task.instance.subject_no)
    if actor.user_id != task.instance.applicant_id and not is_followed(actor, task):
        raise Forbidden(
            _("Only the applicant, or who follows the application, urges."),
            cure=_("Ask the applicant to do it."),
        )
    if task.state != TaskState.WAITING:
        raise Conflict(_("This step of %(no)s is decided already.") % {"no": task.instance.subject_no})
    now = timezone.now()
    if task.urged_at and now - task.urged_at < URGE_PAUSE:
        minutes = int(URGE_PAUSE.total_seconds() // 60)
        raise Conflict(
            _("The step was urged less than %(minutes)s minutes ago.") % {"minutes": minutes},
            cure=_("Give them a little time."),
        )
    task.urged_at = now
    task.save(update_fields=["urged_at", "updated_at"])
    case_put(actor=actor, data=case_of(task))
    _tell(actor, task, _URGED)
    return task


@service()
def process_withdraw(*, actor: Actor, subject_uid: UUID) -> ProcessInstance:
    """Take a subject's running process back, before anybody has decided (PLAT-APPLY-14, PLAT-APPLY-15).

    The caller has checked that the subject is the actor's own. Raises Conflict after the first decision.
    """
    rows = ProcessInstance.objects.select_for_update(no_key=True).filter(subject_uid=subject_uid)
    instance = rows.filter(state=InstanceState.RUNNING).first()
    if instance is None:
        raise Conflict(_("No approval is running that could be withdrawn."))
    act_subject(instance.subject_kind, subject_uid, no=instance.subject_no)
    if Decision.objects.filter(task__instance=instance).exists():
        raise Conflict(
            _("The approval of %(no)s has begun: it cannot be withdrawn any more.")
            % {"no": instance.subject_no},
            cure=_("Ask an approver to send it back."),
        )
    INSTANCE.move(instance, InstanceState.WITHDRAWN, actor=actor)
    for task in instance.tasks.filter(state=TaskState.WAITING):
        _task_close(actor, task, TaskState.CANCELLED)
    push(f"{instance.subject_kind}.{subject_uid}")
    return instance
