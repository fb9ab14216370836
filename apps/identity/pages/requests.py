"""What a request carries once it is inside: who acts, for which tenant, and by which role.

`portal.middleware` puts it there before any view runs. At run time these are Django's own requests: the classes are
for the types of views and of what views call.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, cast

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from apps.identity.models import User
from apps.kernel.actor import Actor
from apps.tenancy.models import Tenant


class Role(Protocol):
    """A role as the frame of a page offers it: a tenant's or an operator's."""

    code: str
    name_zh: str
    name_en: str
    permissions: list[str]
    is_read_only: bool


class PortalRequest(HttpRequest):
    """A request behind the middleware, in whichever plane."""

    request_id: str
    # Seconds since 1970.
    began_at_s: float
    actor: Actor
    # None on the provider's side, unless a tenant was chosen by `/t/<schema>/`, by token or by header.
    entered_tenant: Tenant | None
    held_roles: Sequence[Role]
    # Signed in by an API token and no session; when that token ends, None for never.
    by_token: bool
    token_expires_at: datetime | None
    htmx: HtmxDetails
    # Where Django remembers whom `user` is.
    _cached_user: User


class TenantRequest(PortalRequest):
    """A request for a page of a tenant: `page()` lets in none that has not entered one."""

    entered_tenant: Tenant


def inside(request: HttpRequest) -> PortalRequest:
    """The request typed as it is behind the middleware, where a signature of Django's names its own class."""
    return cast(PortalRequest, request)
