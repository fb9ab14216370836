"""Where a request comes from, as far as that is known."""

from ipaddress import ip_address

from django.http import HttpRequest


def address_of(request: HttpRequest) -> str | None:
    """The caller's address; None where a proxy says something that is none.

    The web server puts it there: the connection's own, or what a proxy named in `WEIR_TRUSTED_PROXIES` says of it.
    """
    try:
        return str(ip_address(request.META.get("REMOTE_ADDR", "").partition("%")[0]))
    except ValueError:
        return None
