"""Jobs over several centres."""

from functools import cached_property
from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.centers.selectors import center_names
from apps.identity.api.base import ApiView, Cursor
from apps.jointcloud.api import job_serializers as s
from apps.jointcloud.engine.reasons import BadInput
from apps.jointcloud.engine.submission import tasks_in_order
from apps.jointcloud.models import Job
from apps.jointcloud.selectors.jobs import (
    job_decision_list,
    job_get,
    job_get_across,
    job_list,
    job_list_across,
    replica_get,
)
from apps.jointcloud.services.changes import job_change, job_delete
from apps.jointcloud.services.checks import MOST_TASKS
from apps.jointcloud.services.following import job_stop
from apps.jointcloud.services.logs import replica_log
from apps.jointcloud.services.submission import job_submit
from apps.jointcloud.states import WorkState
from apps.jointcloud.text import reason_text
from apps.jointcloud.types import JobRequest, TaskRequest
from apps.kernel.errors import InvalidInput
from apps.scheduling.permissions import ResourcePermission

_FILTERS = [OpenApiParameter("state", str, enum=WorkState.values), OpenApiParameter("search", str)]


def tasks_read(given: object) -> list[Any]:
    """The tasks of a body in order; InvalidInput where they are none, too many, or numbered with a gap."""
    try:
        tasks = tasks_in_order(given)
    except BadInput as error:
        raise InvalidInput(fields={"tasks": reason_text(error.reason)}) from error
    if len(tasks) > MOST_TASKS:
        raise InvalidInput(
            fields={
                "tasks": _("A job has at most %(most)s tasks; here are %(given)s.")
                % {"most": MOST_TASKS, "given": len(tasks)}
            }
        )
    return tasks


def job_asked(body: Any) -> JobRequest:
    """What a body of `JobIn` asks for. Raises InvalidInput, or the serializer's own by field."""
    form = s.JobIn(data=body)
    form.is_valid(raise_exception=True)
    given = dict(form.validated_data)
    found: list[TaskRequest] = []
    faults: dict[str, object] = {}
    for number, each in enumerate(tasks_read(given.pop("tasks"))):
        task = s.JobTaskIn(data=each if isinstance(each, dict) else {})
        if task.is_valid():
            said = task.validated_data
            lists = {name: tuple(said[name]) for name in ("centers", "data")}
            found.append(TaskRequest(**{**said, **lists}))
        else:
            faults |= {
                f"tasks[{number}].{name}": " ".join(str(text) for text in _texts(said))
                for name, said in task.errors.items()
            }
    if faults:
        raise InvalidInput(fields=faults)
    return JobRequest(**given, tasks=tuple(found))


def _texts(said: Any) -> list[Any]:
    if isinstance(said, dict):
        return [text for inner in said.values() for text in _texts(inner)]
    return list(said) if isinstance(said, list) else [said]


class JobApiView(ApiView):
    """A tenant's job; an operator who has entered no tenant reaches everybody's."""

    plane = "both"
    permission = ResourcePermission.VIEW

    def row(self, job_id: str) -> Job:
        if self.tenant is not None:
            return job_get(self.tenant, job_id, actor=self.actor)
        return job_get_across(job_id)

    def row_changed(self, job_id: str) -> Job:
        """The job, of somebody who may change jobs."""
        self.actor.require(ResourcePermission.OPERATE)
        return self.row(job_id)


class JobsView(JobApiView):
    @extend_schema(parameters=_FILTERS, responses=s.JobRowOut(many=True))
    def get(self, request: Request) -> Response:
        """The tenant's jobs over several centres, newest first; without a tenant, for operators, all tenants'."""
        chosen = {name: request.query_params.get(name, "").replace("\0", "") for name in ("state", "search")}
        if self.tenant is None:
            return self.page(job_list_across(**chosen), s.JobRowOut)
        return self.page(job_list(self.tenant, actor=self.actor, **chosen), s.JobRowOut)

    @extend_schema(request=s.JobIn, responses={201: s.JobOut})
    def post(self, request: Request) -> Response:
        """Submit a job of one task or several: each replica goes to the best centre that can run it."""
        if self.tenant is None:
            raise InvalidInput(
                _("This belongs to a tenant, and none is chosen."),
                cure=_("Send the header Weir-Tenant with the tenant's code."),
            )
        row = job_submit(actor=self.actor, tenant=self.tenant, asked=job_asked(request.data))
        return Response(s.JobOut(self.row(row.job_id)).data, status=201)


class JobView(JobApiView):
    @extend_schema(responses=s.JobOut)
    def get(self, request: Request, job_id: str) -> Response:
        """One job: its tasks, where their replicas are, and why there."""
        return Response(s.JobOut(self.row(job_id)).data)

    @extend_schema(request=s.JobChangeIn, responses=s.JobOut)
    def patch(self, request: Request, job_id: str) -> Response:
        """Change a job that has not ended: what it is called, and by what the centres are chosen of what is placed from
        now on. What has a centre keeps it."""
        row = self.row_changed(job_id)
        form = s.JobChangeIn(data=request.data)
        form.is_valid(raise_exception=True)
        given = dict(form.validated_data)
        revision = given.pop("revision", None)
        unknown = set(request.data) - set(form.fields)
        changes = given | {str(name): None for name in unknown}
        job_change(actor=self.actor, tenant=row.tenant, job_id=job_id, changes=changes, revision=revision)
        return Response(s.JobOut(self.row(job_id)).data)

    @extend_schema(
        parameters=[OpenApiParameter("revision", int, description="That is meant: another is refused.")],
        responses={204: None},
    )
    def delete(self, request: Request, job_id: str) -> Response:
        """Delete a job that is over, with all that is known of it."""
        row = self.row_changed(job_id)
        text = request.query_params.get("revision", "")
        if text and not (text.isascii() and text.isdigit() and len(text) < 10):
            raise InvalidInput(fields={"revision": _("A whole number from %(least)s.") % {"least": 1}})
        revision = int(text) if text else None
        job_delete(actor=self.actor, tenant=row.tenant, job_id=job_id, revision=revision)
        return Response(status=204)


class JobDecisionsPage(Cursor):
    """Newest first, 20 a page, at most 50 (`page_size`): each holds how every centre stood."""

    page_size = 20
    max_page_size = 50


class JobDecisionsView(JobApiView):
    pagination_class = JobDecisionsPage
    ordering = ("-at", "-pk")

    @extend_schema(responses=s.JobDecisionWholeOut(many=True))
    def get(self, request: Request, job_id: str) -> Response:
        """What was decided on the tasks of a job and how the centres stood then, newest first."""
        return self.page(job_decision_list(self.row(job_id)), s.JobDecisionWholeOut)

    @cached_property
    def names(self) -> dict[str, str]:
        """What the centres are called, by their codes."""
        return center_names()


class JobStopView(JobApiView):
    permission = ResourcePermission.OPERATE

    @extend_schema(request=None, responses=s.JobOut)
    def post(self, request: Request, job_id: str) -> Response:
        """Stop a job: what waits is sent nowhere, what runs is asked to end."""
        row = self.row(job_id)
        job_stop(actor=self.actor, tenant=row.tenant, job_id=job_id)
        return Response(s.JobOut(self.row(job_id)).data)


class JobLogView(JobApiView):
    @extend_schema(
        parameters=[OpenApiParameter("offset", int, description="The first byte.")], responses=s.JobLogOut
    )
    def get(self, request: Request, job_id: str, task: int, replica: int) -> Response:
        """What a replica has printed, from a byte on: at most 1 MiB at once. Tasks and replicas count from 0."""
        text = request.query_params.get("offset", "0")
        if not (text.isascii() and text.isdigit() and len(text) < 16):
            raise InvalidInput(fields={"offset": _("A whole number from 0.")})
        row = replica_get(self.row(job_id), task, replica)
        return Response(s.JobLogOut(replica_log(row, int(text))).data)
