"""Templates of development environments, and starting one."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api.base import ApiView
from apps.scheduling.api.serializers import environment_templates as s
from apps.scheduling.api.serializers import workload_records as r
from apps.scheduling.api.work.workload_records import whole
from apps.scheduling.api.work.workloads import read
from apps.scheduling.permissions import ResourcePermission, SchedulingPermission
from apps.scheduling.selectors.environment_templates import (
    environment_template_get,
    environment_template_list,
)
from apps.scheduling.selectors.workloads import workload_get
from apps.scheduling.services.environment_templates import (
    TemplateDraft,
    environment_start,
    environment_template_change,
    environment_template_make,
    environment_template_remove,
)


class TemplatesView(ApiView):
    plane = "both"
    open_because = "who manages templates and who starts from them have each a permission of their own"

    @extend_schema(responses=s.EnvironmentTemplateOut(many=True))
    def get(self, request: Request) -> Response:
        """The templates of development environments, by name; for operators and for who may start one."""
        if not self.actor.may(SchedulingPermission.VIEW):
            self.actor.require(ResourcePermission.VIEW)
        return self.page(environment_template_list(), s.EnvironmentTemplateOut)

    @extend_schema(request=s.EnvironmentTemplateIn, responses={201: s.EnvironmentTemplateOut})
    def post(self, request: Request) -> Response:
        """Offer one more template (PLAT-AICFG-11): operators only."""
        draft = TemplateDraft(**read(s.EnvironmentTemplateIn, request))
        row = environment_template_make(actor=self.actor, draft=draft)
        return Response(s.EnvironmentTemplateOut(row).data, status=201)


class TemplateView(ApiView):
    plane = "provider"
    permission = SchedulingPermission.MANAGE

    @extend_schema(request=s.EnvironmentTemplateIn, responses=s.EnvironmentTemplateOut)
    def put(self, request: Request, uid: UUID) -> Response:
        """Say something else from now on; what was started keeps its settings (PLAT-AICFG-15)."""
        draft = TemplateDraft(**read(s.EnvironmentTemplateIn, request))
        template = environment_template_get(uid)
        row = environment_template_change(actor=self.actor, template=template, draft=draft)
        return Response(s.EnvironmentTemplateOut(row).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID) -> Response:
        """Offer it no more; what was started from it goes on (PLAT-AICFG-16)."""
        environment_template_remove(actor=self.actor, template=environment_template_get(uid))
        return Response(status=204)


class TemplateStartView(ApiView):
    permission = ResourcePermission.OPERATE

    @extend_schema(request=s.EnvironmentStartIn, responses={201: r.WorkloadOut})
    def post(self, request: Request, uid: UUID) -> Response:
        """Start an environment as the template says (PLAT-AICFG-9)."""
        given = read(s.EnvironmentStartIn, request)
        template = environment_template_get(uid)
        row = environment_start(actor=self.actor, tenant=self.entered, template=template, **given)
        return whole(workload_get(self.entered, row.uid, actor=self.actor), status=201)
