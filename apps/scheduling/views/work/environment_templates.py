"""Development environments: operators prepare templates, and a user starts one with one click."""

from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.fleet.selectors import component_is_installed, spec_list
from apps.identity.pages.access import cleaned, go, operator_page, page, paged, show
from apps.identity.pages.requests import PortalRequest, TenantRequest
from apps.scheduling.forms.environment_templates import StartForm, TemplateForm, template_values
from apps.scheduling.models import EnvironmentTemplate
from apps.scheduling.permissions import ResourcePermission, SchedulingPermission
from apps.scheduling.selectors.environment_templates import (
    environment_template_get,
    environment_template_list,
    own_environment_list,
)
from apps.scheduling.selectors.workloads import environment_list
from apps.scheduling.services.environment_templates import (
    environment_start,
    environment_template_change,
    environment_template_make,
    environment_template_remove,
)


@operator_page(SchedulingPermission.VIEW)
def templates(request: PortalRequest) -> HttpResponse:
    """The templates, with the button that makes one (PLAT-AICFG-10, PLAT-AICFG-11)."""
    context = {
        "rows": paged(request, environment_template_list()),
        "may_manage": request.actor.may(SchedulingPermission.MANAGE),
    }
    return show(request, "scheduling/environment_templates", context)


@operator_page(SchedulingPermission.MANAGE)
def template_new(request: PortalRequest) -> HttpResponse:
    form = _form(request.POST or None)
    if request.method == "POST":
        row = environment_template_make(actor=request.actor, draft=form.draft(cleaned(form)))
        messages.success(request, _("The template %(name)s is on offer.") % {"name": row.name})
        return go(request, "scheduling_admin:environment_templates")
    return show(request, "scheduling/environment_template", {"form": form})


@operator_page(SchedulingPermission.MANAGE)
def template(request: PortalRequest, uid: UUID) -> HttpResponse:
    """One template, to be changed (PLAT-AICFG-15)."""
    row = environment_template_get(uid)
    if request.method == "POST":
        form = _form(request.POST, row=row)
        environment_template_change(actor=request.actor, template=row, draft=form.draft(cleaned(form)))
        messages.success(request, _("Saved; environments that were started keep their settings."))
        return go(request, "scheduling_admin:environment_templates")
    context = {"form": _form(initial=template_values(row), row=row), "row": row}
    return show(request, "scheduling/environment_template", context)


def _form(*args: Any, row: EnvironmentTemplate | None = None, **more: Any) -> TemplateForm:
    """With the images on offer, and the one that the template has."""
    images = dict(import_string(settings.WEIR_IMAGES_OFFERED)())
    if row is not None and row.image:
        images.setdefault(row.image, row.image_name)
    form = TemplateForm(*args, images=list(images.items()), **more)
    if not component_is_installed("vscode"):
        form.note(_("VS Code: no node has its server (code-server or openvscode-server) installed now."))
    return form


@require_POST
@operator_page(SchedulingPermission.MANAGE)
def template_remove(request: PortalRequest, uid: UUID) -> HttpResponse:
    row = environment_template_get(uid)
    environment_template_remove(actor=request.actor, template=row)
    messages.success(request, _("The template %(name)s is on offer no more.") % {"name": row.name})
    return go(request, "scheduling_admin:environment_templates")


@page(ResourcePermission.VIEW)
def environments(request: TenantRequest) -> HttpResponse:
    """What can be started with one click, what the reader has started, and the tenant's amounts under a name."""
    tenant = request.entered_tenant
    topic = f"tenant.{tenant.schema_name}.resources"
    context = {
        "templates": environment_template_list(),
        "own": own_environment_list(tenant, request.actor),
        "rows": paged(request, environment_list(tenant)),
        "specs": spec_list().filter(is_enabled=True),
        "may_make": request.actor.may(ResourcePermission.OPERATE),
        # Pressed twice it is started once.
        "key": f"env-{uuid4().hex}",
        "topic": topic,
        "live": [topic],
    }
    return show(request, "scheduling/environments", context)


@require_POST
@page(ResourcePermission.OPERATE)
def start(request: TenantRequest, uid: UUID) -> HttpResponse:
    """Start an environment; its page leads on to it (PLAT-AICFG-9)."""
    given = cleaned(StartForm(request.POST))
    row = environment_start(
        actor=request.actor,
        tenant=request.entered_tenant,
        template=environment_template_get(uid),
        name=given["name"],
        client_key=f"{given['key']}-{uid.hex[:8]}" if given["key"] else "",
        volumes=[name for name in request.POST.getlist("volumes") if name],
    )
    messages.success(request, _("%(no)s starts. It opens as soon as it is there.") % {"no": row.no})
    return go(request, "workloads:workload", row.uid)
