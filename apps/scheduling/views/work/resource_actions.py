"""What a member does with work and environments from the pages: stop, resize, migrate; make and remove."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, resolve_url
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_POST

from apps.identity.pages.access import cleaned, go, page
from apps.identity.pages.requests import TenantRequest
from apps.kernel.errors import NotFound
from apps.scheduling.addresses import web_address
from apps.scheduling.forms.submit import (
    EnvironmentForm,
    ExtendForm,
    MigrateForm,
    ResizeForm,
    ScaleForm,
    StopForm,
)
from apps.scheduling.selectors.workloads import workload_get
from apps.scheduling.services.environments import environment_make, environment_retire
from apps.scheduling.services.web_pages import web_pages_open
from apps.scheduling.services.work_access import AskedBy
from apps.scheduling.services.workload_control import (
    workload_requeue,
    workload_resume,
    workload_scale,
    workload_suspend,
)
from apps.scheduling.services.workloads.arrays import array_stop
from apps.scheduling.services.workloads.resizing.extending import workload_extend
from apps.scheduling.services.workloads.resizing.resizing import workload_resize
from apps.scheduling.services.workloads.resizing.session_moves import workload_migrate
from apps.scheduling.services.workloads.stopping import workload_halt


@require_POST
@page("resources.operate")
def stop(request: TenantRequest, uid: UUID) -> HttpResponse:
    given = cleaned(StopForm(request.POST))
    row = workload_get(request.entered_tenant, uid, actor=request.actor)
    workload_halt(actor=request.actor, tenant=row.tenant, workload_uid=row.uid, reason=given["reason"])
    messages.success(request, _("%(no)s is being stopped.") % {"no": row.no})
    return go(request, "workloads:workload", row.uid)


@require_POST
@page("resources.operate")
def array_end(request: TenantRequest, uid: UUID) -> HttpResponse:
    """All tasks of an array, as one."""
    given = cleaned(StopForm(request.POST))
    row = array_stop(
        actor=request.actor, tenant=request.entered_tenant, array_uid=uid, reason=given["reason"]
    )
    messages.success(request, _("%(no)s is being ended with all of its tasks.") % {"no": row.no})
    return go(request, "workloads:workloads")


@require_POST
@page("resources.operate")
def resize(request: TenantRequest, uid: UUID) -> HttpResponse:
    """Another share while it runs (POOL-12.2)."""
    given = cleaned(ResizeForm(request.POST))
    row = workload_get(request.entered_tenant, uid, actor=request.actor)
    workload_resize(actor=request.actor, tenant=row.tenant, workload_uid=row.uid, **given)
    messages.success(request, _("%(no)s goes on with its new share.") % {"no": row.no})
    return go(request, "workloads:workload", row.uid)


@require_POST
@page("resources.operate")
def extend(request: TenantRequest, uid: UUID) -> HttpResponse:
    """Let it run longer than it may now."""
    minutes = cleaned(ExtendForm(request.POST))["more_minutes"]
    row = workload_get(request.entered_tenant, uid, actor=request.actor)
    workload_extend(actor=request.actor, tenant=row.tenant, workload_uid=row.uid, more_s=minutes * 60)
    messages.success(request, _("%(no)s may run longer.") % {"no": row.no})
    return go(request, "workloads:workload", row.uid)


@page("resources.operate")
def web_open(request: TenantRequest, uid: UUID) -> HttpResponse:
    """Lead the browser to the web pages of the reader's own work (PLAT-CMP-10)."""
    back = request.build_absolute_uri(resolve_url("workloads:workload", uid))
    ticket = web_pages_open(
        actor=request.actor,
        tenant=request.entered_tenant,
        workload_uid=uid,
        by=AskedBy(session_key=request.session.session_key or ""),
        back=back,
    )
    return redirect(web_address(request, uid, ticket))


_STEERING = {
    "suspend": (workload_suspend, gettext_noop("%(no)s is put aside; it keeps its place.")),
    "resume": (workload_resume, gettext_noop("%(no)s waits for its turn.")),
    "requeue": (workload_requeue, gettext_noop("%(no)s goes back to its queue.")),
}


@require_POST
@page("resources.operate")
def steer(request: TenantRequest, uid: UUID, act: str) -> HttpResponse:
    """Suspend, resume or requeue work (ELA-503)."""
    if act not in _STEERING:
        raise NotFound()
    service, told = _STEERING[act]
    row = workload_get(request.entered_tenant, uid, actor=request.actor)
    reason = cleaned(StopForm(request.POST))["reason"]
    service(actor=request.actor, tenant=row.tenant, workload_uid=row.uid, reason=reason)
    messages.success(request, _(told) % {"no": row.no})
    return go(request, "workloads:workload", row.uid)


@require_POST
@page("resources.operate")
def scale(request: TenantRequest, uid: UUID) -> HttpResponse:
    """Another most number of shares (ELA-905)."""
    given = cleaned(ScaleForm(request.POST))
    row = workload_get(request.entered_tenant, uid, actor=request.actor)
    workload_scale(actor=request.actor, tenant=row.tenant, workload_uid=row.uid, **given)
    messages.success(request, _("%(no)s is to have %(shares)s shares at most.") % {"no": row.no, **given})
    return go(request, "workloads:workload", row.uid)


@require_POST
@page("resources.operate")
def migrate(request: TenantRequest, uid: UUID) -> HttpResponse:
    """Move a session to another device while it runs (POOL-12.23)."""
    given = cleaned(MigrateForm(request.POST))
    row = workload_get(request.entered_tenant, uid, actor=request.actor)
    workload_migrate(
        actor=request.actor,
        tenant=row.tenant,
        workload_uid=row.uid,
        node=given["node"],
        share=given["share"] or 0,
    )
    messages.success(request, _("%(no)s is moving; its work goes on.") % {"no": row.no})
    return go(request, "workloads:workload", row.uid)


@require_POST
@page("resources.operate")
def environment_add(request: TenantRequest) -> HttpResponse:
    row = environment_make(
        actor=request.actor, tenant=request.entered_tenant, **cleaned(EnvironmentForm(request.POST))
    )
    messages.success(request, _("Environment %(name)s created.") % {"name": row.name})
    return go(request, "workloads:environments")


@require_POST
@page("resources.operate")
def environment_remove(request: TenantRequest, uid: UUID) -> HttpResponse:
    environment_retire(actor=request.actor, tenant=request.entered_tenant, environment_uid=uid)
    messages.success(request, _("The environment is out of use; what runs in it keeps its amounts."))
    return go(request, "workloads:environments")
