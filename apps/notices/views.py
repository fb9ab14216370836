from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.identity.pages.access import cleaned, go, page, paged, show
from apps.identity.pages.requests import PortalRequest
from apps.notices.forms import ChosenForm, MessageFilterForm
from apps.notices.selectors import message_get, message_list, message_unread_count
from apps.notices.services import message_delete, message_read, message_read_all


@page(plane="both")
def message_index(request: PortalRequest) -> HttpResponse:
    """The reader's messages (PLAT-TODO-15 to -18)."""
    chosen = cleaned(MessageFilterForm(request.GET))
    rows = paged(request, message_list(actor=request.actor, **chosen))
    return show(request, "notices/messages", {"rows": rows, "chosen": chosen})


@page(plane="both")
def bell(request: PortalRequest) -> HttpResponse:
    """The bell with its count: fetched again whenever a message comes."""
    return render(request, "notices/_bell.html", {"unread_count": message_unread_count(request.actor)})


@require_POST
@page(plane="both")
def message_open(request: PortalRequest, uid: UUID) -> HttpResponse:
    """Read a message and go where it points."""
    message_read(actor=request.actor, uids=[uid])
    return go(request, message_get(actor=request.actor, uid=uid).link or "notices:messages")


@require_POST
@page(plane="both")
def messages_mark(request: PortalRequest) -> HttpResponse:
    """Read or delete the chosen messages together."""
    given = cleaned(ChosenForm(request.POST))
    act = message_delete if given["act"] == "delete" else message_read
    act(actor=request.actor, uids=given["uid"])
    return go(request, "notices:messages")


@require_POST
@page(plane="both")
def messages_read_all(request: PortalRequest) -> HttpResponse:
    message_read_all(actor=request.actor)
    messages.success(request, _("All messages are read."))
    return go(request, "notices:messages")
