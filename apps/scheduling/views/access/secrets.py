"""The page of secrets: set, replaced, deleted; what is in one is never shown."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from apps.fleet.services.secrets import secret_delete, secret_set, secrets_seen
from apps.identity.pages.access import cleaned, go, page, paged, show
from apps.identity.pages.picks import OFFERED, picks_shown
from apps.identity.pages.requests import TenantRequest
from apps.kernel.pick_list import Pick
from apps.scheduling.forms.secrets import SecretForm
from apps.scheduling.permissions import FOR_ALL


@sensitive_post_parameters("value")
@page("resources.operate")
def secrets(request: TenantRequest) -> HttpResponse:
    """The reader's secrets and those of all, and the form that sets one."""
    tenant = request.entered_tenant
    if request.method == "POST":
        given = cleaned(SecretForm(request.POST))
        row = secret_set(
            actor=request.actor,
            tenant=tenant,
            name=given["name"],
            secret_value=given["value"],
            is_shared=given["is_shared"],
        )
        messages.success(request, _("%(name)s is set.") % {"name": row.name})
        return go(request, "workloads:secrets")
    context = {
        "rows": paged(request, secrets_seen(tenant, request.actor)),
        "may_share": request.actor.may(FOR_ALL),
    }
    return show(request, "scheduling/secrets", context)


@require_safe
@page("resources.operate")
def picks(request: TenantRequest) -> HttpResponse:
    """What a field of work offers: the secrets that the reader may name."""

    def find(words: list[str]) -> list[Pick]:
        rows = secrets_seen(request.entered_tenant, request.actor)
        for word in words:
            rows = rows.filter(name__icontains=word)
        # One's own goes before one of all that has the same name.
        names = sorted(set(rows.values_list("name", flat=True)))
        return [Pick(name, name) for name in names[: OFFERED + 1]]

    return picks_shown(request, find)


@require_POST
@page("resources.operate")
def secret_remove(request: TenantRequest, uid: UUID) -> HttpResponse:
    secret_delete(actor=request.actor, tenant=request.entered_tenant, secret_uid=uid)
    messages.success(request, _("The secret is deleted."))
    return go(request, "workloads:secrets")
