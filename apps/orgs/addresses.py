"""What a mail that somebody asks for in the portal is written with."""

from django.http import HttpRequest
from django.utils.translation import get_language

from apps.identity.pages.addresses import portal_address
from apps.orgs.services.invitation_mails import MailPortal
from apps.tenancy.models import Tenant


def mail_portal(request: HttpRequest, tenant: Tenant) -> MailPortal:
    """The tenant's portal, and the language in which whoever asks reads it."""
    return MailPortal(portal_address(request, tenant), get_language() or "")
