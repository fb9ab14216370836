"""The page of a service's keys: made, shown once, revoked."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from apps.identity.pages.access import cleaned, go, page, show
from apps.identity.pages.requests import TenantRequest
from apps.kernel.errors import NotFound
from apps.scheduling.addresses import web_origin
from apps.scheduling.forms.service_keys import ServiceKeyForm
from apps.scheduling.selectors.web_pages import may_open_web, service_keys, service_seen
from apps.scheduling.selectors.workloads import workload_get
from apps.scheduling.services.service_keys import service_key_make, service_key_revoke


@never_cache
@page("resources.operate")
def keys(request: TenantRequest, uid: UUID) -> HttpResponse:
    """The keys that open a service; one that is made is shown in this answer alone."""
    tenant, made = request.entered_tenant, ""
    row = workload_get(tenant, uid, actor=request.actor)
    seen = service_seen(row)
    if seen is None:
        raise NotFound()
    if request.method == "POST":
        name = cleaned(ServiceKeyForm(request.POST))["name"]
        _key, made = service_key_make(actor=request.actor, tenant=tenant, workload_uid=uid, name=name)
    context = {
        "resource": row,
        "service": seen,
        "address": web_origin(request, row.uid),
        "keys": service_keys(row),
        "made": made,
        "may_make": may_open_web(request.actor, row) and not row.is_final,
    }
    return show(request, "scheduling/service_keys", context)


@require_POST
@page("resources.operate")
def key_revoke(request: TenantRequest, uid: UUID, key: UUID) -> HttpResponse:
    service_key_revoke(actor=request.actor, tenant=request.entered_tenant, workload_uid=uid, key_uid=key)
    messages.success(request, _("The key is revoked: it opens nothing any more."))
    return go(request, "workloads:service_keys", uid)
