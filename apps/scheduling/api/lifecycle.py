"""Work that is thought about before it is submitted, explained while it waits, and steered while it runs."""

from collections.abc import Callable
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api.base import ApiView
from apps.scheduling.api.serializers import explain as t
from apps.scheduling.api.serializers import workload_records as r
from apps.scheduling.api.serializers import workloads as s
from apps.scheduling.api.workload_records import whole
from apps.scheduling.api.workloads import WorkView, asked_of, read
from apps.scheduling.models import Workload
from apps.scheduling.permissions import ResourcePermission
from apps.scheduling.selectors.forecast import expectation_of
from apps.scheduling.selectors.timeline import start_estimate_of, timeline
from apps.scheduling.selectors.workloads import workload_reason
from apps.scheduling.services.cycle.start_estimates import workload_dry_run
from apps.scheduling.services.lifecycle import (
    workload_requeue,
    workload_resume,
    workload_scale,
    workload_suspend,
)
from apps.scheduling.states import WorkloadState

_HELD = ("shares", "shares_per_replica", "compute_percent", "memory_mib")


class WorkloadDryRunView(ApiView):
    no_key_because = "it changes nothing"
    permission = ResourcePermission.OPERATE

    @extend_schema(request=s.WorkloadIn, responses=t.DryRunOut)
    def post(self, request: Request) -> Response:
        """When such work would start, and with how much it could start now. Refused as the submission would be."""
        asked = asked_of(read(s.WorkloadIn, request))
        row, found, now = workload_dry_run(actor=self.actor, tenant=self.tenant, asked=asked)
        held = {name: getattr(row, name) for name in _HELD}
        return Response(t.DryRunOut({**found.as_json(), **held, "now": now}).data)


class WorkloadExplainView(WorkView):
    @extend_schema(responses=t.ExplainOut)
    def get(self, request: Request, uid: UUID) -> Response:
        """Why it waits, its place, when it is expected to start and how sure that is, and every decision on it."""
        row = self.row(uid)
        waits = row.state == WorkloadState.PENDING
        told = {
            "state": row.state,
            "reason_code": row.reason_code,
            "reason": workload_reason(row),
            "queue": row.queue.code,
            "position": row.position,
            "ahead": row.position - 1 if row.position else None,
            "expected": expectation_of(row).as_json() if waits else None,
            "start_estimate": start_estimate_of(row),
            "decisions": timeline(row),
        }
        return Response(t.ExplainOut(told).data)


class WorkloadActView(WorkView):
    """What its owner does with work while it waits or runs."""

    def carry_out(self, request: Request, uid: UUID, act: Callable[..., Workload]) -> Response:
        row, body = self.row(uid), read(s.StopIn, request)
        act(actor=self.actor, tenant=row.tenant, workload_uid=row.uid, reason=body["reason"])
        return whole(self.row(uid))


class WorkloadSuspendView(WorkloadActView):
    @extend_schema(request=s.StopIn, responses=r.WorkloadOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Put it aside: it holds no device and no quota until it is resumed, and keeps its place (ELA-503)."""
        return self.carry_out(request, uid, workload_suspend)


class WorkloadResumeView(WorkloadActView):
    @extend_schema(request=s.StopIn, responses=r.WorkloadOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Let suspended work wait again, in its old place."""
        return self.carry_out(request, uid, workload_resume)


class WorkloadRequeueView(WorkloadActView):
    @extend_schema(request=s.StopIn, responses=r.WorkloadOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Stop running work after its grace and let it wait again, in its old place."""
        return self.carry_out(request, uid, workload_requeue)


class WorkloadScaleView(WorkView):
    @extend_schema(request=s.ScaleIn, responses=r.WorkloadOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Give it another most number of shares or replicas; elastic work that runs follows at once (ELA-905)."""
        row, body = self.row(uid), read(s.ScaleIn, request)
        workload_scale(actor=self.actor, tenant=row.tenant, workload_uid=row.uid, **body)
        return whole(self.row(uid))
