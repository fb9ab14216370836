"""A terminal beside the reader's own running work."""

from uuid import UUID

from django.http import HttpResponse
from django.urls import reverse

from apps.identity.pages.access import page, show
from apps.identity.pages.requests import TenantRequest
from apps.kernel.errors import NotFound
from apps.scheduling.permissions import ResourcePermission
from apps.scheduling.selectors.executions import may_execute
from apps.scheduling.selectors.workloads import workload_get


@page(ResourcePermission.OPERATE)
def terminal(request: TenantRequest, uid: UUID) -> HttpResponse:
    """The page on which a shell is opened; it asks for its ticket by itself, each time anew."""
    row = workload_get(request.entered_tenant, uid, actor=request.actor)
    if not may_execute(request.actor, row):
        raise NotFound()
    opens = reverse("workload_exec", kwargs={"uid": row.uid})
    return show(request, "scheduling/terminal", {"resource": row, "opens": opens})
