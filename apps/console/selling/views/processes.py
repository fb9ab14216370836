"""Process applications: a form, a process and a category tied together, and the processes they are made of."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.approvals.progress import template_drawing, template_steps
from apps.catalog.permissions import CatalogPermission as P
from apps.catalog.selectors.processes import (
    process_app_get,
    process_app_list,
    process_template_get,
    process_template_list,
)
from apps.catalog.services.processes import (
    process_app_create,
    process_app_delete,
    process_app_publish,
    process_app_rebind,
    process_app_unpublish,
    process_template_import,
)
from apps.console.selling.forms.applying import ProcessAppForm, ProcessBindForm, ProcessImportForm
from apps.identity.pages.access import go, operator_page, paged, show
from apps.identity.pages.requests import PortalRequest
from apps.kernel.errors import InvalidInput, NotFound, WeirError

_LIST = "catalogue_admin:processes"


@operator_page(P.VIEW)
def processes(request: PortalRequest) -> HttpResponse:
    """Who decides what: the process applications, and the versions of processes."""
    context = {
        "apps": process_app_list(),
        "rows": paged(request, process_template_list()),
        "may_manage": request.actor.may(P.MANAGE),
        "tab": "processes",
    }
    return show(request, "catalog/operator/processes", context)


@operator_page(P.VIEW)
def process_version(request: PortalRequest, uid: UUID) -> HttpResponse:
    """One version of a process: its drawing, its steps with whom each asks, and its file."""
    row = process_template_get(uid)
    context = {
        "row": row,
        "drawing": template_drawing(row),
        "steps": template_steps(row),
        "apps": process_app_list().filter(process_template=row),
    }
    return show(request, "catalog/operator/process_version", context)


@operator_page(P.VIEW)
def process_file(request: PortalRequest, uid: UUID) -> HttpResponse:
    """The BPMN file of a version, as it was imported."""
    row = process_template_get(uid)
    name = f"{row.key}-{row.version[:12]}.bpmn"
    headers = {"Content-Disposition": content_disposition_header(True, name) or ""}
    return HttpResponse(row.xml, content_type="application/xml", headers=headers)


@operator_page(P.MANAGE)
def process_new(request: PortalRequest) -> HttpResponse:
    """Tie a form to a process, and publish it."""
    form = ProcessAppForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            row = process_app_create(actor=request.actor, **form.cleaned_data)
        except InvalidInput as error:
            form.refuse(error)
        else:
            messages.success(
                request, _("Made: %(name)s. Publish it, so that it can be applied by.") % {"name": row}
            )
            return go(request, _LIST)
    return _form_page(request, form, _("New process application"))


@operator_page(P.MANAGE)
def process(request: PortalRequest, uid: UUID) -> HttpResponse:
    """Give one another process, and another form."""
    row = process_app_get(uid)
    shown = {"process_template": row.process_template.uid, "form_template": row.form_template.code}
    form = ProcessBindForm(request.POST or None, initial=shown)
    if request.method == "POST" and form.is_valid():
        try:
            process_app_rebind(actor=request.actor, process_app_uid=uid, **form.cleaned_data)
        except WeirError as error:
            form.refuse(error)
        else:
            messages.success(request, _("New forms of %(name)s follow this process.") % {"name": row})
            return go(request, _LIST)
    return _form_page(request, form, "", row=row)


@operator_page(P.MANAGE)
def process_import(request: PortalRequest) -> HttpResponse:
    """Another version of a process, from a BPMN file (PLAT-CFG-21)."""
    form = ProcessImportForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        given = dict(form.cleaned_data)
        try:
            process_template_import(actor=request.actor, xml=given.pop("file").read(), **given)
        except InvalidInput as error:
            form.refuse(error)
        else:
            messages.success(request, _("The process is kept."))
            return go(request, _LIST)
    return _form_page(request, form, _("Import a process"), is_multipart=True)


def _form_page(
    request: PortalRequest, form: ProcessBindForm | ProcessImportForm, title: str, **more: object
) -> HttpResponse:
    form.mark()
    context = {"form": form, "back": _LIST, "back_name": _("Processes"), "new_name": title, **more}
    return show(request, "catalog/operator/edit", context, status=400 if form.errors else 200)


@require_POST
@operator_page(P.MANAGE)
def process_act(request: PortalRequest, uid: UUID, act: str) -> HttpResponse:
    """Publish, unpublish, or delete one."""
    row = process_app_get(uid)
    if act == "publish":
        process_app_publish(actor=request.actor, process_app_uid=uid)
        messages.success(request, _("%(name)s is published.") % {"name": row})
    elif act == "unpublish":
        process_app_unpublish(actor=request.actor, process_app_uid=uid)
        messages.success(request, _("%(name)s is not published any more.") % {"name": row})
    elif act == "delete":
        process_app_delete(actor=request.actor, process_app_uid=uid)
        messages.success(request, _("Deleted."))
    else:
        raise NotFound()
    return go(request, _LIST)
