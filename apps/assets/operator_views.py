"""The operators' page of all tenants' assets: what there is and where, with nothing to change and nothing to open."""

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from apps.assets.forms import SIZES, AssetsAcrossForm
from apps.assets.labels import platform_names
from apps.assets.operator_selectors import VIEW, AssetsAcross
from apps.assets.states import AssetKind
from apps.identity.pages.access import cleaned, operator_page, paged, show
from apps.identity.pages.requests import PortalRequest
from apps.tenancy.selectors import tenant_list


@require_GET
@operator_page(VIEW)
def assets(request: PortalRequest) -> HttpResponse:
    """Assets by tenant, kind, platform, size and words (PLAT-ASSET-8)."""
    form = AssetsAcrossForm(request.GET)
    chosen = cleaned(form)
    rows = paged(
        request,
        AssetsAcross(
            actor=request.actor,
            tenant=chosen["tenant"],
            kind=chosen["kind"],
            platform=chosen["platform"],
            least_bytes=form.least_bytes(),
            search=chosen["search"],
        ),
    )
    names = platform_names()
    for row in rows:
        row.places = ", ".join(names.get(code, code) for code in row.platforms)
    context = {
        "rows": rows,
        "chosen": chosen,
        "kinds": AssetKind.choices,
        "tenants": tenant_list(),
        "platforms": names.items(),
        "sizes": SIZES,
    }
    return show(request, "assets/all_assets", context)
