"""Where a request comes from, as far as that is known, and where the portal lives that it came to."""

from ipaddress import ip_address

from django.conf import settings
from django.http import HttpRequest

from apps.tenancy.models import Tenant


def address_of(request: HttpRequest) -> str | None:
    """The caller's address; None where a proxy says something that is none.

    The web server puts it there: the connection's own, or what a proxy named in `WEIR_TRUSTED_PROXIES` says of it.
    """
    try:
        return str(ip_address(request.META.get("REMOTE_ADDR", "").partition("%")[0]))
    except ValueError:
        return None


def portal_address(request: HttpRequest, tenant: Tenant | None) -> str:
    """`https://host/` of the tenant's own portal, or without one of the provider's: what links begin with that are
    handed on, wherever the page was opened that makes them.

    A caller's `Host` may name any port: another than the portal's goes into no link.
    """
    host, _colon, port = request.get_host().partition(":")
    if tenant is not None:
        host = tenant.get_primary_domain().domain
    suffix = f":{port}" if port == str(settings.WEIR_PORT) else ""
    return f"{request.scheme}://{host}{suffix}/"
