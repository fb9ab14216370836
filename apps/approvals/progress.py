"""How far a process is: its steps that were, that wait and that are to come, who decides them, and its drawing."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from apps.approvals.models import Decision, HumanTask, ProcessInstance
from apps.approvals.selectors import definition_by, definition_of, process_list
from apps.approvals.states import DecisionKind, InstanceState, StepState, TaskState
from apps.catalog.models import ProcessTemplate
from apps.catalog.selectors.processes import process_definition
from apps.identity.models import User
from apps.identity.selectors import operator_role_title, user_names
from apps.kernel.planes import in_tenant
from apps.kernel.translatable import localized
from apps.kernel.unit_text import span_text
from apps.orgs.models import Member, Organization
from apps.orgs.selectors.organizations import organization_of
from apps.orgs.selectors.roles import role_title, users_with_role
from apps.tenancy.selectors import tenant_active_list
from workflows import drawing, engine

# Of many who hold a role so many are named.
NAMED_MOST = 5
# What the shipped drawings call their gates and flows.
_SHIPPED = (
    gettext_noop("Approved?"), gettext_noop("Confirmed?"), gettext_noop("Large amount?"), gettext_noop("approved"),
    gettext_noop("sent back"), gettext_noop("refused"), gettext_noop("over 10000"), gettext_noop("10000 or less"),
)  # fmt: skip
_TOOK = {
    DecisionKind.APPROVE: StepState.APPROVED,
    DecisionKind.REFUSE: StepState.REFUSED,
    DecisionKind.SEND_BACK: StepState.SENT_BACK,
}


@dataclass(frozen=True, slots=True)
class Decider:
    """Who may decide a step: a role, with some of those who hold it, or people by name."""

    title: str
    is_centre: bool = False
    people: tuple[str, ...] = ()
    more: int = 0


@dataclass(frozen=True, slots=True)
class StepShown:
    """One step of a run, or of a process as it is drawn. `since`: when it began to wait; `limit`: how long it may."""

    node_id: str
    name: str
    state: StepState
    deciders: tuple[Decider, ...] = ()
    needs_all: bool = False
    given: tuple[Decision, ...] = ()
    since: datetime | None = None
    due_at: datetime | None = None
    limit: str = ""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A process as a viewer draws it, with what is said of its nodes."""

    xml: str
    marks: Mapping[str, str] = field(default_factory=dict)

    @property
    def option(self) -> str:
        """What the page's script reads, as JSON."""
        return json.dumps({"xml": self.xml, "marks": dict(self.marks)})


@dataclass(frozen=True, slots=True)
class Run:
    """One process over a subject, to be shown."""

    process: ProcessInstance
    steps: tuple[StepShown, ...]
    drawing: Drawing | None

    @property
    def is_running(self) -> bool:
        return self.process.state == InstanceState.RUNNING


def runs_of(*subject_uids: UUID) -> list[Run]:
    """All processes of these subjects, of each the newest first; the first of them with its drawing (PLAT-APPLY-19).

    The caller has checked that the actor may see the subjects.
    """
    found = [process for uid in subject_uids for process in process_list(uid)]
    return [_run(process, is_drawn=place == 0) for place, process in enumerate(found)]


def _run(process: ProcessInstance, *, is_drawn: bool) -> Run:
    steps = [_taken(task) for task in process.tasks.all()]
    if process.state == InstanceState.RUNNING:
        steps += _coming(process, {step.node_id for step in steps if step.state == StepState.WAITING})
    return Run(process, tuple(steps), _drawing(process, steps) if is_drawn else None)


def _taken(task: HumanTask) -> StepShown:
    """A step that people were asked to decide."""
    given = tuple(task.given.all())
    waits = task.state == TaskState.WAITING
    return StepShown(
        node_id=task.node_id,
        name=task.name,
        state=_state(task, given),
        deciders=_deciders(task) if waits else (),
        needs_all=task.rule == "all_of",
        given=given,
        since=task.created_at,
        due_at=task.due_at if waits else None,
    )


def _state(task: HumanTask, given: Iterable[Decision]) -> StepState:
    """What came of a step, by what was decided rather than by that it is over."""
    if task.state == TaskState.WAITING:
        return StepState.WAITING
    if task.state == TaskState.CANCELLED:
        return StepState.CANCELLED
    said = [DecisionKind(one.decision) for one in given]
    against = [one for one in said if one != DecisionKind.APPROVE]
    return _TOOK[against[0]] if against else StepState.APPROVED


def _coming(process: ProcessInstance, waiting: set[str]) -> list[StepShown]:
    """The steps that follow when everybody approves; none where the engine cannot say."""
    template = process.process_template
    ahead = _path(template.key, template.version, process.state_json)
    return [_ahead(task_of(process, one), one) for one in ahead if one.node_id not in waiting]


@lru_cache(maxsize=256)
def _path(key: str, version: str, state: str) -> tuple[engine.Waiting, ...]:
    definition = definition_by(key, version)
    try:
        return engine.approval_path(definition, engine.resumed(definition, state))
    except engine.WorkflowError:
        return ()


def _ahead(task: HumanTask, waiting: engine.Waiting) -> StepShown:
    limit = span_text(waiting.time_limit_s) if waiting.time_limit_s else ""
    return StepShown(
        task.node_id, task.name, StepState.COMING, _deciders(task), task.rule == "all_of", limit=limit
    )


def _deciders(task: HumanTask) -> tuple[Decider, ...]:
    """Who may decide a step now; of the centre's people the roles alone."""
    applicant = task.instance.applicant_id
    roles = {code: [pk for pk in users_with_role(code) if pk != applicant] for code in task.roles}
    named = user_names({pk for ids in roles.values() for pk in ids} | set(task.user_ids))
    found = [_decider(role_title(code) or code, [named[pk] for pk in ids]) for code, ids in roles.items()]
    found += [Decider(operator_role_title(code) or code, is_centre=True) for code in task.operator_roles]
    if task.user_ids:
        found.append(_decider("", [named[pk] for pk in task.user_ids if pk in named]))
    return tuple(found)


def _decider(title: str, people: list[str]) -> Decider:
    return Decider(title, people=tuple(people[:NAMED_MOST]), more=max(0, len(people) - NAMED_MOST))


# --- the drawing -----------------------------------------------------------------------------------------------


def _drawing(process: ProcessInstance, steps: Iterable[StepShown]) -> Drawing | None:
    definition = definition_of(process.process_template)
    marks = {step.node_id: str(step.state) for step in steps}
    marks |= {node_id: str(process.state) for node_id, ends in definition.outcomes if ends == process.state}
    return _drawn(definition, marks)


def _drawn(definition: engine.Definition, marks: Mapping[str, str]) -> Drawing | None:
    names = {node_id: gettext(name) for node_id, name in drawing.named_parts(definition).items()}
    names |= {node.node_id: localized(node.name_zh or node.name, node.name) for node in definition.nodes}
    xml = drawing.picture_of(definition, names)
    return Drawing(xml, marks) if xml else None


def template_drawing(template: ProcessTemplate) -> Drawing | None:
    """A process as its file draws it; None where the file does not say where its parts are."""
    return _drawn(process_definition(template), {})


def template_steps(template: ProcessTemplate) -> list[StepShown]:
    """The steps of a process in the order of its file, with whom each asks by the words of the file."""
    return [
        StepShown(
            node.node_id,
            localized(node.name_zh or node.name, node.name),
            StepState.COMING,
            tuple(_asked(one) for one in node.candidates),
            node.rule == "all_of",
            limit=span_text(node.time_limit_s) if node.time_limit_s else "",
        )
        for node in process_definition(template).nodes
    ]


def _asked(candidate: engine.Candidate) -> Decider:
    is_centre = candidate.side == "operator"
    if candidate.kind == "role" and is_centre:
        return Decider(operator_role_title(candidate.value) or candidate.value, is_centre=True)
    if candidate.kind in ("role", "initiator_role"):
        return Decider(_tenant_role_title(candidate.value))
    return Decider(candidate.value, is_centre=is_centre)


def _tenant_role_title(code: str) -> str:
    """What a role is called in tenants: each has those that come with the portal, under the same names."""
    tenant = tenant_active_list().first()
    if tenant is None:
        return code.replace("_", " ")
    with in_tenant(tenant.schema_name):
        return role_title(code) or code.replace("_", " ")


# --- whom a step asks ------------------------------------------------------------------------------------------


def task_of(instance: ProcessInstance, waiting: engine.Waiting) -> HumanTask:
    """The task that a step would be, not kept."""
    limit = waiting.time_limit_s
    return HumanTask(
        instance=instance,
        engine_task_id=waiting.task_id,
        node_id=waiting.node_id,
        name_zh=waiting.name_zh,
        name_en=waiting.name,
        roles=[one.value for one in waiting.candidates if (one.kind, one.side) == ("role", "tenant")],
        operator_roles=[
            one.value for one in waiting.candidates if (one.kind, one.side) == ("role", "operator")
        ],
        user_ids=sorted(_all_named(waiting, instance.applicant_id)),
        rule=waiting.rule,
        allow_refuse=waiting.allow_refuse,
        allow_send_back=waiting.allow_send_back,
        due_at=timezone.now() + timedelta(seconds=limit) if limit else None,
    )


def _all_named(waiting: engine.Waiting, applicant_id: int) -> set[int]:
    """Whom a step asks by name. The applicant decides nothing: alone he is nobody, and the step has no candidate."""
    return {pk for one in waiting.candidates for pk in _named(one, applicant_id)} - {applicant_id}


def _named(candidate: engine.Candidate, applicant_id: int) -> list[int]:
    """The people a candidate other than a plain role stands for, now."""
    value = candidate.value
    if candidate.kind == "user":
        return list(User.objects.filter(username__iexact=value, is_active=True).values_list("pk", flat=True))
    if candidate.kind == "post":
        return list(_members().filter(post__name=value).values_list("user_id", flat=True))
    if candidate.kind == "organization":
        return list(_members().filter(organization__name=value).values_list("user_id", flat=True))
    if candidate.kind == "initiator_role":
        return _role_above(value, organization_of(applicant_id), applicant_id)
    return []


def _members() -> QuerySet[Member]:
    """Those who can sign in: one who cannot would keep a step of everybody waiting for ever."""
    return Member.objects.filter(user__is_active=True)


def _role_above(role_code: str, organization: Organization | None, applicant_id: int) -> list[int]:
    """Holders of a role in the applicant's organization, else in the nearest one above that has any."""
    while organization is not None:
        found = [pk for pk in users_with_role(role_code, organization) if pk != applicant_id]
        if found:
            return found
        organization = organization.parent
    return [pk for pk in users_with_role(role_code) if pk != applicant_id]
