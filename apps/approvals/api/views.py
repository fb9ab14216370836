"""The inbox and its decisions. Operators without a tenant see all tenants' tasks that ask for their role."""

from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.approvals.api import serializers as s
from apps.approvals.selectors import TABS, task_get, task_list
from apps.approvals.services import task_decide, task_urge
from apps.cases.api.base import CaseView
from apps.cases.selectors import case_inbox
from apps.identity.api.base import ApiView
from apps.kernel.errors import InvalidInput

_FILTERS = ("search", "state", "template")


class TasksView(ApiView):
    plane = "both"
    open_because = "a task is shown to its candidates, its applicant and who follows the form"

    @extend_schema(
        parameters=[
            OpenApiParameter("tab", str, enum=TABS),
            *(OpenApiParameter(name, str) for name in _FILTERS),
        ],
        responses=s.TaskRowOut(many=True),
    )
    def get(self, request: Request) -> Response:
        tab = request.query_params.get("tab", "todo")
        if self.tenant is None:
            if self.actor.kind != "operator":
                raise InvalidInput()
            return self.page(case_inbox(actor=self.actor, tab=tab), s.TaskRowOut)
        filters = {name: request.query_params.get(name, "") for name in _FILTERS}
        return self.page(task_list(actor=self.actor, tab=tab, **filters), s.TaskRowOut)


class TaskView(CaseView):
    case_kind = "task"
    open_because = "a task is shown to its candidates, its applicant and who follows the form"

    @extend_schema(responses=s.TaskOut)
    def get(self, request: Request, uid: UUID) -> Response:
        return Response(s.TaskOut(task_get(actor=self.actor, uid=uid)).data)


class TaskDecideView(CaseView):
    case_kind = "task"
    permission = "approvals.decide"

    @extend_schema(request=s.DecideIn, responses=s.TaskOut)
    def post(self, request: Request, uid: UUID) -> Response:
        given = s.DecideIn(data=request.data)
        given.is_valid(raise_exception=True)
        task_decide(actor=self.actor, task_uid=uid, **given.validated_data)
        return Response(s.TaskOut(task_get(actor=self.actor, uid=uid)).data)


class TaskUrgeView(CaseView):
    case_kind = "task"
    open_because = "its applicant may urge a task, whatever his role"

    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request, uid: UUID) -> Response:
        task_urge(actor=self.actor, task_uid=uid)
        return Response(status=204)
