"""The tenant's people as a file, and from one."""

from django.http import HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from apps.centre.selectors import mail_way
from apps.identity.forms import FileForm
from apps.identity.pages.access import cleaned, page
from apps.identity.pages.addresses import portal_address
from apps.identity.pages.people import ImportPage, file_response, import_page
from apps.identity.pages.requests import TenantRequest
from apps.identity.rules.people_file import Outcome
from apps.kernel.spreadsheet import ROWS_MAX
from apps.orgs.addresses import mail_portal
from apps.orgs.forms import ImportForm, PeopleFilterForm
from apps.orgs.selectors.organizations import organization_get
from apps.orgs.services import invitations, people_files

MANAGE = "orgs.manage"
# How long the invitations of a file are valid unless somebody says otherwise.
DAYS = 14


@require_GET
@page(MANAGE)
def export(request: TenantRequest) -> HttpResponse:
    """The people that the list shows, as a file."""
    form = cleaned(FileForm(request.GET))["format"]
    chosen = cleaned(PeopleFilterForm(request.GET))
    uid = chosen.pop("organization")
    organization = organization_get(actor=request.actor, uid=uid) if uid else None
    return file_response(
        people_files.people_export(actor=request.actor, form=form, organization=organization, **chosen)
    )


@require_GET
@page(MANAGE)
def import_template(request: TenantRequest) -> HttpResponse:
    """A file to begin with."""
    form = cleaned(FileForm(request.GET))["format"]
    return file_response(people_files.people_template(actor=request.actor, form=form))


@never_cache
@require_http_methods(["GET", "POST"])
@page(MANAGE)
def import_file(request: TenantRequest) -> HttpResponse:
    """People from a file: who is here is changed, others are invited by links that are shown once or sent by mail."""
    actor = request.actor
    days, is_mailed = DAYS, False
    if request.method == "POST":
        chosen = cleaned(ImportForm(request.POST))
        days, is_mailed = chosen["days"], chosen["by_mail"]
    by_mail = mail_portal(request, request.entered_tenant) if is_mailed else None
    address = portal_address(request, request.entered_tenant)

    def taken(data: bytes, seen: str) -> list[Outcome]:
        return people_files.people_import(actor=actor, data=data, days=days, by_mail=by_mail, seen=seen)

    return import_page(
        request,
        ImportPage(
            tried=lambda data: people_files.people_import_try(
                actor=actor, data=data, days=days, by_mail=by_mail
            ),
            taken=taken,
            way_in=f"{address}join/",
            context={
                "people_url": "people:people",
                "import_url": "people:import",
                "template_url": "people:import_template",
                "rows_max": ROWS_MAX,
                "days": days,
                "by_mail": is_mailed,
                "has_mail": mail_way() is not None,
                "days_max": invitations.MAX_DAYS,
            },
        ),
    )
