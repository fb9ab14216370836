"""When work would start that is not submitted yet, and why work waits that is."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api.base import ApiView
from apps.scheduling.api.serializers import explain as t
from apps.scheduling.api.serializers import workloads as s
from apps.scheduling.api.work.workloads import WorkView, asked_of, read
from apps.scheduling.permissions import ResourcePermission
from apps.scheduling.selectors.forecasts.forecast import expectation_of
from apps.scheduling.selectors.timeline import start_estimate_of, timeline
from apps.scheduling.selectors.workloads import workload_reason
from apps.scheduling.services.cycle.start_estimates import workload_dry_run
from apps.scheduling.states import WorkloadState

_AMOUNTS = ("shares", "shares_per_replica", "compute_percent", "memory_mib")


class WorkloadDryRunView(ApiView):
    no_key_because = "it changes nothing"
    permission = ResourcePermission.OPERATE

    @extend_schema(request=s.WorkloadIn, responses=t.DryRunOut)
    def post(self, request: Request) -> Response:
        """When such work would start, and with how much it could start now. Refused as the submission would be."""
        asked = asked_of(read(s.WorkloadIn, request))
        row, found, now = workload_dry_run(actor=self.actor, tenant=self.tenant, asked=asked)
        amounts = {name: getattr(row, name) for name in _AMOUNTS}
        return Response(t.DryRunOut({**found.as_json(), **amounts, "now": now}).data)


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
