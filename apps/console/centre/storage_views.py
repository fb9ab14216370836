"""The operators' page of storage classes: where volumes are kept, and whether that works."""

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from apps.centre.storage_classes import storage_class_list
from apps.centre.storage_services import storage_class_change, storage_class_remove, storage_class_switch
from apps.console.centre.storage_classes import storage_class_add, storage_class_check
from apps.console.centre.storage_forms import StorageChangeForm, StorageForm
from apps.identity.pages.access import cleaned, go, operator_page, show
from apps.identity.pages.requests import PortalRequest
from apps.kernel.errors import NotFound, WeirError

STORAGE = "centre.storage"
_PAGE = "operator:storage"
# By what the page's button says.
_SWITCHES: dict[str, dict[str, bool]] = {
    "enable": {"is_enabled": True},
    "disable": {"is_enabled": False},
    "default": {"is_default": True},
    "no-default": {"is_default": False},
}


@sensitive_post_parameters("secret")
@require_http_methods(["GET", "HEAD", "POST"])
@operator_page(STORAGE)
def storage(request: PortalRequest) -> HttpResponse:
    """The classes that there are, and a form for another one, which is tried before it is kept."""
    if request.method != "POST":
        return _page(request, StorageForm())
    form = StorageForm(request.POST)
    if not form.is_valid():
        form.mark()
        return _page(request, form, status=400)
    try:
        row = storage_class_add(actor=request.actor, given=form.given())
    except WeirError as error:
        form.refuse(error)
        return _page(request, form, status=error.status)
    messages.success(request, _worked(row.check_ms))
    return go(request, _PAGE)


def _page(request: PortalRequest, form: StorageForm, status: int = 200) -> HttpResponse:
    context = {"rows": storage_class_list(), "form": form}
    return show(request, "console/storage", context, status=status)


def _worked(ms: int | None) -> str:
    return _("Write, read, delete worked: %(ms)s ms.") % {"ms": ms}


@require_POST
@operator_page(STORAGE)
def check(request: PortalRequest, code: str) -> HttpResponse:
    """Try a storage now."""
    row = storage_class_check(actor=request.actor, code=code)
    if row.check_problem:
        messages.error(request, row.check_problem)
    else:
        messages.success(request, _worked(row.check_ms))
    return go(request, _PAGE)


@require_POST
@operator_page(STORAGE)
def switch(request: PortalRequest, code: str, act: str) -> HttpResponse:
    """Whether it takes new volumes, and is the default one."""
    if act not in _SWITCHES:
        raise NotFound()
    storage_class_switch(actor=request.actor, code=code, **_SWITCHES[act])
    messages.success(request, _("Changed."))
    return go(request, _PAGE)


@sensitive_post_parameters("secret")
@require_POST
@operator_page(STORAGE)
def change(request: PortalRequest, code: str) -> HttpResponse:
    """Other names, or another key."""
    storage_class_change(actor=request.actor, code=code, **cleaned(StorageChangeForm(request.POST)))
    row = storage_class_check(actor=request.actor, code=code)
    if row.check_problem:
        messages.error(request, row.check_problem)
    else:
        messages.success(request, _worked(row.check_ms))
    return go(request, _PAGE)


@require_POST
@operator_page(STORAGE)
def remove(request: PortalRequest, code: str) -> HttpResponse:
    storage_class_remove(actor=request.actor, code=code)
    messages.success(request, _("The storage class is forgotten; what stands in its storage stays there."))
    return go(request, _PAGE)
