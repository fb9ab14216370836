"""Suspend, resume, requeue, scale and extend work."""

from collections.abc import Callable
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.scheduling.api.serializers import workload_records as r
from apps.scheduling.api.serializers import workloads as s
from apps.scheduling.api.work.workload_records import whole
from apps.scheduling.api.work.workloads import WorkView, read
from apps.scheduling.models import Workload
from apps.scheduling.services.workload_control import (
    workload_requeue,
    workload_resume,
    workload_scale,
    workload_suspend,
)
from apps.scheduling.services.workloads.resizing.extending import workload_extend


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


class WorkloadExtendView(WorkView):
    @extend_schema(request=s.ExtendIn, responses=r.WorkloadOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Let it run longer than it may now, within its queue's maximum. What an order delivered is given more time by
        a change of the order."""
        row, body = self.row(uid), read(s.ExtendIn, request)
        workload_extend(actor=self.actor, tenant=row.tenant, workload_uid=row.uid, **body)
        return whole(self.row(uid))


class WorkloadScaleView(WorkView):
    @extend_schema(request=s.ScaleIn, responses=r.WorkloadOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Give it another most number of shares or replicas; elastic work that runs follows at once (ELA-905)."""
        row, body = self.row(uid), read(s.ScaleIn, request)
        workload_scale(actor=self.actor, tenant=row.tenant, workload_uid=row.uid, **body)
        return whole(self.row(uid))
