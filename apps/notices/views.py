from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from apps.identity.pages.access import cleaned, go, page
from apps.identity.pages.lists.acts import ListAct, act_on_each, chosen_rows
from apps.identity.pages.lists.declared import Column, PageList
from apps.identity.pages.lists.pages import show_list
from apps.identity.pages.requests import PortalRequest
from apps.notices.forms import MessageFilterForm
from apps.notices.selectors import message_get, message_list, message_unread_count
from apps.notices.services import message_delete, message_read, message_read_all

MESSAGES = PageList(
    Column("message", gettext_lazy("Message"), value="title"),
    Column("read", gettext_lazy("Read"), sort="read_at", value="is_read", is_extra=True),
    Column("time", gettext_lazy("Time"), sort="created_at", value="created_at"),
    order="-time",
)


@page(plane="both")
def message_index(request: PortalRequest) -> HttpResponseBase:
    """The reader's messages (PLAT-TODO-15 to -18)."""
    chosen = cleaned(MessageFilterForm(request.GET))
    acts = [
        ListAct(reverse("notices:read"), gettext_lazy("Mark as read"), "checks"),
        ListAct(reverse("notices:delete"), gettext_lazy("Delete"), "trash", is_danger=True),
    ]
    rows = message_list(actor=request.actor, **chosen)
    return show_list(request, "notices/messages", MESSAGES, rows, {"chosen": chosen, "acts": acts})


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
def messages_read(request: PortalRequest) -> HttpResponse:
    """Mark the chosen messages as read."""
    return _on_chosen(request, message_read)


@require_POST
@page(plane="both")
def messages_delete(request: PortalRequest) -> HttpResponse:
    """Delete the chosen messages."""
    return _on_chosen(request, message_delete)


def _on_chosen(request: PortalRequest, act: Callable[..., int]) -> HttpResponse:
    rows = message_list(actor=request.actor).filter(uid__in=chosen_rows(request)["chosen"])
    return act_on_each(
        request,
        list(rows),
        lambda row: act(actor=request.actor, uids=[row.uid]),
        back=reverse("notices:messages"),
    )


@require_POST
@page(plane="both")
def messages_read_all(request: PortalRequest) -> HttpResponse:
    message_read_all(actor=request.actor)
    messages.success(request, _("All messages are read."))
    return go(request, "notices:messages")
