"""How a data scientist gets the command line and the PyTorch device: a page with the line to copy, and the wheel."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from apps.console.client_download.wheel import wheel_get, wheel_named
from apps.identity.pages.access import page, show
from apps.identity.pages.requests import PortalRequest


@page(plane="both")
def install(request: PortalRequest) -> HttpResponse:
    """The one line that installs the client from this portal, and what to do next."""
    portal = request.build_absolute_uri("/")
    found = wheel_get()
    context: dict[str, object] = {"portal": portal.rstrip("/"), "wheel": found}
    if found is not None:
        # Not under /t/…: who installs is not signed in. The digest has pip refuse any other file.
        address = f"{portal}client/{found.name}"
        context |= {"address": address, "pinned": f"{address}#sha256={found.sha256}"}
    return show(request, "console/client", context)


@require_safe
def wheel(request: HttpRequest, name: str) -> HttpResponse:
    """The wheel itself. Open to everybody: pip cannot sign in, and it holds nothing but published source."""
    found = wheel_named(name)
    answer = HttpResponse(found.content, content_type="application/octet-stream")
    answer["Content-Disposition"] = f'attachment; filename="{found.name}"'
    # Another build may have the same name.
    answer["Cache-Control"] = "no-cache"
    return answer
