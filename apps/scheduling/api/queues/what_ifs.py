"""Operators: who may ask for which priority, how start estimates came true, settings tried on the past."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api.base import ApiView
from apps.scheduling.api.serializers import queues as d
from apps.scheduling.api.work.workloads import read
from apps.scheduling.permissions import SchedulingPermission
from apps.scheduling.selectors.entitlements.resource_tickets import priority_list, user_find
from apps.scheduling.selectors.forecasts.what_if import what_if_get, what_if_list
from apps.scheduling.selectors.timeline import calibration
from apps.scheduling.services.cycle.what_ifs import what_if_ask
from apps.scheduling.services.entitlements.access_rules import priority_set


class PrioritiesView(ApiView):
    plane = "provider"
    permission = SchedulingPermission.VIEW
    pagination_class = None

    @extend_schema(responses=d.PriorityOut(many=True))
    def get(self, request: Request) -> Response:
        """The users who have a resource group, and what priority their work has (PLAT-AICFG-24)."""
        return Response(d.PriorityOut(priority_list(), many=True).data)


class PriorityView(ApiView):
    plane = "provider"
    permission = SchedulingPermission.MANAGE

    @extend_schema(request=d.PriorityIn, responses=d.PriorityIn)
    def put(self, request: Request, username: str) -> Response:
        """The priority of a user's new work, the most it may name, and whether it may be urgent (PLAT-AICFG-25)."""
        row = priority_set(actor=self.actor, user=user_find(username), **read(d.PriorityIn, request))
        return Response(d.PriorityIn(row).data)


class CalibrationView(ApiView):
    plane = "provider"
    permission = SchedulingPermission.VIEW

    @extend_schema(responses=d.CalibrationOut)
    def get(self, request: Request) -> Response:
        """How the starts estimated in the last 30 days came true."""
        return Response(d.CalibrationOut(calibration()).data)


class WhatIfsView(ApiView):
    plane = "provider"
    permission = SchedulingPermission.VIEW

    @extend_schema(responses=d.WhatIfOut(many=True))
    def get(self, request: Request) -> Response:
        """What was tried, newest first."""
        return self.page(what_if_list(), d.WhatIfOut)

    @extend_schema(request=d.WhatIfIn, responses={201: d.WhatIfOut})
    def post(self, request: Request) -> Response:
        """Replay the submissions of the last days under other settings; nothing live changes. A worker does it."""
        body = d.as_dict(read(d.WhatIfIn, request))
        parts = {name: body[name] for name in ("policy", "queues", "quotas") if body.get(name)}
        row = what_if_ask(actor=self.actor, name=body["name"], days=body["days"], changes=parts)
        return Response(d.WhatIfOut(row).data, status=201)


class WhatIfView(ApiView):
    plane = "provider"
    permission = SchedulingPermission.VIEW

    @extend_schema(responses=d.WhatIfOut)
    def get(self, request: Request, uid: UUID) -> Response:
        """One try; `result` is filled once its state is done."""
        return Response(d.WhatIfOut(what_if_get(uid)).data)
