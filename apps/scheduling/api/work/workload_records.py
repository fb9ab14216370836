"""What a workload holds, prints and uses, and the tenant's quota."""

from dataclasses import asdict
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.billing.selectors.charges import usage_list
from apps.fleet.selectors import log_read, metric_series_list, slice_list
from apps.identity.api.base import ApiView
from apps.kernel.errors import InvalidInput
from apps.scheduling.api.serializers import workload_records as r
from apps.scheduling.api.serializers import workloads as s
from apps.scheduling.models import Workload
from apps.scheduling.permissions import ResourcePermission
from apps.scheduling.selectors.usage.model_usage import quota_list
from apps.scheduling.selectors.workloads import workload_expected_start, workload_get
from node_agent.protocol.metric_bounds import NAME_CHARACTERS

_LOG_MOST = 256 * 1024
_NUMBER_MOST = 99_999


def number_of(request: Request, name: str, default: int, most: int) -> int:
    """A whole number of the query, from 0 to `most`."""
    text = request.query_params.get(name, str(default))
    if not text.isdecimal() or len(text) > len(str(most)) or int(text) > most:
        raise InvalidInput(fields={name: f"0 … {most}"})
    return int(text)


def whole(row: Workload, status: int = 200) -> Response:
    """A workload with its slices and, while it waits, when it is expected to start."""
    context = {
        "slices": list(slice_list(workload_uids=[row.uid])),
        "expected_start": workload_expected_start(row),
    }
    return Response(r.WorkloadOut(row, context=context).data, status=status)


class WorkloadLogsView(ApiView):
    permission = ResourcePermission.VIEW

    @extend_schema(
        parameters=[
            OpenApiParameter("offset", int),
            OpenApiParameter("limit", int),
            OpenApiParameter("share", int, description="Only of this share, from 0."),
            OpenApiParameter("attempt", int, description="Only of this attempt, from 1."),
        ],
        responses=r.WorkloadLogOut,
    )
    def get(self, request: Request, uid: UUID) -> Response:
        """What the work printed from `offset` on: of all its shares and attempts, one after the other, or of one."""
        row = workload_get(self.tenant, uid, actor=self.actor)
        offset = number_of(request, "offset", 0, 2**40)
        limit = number_of(request, "limit", 64 * 1024, _LOG_MOST)
        asked = {
            name: number_of(request, name, 0, _NUMBER_MOST)
            for name in ("share", "attempt")
            if name in request.query_params
        }
        part = log_read(workload_uid=row.uid, offset=offset, limit=limit, **asked)
        # Work that was stopped while it waited never printed and never will.
        ended = part.ended or (row.is_final and not part.text)
        return Response(r.WorkloadLogOut(asdict(part) | {"ended": ended}).data)


class WorkloadMetricsView(ApiView):
    permission = ResourcePermission.VIEW
    pagination_class = None

    @extend_schema(
        parameters=[OpenApiParameter("name", str, description="Only metrics in whose names this occurs.")],
        responses=r.WorkloadMetricOut(many=True),
    )
    def get(self, request: Request, uid: UUID) -> Response:
        """What the work has written of itself, as TensorBoard's files or as lines of JSON, by name and share."""
        row = workload_get(self.entered, uid, actor=self.actor)
        name = request.query_params.get("name", "")[:NAME_CHARACTERS].replace("\0", "")
        found = metric_series_list(workload_uids=[row.uid], name=name)
        return Response(r.WorkloadMetricOut(found, many=True).data)


class WorkloadUsageView(ApiView):
    permission = ResourcePermission.VIEW
    ordering = ("start_at", "pk")

    @extend_schema(responses=r.UsageOut(many=True))
    def get(self, request: Request, uid: UUID) -> Response:
        """The metered intervals, oldest first."""
        row = workload_get(self.tenant, uid, actor=self.actor)
        return self.page(usage_list(tenant=self.tenant, workload_uid=row.uid), r.UsageOut)


class QuotaView(ApiView):
    permission = ResourcePermission.VIEW
    pagination_class = None

    @extend_schema(responses=s.QuotaOut(many=True))
    def get(self, request: Request) -> Response:
        """Total, allocated, allocatable, used and in process of each item, and of those on a model."""
        return Response([figures.as_json() for figures in quota_list(self.tenant)])
