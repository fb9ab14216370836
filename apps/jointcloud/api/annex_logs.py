"""The interface A.4 of Annex A: where the log of a replica can be fetched, and the log itself.

The address is signed, holds for ten minutes and leads to this portal, which reads the log at the centre: nobody learns
a centre's address or credential by it. Tasks and replicas count from 0, in the order of `taskInfos` and `centerIDs` of
A.3 (JC-Q-2); a refusal calls them by the printed names `taskId` and `replicaId`.
"""

from typing import Any

from django.http import HttpResponse
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api.base import OpenView
from apps.identity.pages.addresses import portal_address
from apps.jointcloud.api.annex_jobs import WireOut, wire_job
from apps.jointcloud.api.wire import WireView
from apps.jointcloud.selectors.jobs import replica_get
from apps.jointcloud.services.log_links import log_file, log_link_query
from apps.kernel.errors import InvalidInput
from apps.scheduling.permissions import ResourcePermission as P

_INDEX_DIGITS = 9


class WireLogData(serializers.Serializer[Any]):
    """`data` of A.4."""

    logUrl = serializers.CharField(help_text="Without signing in, for ten minutes.")


class WireLogOut(WireOut):
    """The answer of A.4."""

    data = WireLogData()  # type: ignore[assignment]


class WireLogView(WireView):
    permission = P.VIEW
    pagination_class = None

    @extend_schema(operation_id="annex_job_log", responses=WireLogOut)
    def get(self, request: Request, job_id: str, task_index: str, replica_index: str) -> Response:
        """A.4: the address from which the log of a replica is downloaded. Tasks and replicas count from 0."""
        task, replica = _indexes(task_index, replica_index)
        row = wire_job(self, job_id)
        query = log_link_query(row, replica_get(row, task, replica))
        address = portal_address(request._request, None).rstrip("/")
        path = reverse("annex_job_log_file", args=[row.job_id, task, replica])
        return self.answer({"logUrl": f"{address}{path}?{query}"})


class WireLogFileView(WireView, OpenView):
    open_because = "the address is signed for this one log, and holds for ten minutes"
    pagination_class = None

    @extend_schema(
        operation_id="annex_job_log_file",
        auth=[],
        parameters=[
            OpenApiParameter("until", str, required=True),
            OpenApiParameter("signature", str, required=True),
            OpenApiParameter("offset", int, description="The first byte."),
        ],
        responses={(200, "text/plain"): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, job_id: str, task_index: str, replica_index: str) -> HttpResponse:
        """What `logUrl` leads to: the log as the job wrote it, at most 16 MiB from byte `offset` on. Where there is
        more, the header `Link` names the address of what follows (`rel="next"`)."""
        task, replica = _indexes(task_index, replica_index)
        asked = {name: request.query_params.get(name, "") for name in ("until", "signature")}
        file = log_file(
            job_id=job_id,
            task=task,
            replica=replica,
            offset=request.query_params.get("offset", "0"),
            **asked,
        )
        answer = HttpResponse(file.content, content_type="text/plain; charset=utf-8")
        answer["Content-Disposition"] = content_disposition_header(True, file.name) or "attachment"
        answer["Cache-Control"] = "private, no-store"
        answer["X-Content-Type-Options"] = "nosniff"
        answer["Referrer-Policy"] = "no-referrer"
        if file.next_offset is not None:
            query = request.query_params.copy()
            query["offset"] = str(file.next_offset)
            answer["Link"] = f'<{request.path}?{query.urlencode()}>; rel="next"'
        return answer


def _indexes(task: str, replica: str) -> tuple[int, int]:
    """The places of task and replica. Raises InvalidInput by the printed names."""
    wrong = {
        name: _("A whole number from 0.")
        for name, text in (("taskId", task), ("replicaId", replica))
        if not (text.isascii() and text.isdigit() and len(text) <= _INDEX_DIGITS)
    }
    if wrong:
        raise InvalidInput(fields=wrong)
    return int(task), int(replica)
