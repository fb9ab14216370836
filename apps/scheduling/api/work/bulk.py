"""Ten thousand submissions in one call: what they share is read once, what is each one's own is read by hand."""

import json
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api.base import ApiView
from apps.kernel.control_characters import has_control
from apps.kernel.errors import InvalidInput
from apps.scheduling.api.serializers import workloads as s
from apps.scheduling.api.work.workloads import asked_of
from apps.scheduling.permissions import ResourcePermission
from apps.scheduling.services.workloads.admission import MOST
from apps.scheduling.services.workloads.bulk import workload_submit_many
from apps.scheduling.types import WorkloadRequest
from weir_wire.workload_request import asks

_OWN = {name: asks()[name] for name in ("name", "client_key", "argv", "env")}
"""What differs from job to job, and is read without a serializer."""


class WorkloadsBulkView(ApiView):
    permission = ResourcePermission.OPERATE

    @extend_schema(request=s.BulkIn, responses={201: s.BulkOut})
    def post(self, request: Request) -> Response:
        """Submit up to 10,000 programs or sessions in one call: all are taken in, in this order, or none."""
        jobs = request.data.get("jobs") if isinstance(request.data, Mapping) else None
        if not isinstance(jobs, list) or not 1 <= len(jobs) <= MOST:
            raise InvalidInput(fields={"jobs": _("a list of 1 to %(most)s") % {"most": MOST}})
        rows = workload_submit_many(actor=self.actor, tenant=self.tenant, asked=jobs_read(jobs))
        told = [{"uid": str(row.uid), "no": row.no} for row in rows]
        return Response({"count": len(told), "workloads": told}, status=201)


def jobs_read(jobs: list[Any]) -> list[WorkloadRequest]:
    """What each job asks for; InvalidInput names the job by its place, from 0, and the field."""
    known: dict[str, dict[str, Any]] = {}
    return [asked_of(_job_read(job, index, known)) for index, job in enumerate(jobs)]


def _job_read(job: Any, index: int, known: dict[str, dict[str, Any]]) -> dict[str, Any]:
    if not isinstance(job, dict):
        raise InvalidInput(fields={f"jobs[{index}]": _("an object")})
    own = {name: job[name] for name in _OWN if name in job}
    shared = json.dumps({name: value for name, value in job.items() if name not in own}, sort_keys=True)
    if shared not in known:
        known[shared] = _shared_read(json.loads(shared), index)
    wrong = [name for name, value in own.items() if not _is_own(name, value)] + ["name"] * ("name" not in own)
    if wrong:
        raise InvalidInput(fields={f"jobs[{index}].{name}": _("It is not valid.") for name in wrong})
    return {**known[shared], **own}


def _shared_read(body: dict[str, Any], index: int) -> dict[str, Any]:
    given = s.WorkloadIn(data={"name": "job", **body})
    if not given.is_valid():
        raise InvalidInput(
            fields={
                f"jobs[{index}].{name}": " ".join(map(str, texts)) for name, texts in given.errors.items()
            }
        )
    return dict(given.validated_data)


def _is_own(name: str, value: Any) -> bool:
    ask = _OWN[name]
    if ask.kind == "text":
        return _is_text(value, ask.most) and not has_control(value) and (bool(value) or name != "name")
    if ask.kind == "words":
        return (
            isinstance(value, list)
            and len(value) <= ask.parts
            and all(_is_text(part, ask.most) for part in value)
        )
    return isinstance(value, dict) and all(
        _is_text(key, ask.most) and not has_control(key) and _is_text(text, ask.most)
        for key, text in value.items()
    )


def _is_text(value: Any, most: int) -> bool:
    return isinstance(value, str) and len(value) <= most and "\x00" not in value
