"""The pages of the help: its documents, the API, and what is new."""

from django.conf import settings
from django.http import HttpResponse
from django.urls import get_script_prefix
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_POST, require_safe

from apps.console.help import api_reference
from apps.console.help.documents import Shown, document_shown, documents_for, news_shown, search
from apps.console.help.examples import call_examples
from apps.identity.pages.access import page, show
from apps.identity.pages.requests import PortalRequest
from apps.identity.services.reading import news_read
from apps.kernel.errors import NotFound


@require_safe
@page(plane="both")
def index(request: PortalRequest) -> HttpResponse:
    """All documents, and the parts of them in which what is searched for stands."""
    question = request.GET.get("search", "").strip()[:200]
    context = {
        "documents": documents_for(request.actor),
        "question": question,
        "hits": search(request.actor, question),
        "operations": api_reference.operations_found(question)[:10] if question else [],
    }
    return show(request, "console/help/index", context)


@require_safe
@page(plane="both")
def document(request: PortalRequest, slug: str) -> HttpResponse:
    """One document with its contents."""
    shown = document_shown(request.actor, slug)
    return show(request, "console/help/document", _context(request, shown))


@require_safe
@page(plane="both")
def whats_new(request: PortalRequest) -> HttpResponse:
    """What each version has changed."""
    context = _context(request, news_shown()) | {"version": settings.WEIR_VERSION}
    return show(request, "console/help/whats_new", context)


@require_POST
@page(plane="both")
def whats_new_read(request: PortalRequest) -> HttpResponse:
    """The reader has opened what is new: it is no longer marked."""
    news_read(actor=request.actor, version=settings.WEIR_VERSION)
    return HttpResponse(status=204)


@require_safe
@page(plane="both")
def api(request: PortalRequest) -> HttpResponse:
    """The API by what its calls are about, and the calls in which what is searched for stands."""
    question = request.GET.get("search", "").strip()[:200]
    context = {
        "groups": api_reference.groups(),
        "question": question,
        "found": api_reference.operations_found(question),
    }
    return show(request, "console/help/api", context)


@require_safe
@page(plane="both")
def api_group(request: PortalRequest, group: str) -> HttpResponse:
    """The calls about one kind of thing."""
    return show(request, "console/help/api_group", {"group": api_reference.group_get(group)})


@require_safe
@page(plane="both")
def api_operation(request: PortalRequest, group: str, operation: str) -> HttpResponse:
    """One call: what it takes and answers, examples of it, and a form that tries it as the reader."""
    found = api_reference.group_get(group)
    for one in found.operations:
        if one.id == operation:
            context = {
                "group": found,
                "operation": one,
                "examples": call_examples(one.method, one.path, _portal(request), one.example),
                "root": get_script_prefix().rstrip("/"),
            }
            return show(request, "console/help/api_operation", context)
    raise NotFound()


def _context(request: PortalRequest, shown: Shown) -> dict[str, object]:
    return {
        "document": shown.document,
        "contents": shown.rendered.contents,
        "body": _at_home(request, shown),
        "is_foreign": shown.is_foreign,
        "documents": documents_for(request.actor),
    }


def _portal(request: PortalRequest) -> str:
    return request.build_absolute_uri("/").rstrip("/")


def _at_home(request: PortalRequest, shown: Shown) -> SafeString:
    """The examples' address is the reader's portal, and their name is his: the lines work as they are copied."""
    body = str(shown.rendered.body)
    if not shown.document.is_for_operators:
        portal = escape(_portal(request))
        body = body.replace("http://localhost:8000", portal)
        body = body.replace("-u alice", f"-u {escape(request.user.get_username())}")
    return mark_safe(body)
