"""What is answered when a request fails for a reason that no view said."""

import logging
import sys

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views import defaults

from apps.kernel.errors import Busy, NotFound, busy_of
from portal.middleware import is_program, refuse

log = logging.getLogger("portal")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler for addresses that lead nowhere: a program is told in its own form, a person by a page."""
    if is_program(request):
        return refuse(request, NotFound())
    return defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's handler for errors that nobody caught, in the middleware too: 503 where the database is away."""
    # Django calls its handler while it handles the error.
    error = sys.exception()
    known = busy_of(error) if error is not None else None
    if known is None:
        return _failed_page(request)
    if is_program(request):
        return refuse(request, known)
    # A page's frame asks the database who reads it: this one asks nothing.
    return _busy_page(known)


def _failed_page(request: HttpRequest) -> HttpResponse:
    """With the frame of every page where that can still be drawn: who works on goes on from there."""
    try:
        return HttpResponse(render_to_string("500.html", request=request), status=500)
    except Exception:
        log.exception("the page that says so failed, too")
        return defaults.server_error(request)


def _busy_page(error: Busy) -> HttpResponse:
    text = render_to_string("unavailable.html", {"error": error})
    return HttpResponse(text, status=error.status, headers={"Retry-After": str(error.retry_after_s)})
