"""What is answered when a request fails for a reason that no view said."""

import sys

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views import defaults

from apps.kernel.errors import Busy, busy_of
from portal.middleware import refuse


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's handler for errors that nobody caught, in the middleware too: 503 where the database is away."""
    # Django calls its handler while it handles the error.
    error = sys.exception()
    known = busy_of(error) if error is not None else None
    if known is None:
        return defaults.server_error(request)
    if request.path_info.startswith("/api/"):
        return refuse(request, known)
    # A page's frame asks the database who reads it: this one asks nothing.
    return _busy_page(known)


def _busy_page(error: Busy) -> HttpResponse:
    text = render_to_string("unavailable.html", {"error": error})
    return HttpResponse(text, status=error.status, headers={"Retry-After": str(error.retry_after_s)})
