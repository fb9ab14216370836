"""Work that is thought about before it is submitted, explained while it waits, and steered while it runs."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api.base import ApiView
from apps.scheduling.api import serializers as s
from apps.scheduling.api.work import WorkView, asked_of, read
from apps.scheduling.forecast import expectation_of
from apps.scheduling.permissions import ResourcePermission
from apps.scheduling.selectors import workload_reason
from apps.scheduling.services.promises import workload_dry_run
from apps.scheduling.states import WorkloadState
from apps.scheduling.timeline import promise_of, timeline


class WorkloadDryRunView(ApiView):
    permission = ResourcePermission.OPERATE

    @extend_schema(request=s.WorkloadIn, responses=s.DryRunOut)
    def post(self, request: Request) -> Response:
        """When such work would start, and with how much it could start now. Refused as the submission would be."""
        asked = asked_of(read(s.WorkloadIn, request))
        row, found, now = workload_dry_run(actor=self.actor, tenant=self.tenant, asked=asked)
        held = {"shares": row.shares, "compute_percent": row.compute_percent, "memory_mib": row.memory_mib}
        return Response(s.DryRunOut({**found.as_json(), **held, "now": now}).data)


class WorkloadExplainView(WorkView):
    @extend_schema(responses=s.ExplainOut)
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
            "promise": promise_of(row),
            "decisions": timeline(row),
        }
        return Response(s.ExplainOut(told).data)
