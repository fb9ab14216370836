"""Work that is submitted directly: programs and sessions, and the environments they run in."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api.base import ApiView
from apps.identity.services.tokens import digest_of
from apps.kernel.errors import InvalidInput
from apps.scheduling.addresses import web_address
from apps.scheduling.api.serializers import workload_records as r
from apps.scheduling.api.serializers import workloads as s
from apps.scheduling.api.work.workload_records import whole
from apps.scheduling.errors import NotAuthorisedForGroup
from apps.scheduling.models import Workload
from apps.scheduling.permissions import ResourcePermission
from apps.scheduling.selectors.arrays import arrays_as_one
from apps.scheduling.selectors.workloads import (
    environment_get,
    environment_list,
    session_shares,
    workload_get,
    workload_get_across,
    workload_list,
    workload_list_across,
    workload_reason,
)
from apps.scheduling.services import executions
from apps.scheduling.services.environments import environment_make, environment_retire
from apps.scheduling.services.executions import execution_open, port_open
from apps.scheduling.services.web_pages import TICKET_S, web_pages_open
from apps.scheduling.services.work_access import AskedBy
from apps.scheduling.services.workloads.arrays import work_submit
from apps.scheduling.services.workloads.resizing.resizing import workload_resize
from apps.scheduling.services.workloads.resizing.session_moves import workload_migrate
from apps.scheduling.services.workloads.stopping import workload_halt
from apps.scheduling.services.workloads.submission.submit import group_refusal_record
from apps.scheduling.states import WorkloadState
from apps.scheduling.types import WorkloadRequest
from weir_wire.execution import PATH
from weir_wire.workload_request import asks

_FILTERS = [
    OpenApiParameter("state", str, enum=WorkloadState.values),
    OpenApiParameter("queue", str),
    OpenApiParameter("array", str, description="The number of an array: its tasks."),
    OpenApiParameter("tasks", str, enum=["first"], description="Of each array its first task alone."),
]


def read(serializer: Any, request: Request) -> dict[str, Any]:
    """The body as the serializer reads it; InvalidInput by field otherwise."""
    given = serializer(data=request.data)
    given.is_valid(raise_exception=True)
    return given.validated_data


def asked_of(body: dict[str, Any]) -> WorkloadRequest:
    """What a body of `WorkloadIn` asks for."""
    return WorkloadRequest(**{**body, **{name: tuple(body[name]) for name in _LISTS}})


def asked_by(request: Request) -> AskedBy:
    """The session or the token that a request came by: what is opened with it ends with it."""
    secret = request.headers.get("Authorization", "").partition("Bearer ")[2].strip()
    if secret:
        return AskedBy(token_digest=digest_of(secret))
    return AskedBy(session_key=request._request.session.session_key or "")


_LISTS = tuple(name for name, ask in asks().items() if ask.kind in ("words", "names"))


def filtered(rows: QuerySet[Workload], request: Request) -> QuerySet[Workload]:
    given = request.query_params
    wanted = {"state": given.get("state"), "queue__code": given.get("queue"), "array__no": given.get("array")}
    found = rows.filter(**{name: value for name, value in wanted.items() if value})
    return arrays_as_one(found) if given.get("tasks") == "first" else found


class WorkView(ApiView):
    """A tenant's workload; an operator who has entered no tenant reaches everybody's."""

    plane = "both"
    permission = ResourcePermission.VIEW

    def row(self, uid: UUID) -> Workload:
        if self.tenant is not None:
            return workload_get(self.tenant, uid, actor=self.actor)
        return workload_get_across(uid)


class WorkloadsView(ApiView):
    plane = "both"
    permission = ResourcePermission.VIEW

    @extend_schema(parameters=_FILTERS, responses=r.WorkloadRowOut(many=True))
    def get(self, request: Request) -> Response:
        """The tenant's workloads, newest first; without a tenant, for operators, all tenants'."""
        if self.tenant is None:
            return self.page(filtered(workload_list_across(), request), r.WorkloadRowOut)
        return self.page(filtered(workload_list(self.tenant, actor=self.actor), request), r.WorkloadRowOut)

    @extend_schema(request=s.WorkloadIn, responses={201: r.WorkloadOut})
    def post(self, request: Request) -> Response:
        """Submit a program or a session, or an array of them: then it is the first of its tasks that is answered. What
        could never run is refused at once; the rest waits for its turn."""
        if self.tenant is None:
            raise InvalidInput(
                _("This belongs to a tenant, and none is chosen."),
                cure=_("Send the header Weir-Tenant with the tenant's code."),
            )
        tenant = self.tenant
        asked = asked_of(read(s.WorkloadIn, request))
        try:
            row = work_submit(actor=self.actor, tenant=tenant, asked=asked)
        except NotAuthorisedForGroup as error:
            group = str(error.fields["resource_group"])
            group_refusal_record(actor=self.actor, tenant=tenant, group=group, name=asked.name)
            raise
        return whole(workload_get(tenant, row.uid, actor=self.actor), status=201)


class WorkloadsAcrossView(ApiView):
    plane = "provider"
    permission = ResourcePermission.VIEW

    @extend_schema(parameters=_FILTERS, responses=r.WorkloadRowOut(many=True))
    def get(self, request: Request) -> Response:
        """All tenants' workloads, newest first."""
        return self.page(filtered(workload_list_across(), request), r.WorkloadRowOut)


class WorkloadView(WorkView):
    @extend_schema(responses=r.WorkloadOut)
    def get(self, request: Request, uid: UUID) -> Response:
        """One workload with what it holds, why it waits and its place in the queue."""
        return whole(self.row(uid))


class WorkloadStopView(WorkView):
    @extend_schema(request=s.StopIn, responses=r.WorkloadOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Stop it: at once while it waits, else its slices stop and the end follows. Twice changes nothing."""
        row, body = self.row(uid), read(s.StopIn, request)
        workload_halt(actor=self.actor, tenant=row.tenant, workload_uid=row.uid, reason=body["reason"])
        return whole(self.row(uid))


class WorkloadResizeView(WorkView):
    @extend_schema(request=s.ResizeIn, responses=r.WorkloadOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Give each share other amounts while it runs; the work is not restarted (POOL-12.2)."""
        row, body = self.row(uid), read(s.ResizeIn, request)
        workload_resize(actor=self.actor, tenant=row.tenant, workload_uid=row.uid, **body)
        return whole(self.row(uid))


class WorkloadMigrateView(WorkView):
    @extend_schema(request=s.MigrateIn, responses=r.WorkloadOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Begin to move one share of a running session while its client computes (POOL-12.23)."""
        row, body = self.row(uid), read(s.MigrateIn, request)
        workload_migrate(actor=self.actor, tenant=row.tenant, workload_uid=row.uid, **body)
        return whole(self.row(uid))


class WorkloadSessionView(ApiView):
    permission = ResourcePermission.OPERATE

    @extend_schema(responses=r.WorkloadSessionOut)
    def get(self, request: Request, uid: UUID) -> Response:
        """How to reach each share of a session, with its key: only for who submitted it. It does not wait."""
        row, shares = session_shares(actor=self.actor, tenant=self.tenant, uid=uid)
        found = {"state": row.state, "reason_code": row.reason_code, "reason": workload_reason(row)}
        told = r.WorkloadSessionOut({**found, "shares": shares}).data
        return Response(told, headers={"Cache-Control": "no-store"})


class WorkloadWebView(ApiView):
    permission = ResourcePermission.OPERATE
    shows_secret = True

    @extend_schema(request=None, responses=r.WorkloadWebOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """An address that opens the web pages of work in one browser, once and within a minute (PLAT-CMP-10).

        Only for who submitted it.
        """
        ticket = web_pages_open(actor=self.actor, tenant=self.entered, workload_uid=uid, by=asked_by(request))
        told = {"url": web_address(request, uid, ticket), "seconds": TICKET_S}
        return Response(r.WorkloadWebOut(told).data, headers={"Cache-Control": "no-store"})


class WorkloadExecView(ApiView):
    permission = ResourcePermission.OPERATE
    shows_secret = True

    @extend_schema(request=s.WorkloadExecIn, responses=r.WorkloadExecOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """A ticket to run a command beside a share of your own running work, once and within a minute; without words
        a shell. It is brought to the WebSocket at `path`."""
        body = read(s.WorkloadExecIn, request)
        ticket = execution_open(
            actor=self.actor, tenant=self.entered, workload_uid=uid, by=asked_by(request), **body
        )
        return _execution(ticket, executions.TICKET_S)


class WorkloadPortView(ApiView):
    permission = ResourcePermission.OPERATE
    shows_secret = True

    @extend_schema(request=s.WorkloadPortIn, responses=r.WorkloadExecOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """A key for connections to a port on which a share of your own running work listens, each by a WebSocket at
        `path`."""
        body = read(s.WorkloadPortIn, request)
        key = port_open(actor=self.actor, tenant=self.entered, workload_uid=uid, by=asked_by(request), **body)
        return _execution(key, executions.PORT_S)


def _execution(secret: str, seconds: int) -> Response:
    told = {"ticket": secret, "seconds": seconds, "path": PATH}
    return Response(r.WorkloadExecOut(told).data, headers={"Cache-Control": "no-store"})


class EnvironmentsView(ApiView):
    permission = ResourcePermission.VIEW

    @extend_schema(responses=s.EnvironmentOut(many=True))
    def get(self, request: Request) -> Response:
        """The tenant's environments, newest first."""
        return self.page(environment_list(self.tenant), s.EnvironmentOut)

    @extend_schema(request=s.EnvironmentIn, responses={201: s.EnvironmentOut})
    def post(self, request: Request) -> Response:
        """Make an environment: work in a fixed one gets exactly its amounts (POOL-12.1)."""
        body = read(s.EnvironmentIn, request)
        row = environment_make(actor=self.actor, tenant=self.tenant, **body)
        return Response(s.EnvironmentOut(row).data, status=201)


class EnvironmentView(ApiView):
    permission = ResourcePermission.VIEW

    @extend_schema(responses=s.EnvironmentOut)
    def get(self, request: Request, uid: UUID) -> Response:
        return Response(s.EnvironmentOut(environment_get(self.tenant, uid)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID) -> Response:
        """Take it out of use; what runs in it keeps its amounts."""
        environment_retire(actor=self.actor, tenant=self.tenant, environment_uid=uid)
        return Response(status=204)
