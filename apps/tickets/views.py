"""My tickets, a new one by its category's form, and one ticket with what either side may do with it now. Who delivers
what a ticket is for carries that out."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from apps.identity.pages.access import cleaned, go, page, show
from apps.identity.pages.lists.declared import Column, PageList, ranked
from apps.identity.pages.lists.pages import show_list
from apps.identity.pages.requests import TenantRequest
from apps.kernel.actor import Actor
from apps.kernel.attached_files import FILES_MAX, KINDS, file_answer
from apps.kernel.errors import InvalidInput
from apps.kernel.translatable import localized
from apps.ticketing.selectors import categories_offered, category_list, path_names
from apps.ticketing.states import FieldState
from apps.ticketing.ticket_form import values_begin
from apps.ticketing.ticket_steps import step_after, step_before, step_called, step_name
from apps.tickets.forms import HandOverForm, RateForm, TextForm, TicketForm, TicketsForm
from apps.tickets.models import Ticket
from apps.tickets.permissions import TicketsPermission as P
from apps.tickets.selectors import (
    category_offered,
    colleagues_of,
    fields_shown,
    is_handling,
    is_meant_for,
    receiver_shown,
    side_of,
    steps_known,
    ticket_file_get,
    ticket_get,
    ticket_list,
)
from apps.tickets.services.by_hand import (
    ticket_ask,
    ticket_close,
    ticket_comment,
    ticket_fields_write,
    ticket_file_add,
    ticket_finish,
    ticket_rate,
    ticket_reopen,
    ticket_reply,
    ticket_step_back,
    ticket_submit,
)
from apps.tickets.services.life import ticket_claim, ticket_hand_over, ticket_return
from apps.tickets.states import TicketState

TICKETS = PageList(
    Column("no", gettext_lazy("Number"), sort="no", value="no"),
    Column("subject", gettext_lazy("Subject"), sort=lambda: localized("title_zh", "title_en"), value="title"),
    Column("category", gettext_lazy("Category"), sort="category__path", value="category.name", is_extra=True),
    Column(
        "person", gettext_lazy("Submitted by"), sort="submitter_name", value="submitter_name", is_extra=True
    ),
    Column(
        "state", gettext_lazy("State"), sort=ranked("state", TicketState.values), value="get_state_display"
    ),
    Column("due", gettext_lazy("Due"), sort="solve_due_at", value="solve_due_at"),
    Column("time", gettext_lazy("Time"), sort="created_at", value="created_at"),
    usual={"tab": "submitted"},
)


@page()
def tickets(request: TenantRequest) -> HttpResponseBase:
    """The reader's work tickets (PLAT-TODO-8, -9, -14)."""
    chosen = cleaned(TicketsForm(request.GET))
    context = {
        "chosen": chosen,
        "states": TicketState.choices,
        "categories": path_names(category_list()),
        "may_open": request.actor.may(P.OPEN),
    }
    rows = ticket_list(actor=request.actor, **chosen)
    return show_list(request, "tickets/tickets", TICKETS, rows, context)


@page(P.OPEN)
def new(request: TenantRequest) -> HttpResponse:
    """The categories in which a ticket can be opened (PLAT-CFG-27)."""
    return show(request, "tickets/choose", {"categories": path_names(categories_offered())})


@require_http_methods(["GET", "HEAD", "POST"])
@page(P.OPEN)
def new_in(request: TenantRequest, uid: UUID) -> HttpResponse:
    """The form of one category; sent, the ticket goes to its receiver."""
    category = category_offered(uid)
    if request.method == "POST":
        row = ticket_submit(
            actor=request.actor,
            category_uid=uid,
            **cleaned(TicketForm(request.POST)),
            data=_data_of(request.POST),
            files=request.FILES.getlist("files"),
        )
        messages.success(
            request,
            _("The ticket %(no)s is sent to %(receiver)s.") % {"no": row.no, "receiver": receiver_shown(row)},
        )
        return go(request, "tickets:ticket", row.uid)
    begun = values_begin(category.fields)
    context = {
        "category": category,
        "name": path_names([category])[0][0],
        "fields": [
            (field, begun.get(field["name"], ""), field["opening"] == FieldState.READ_WRITE)
            for field in category.fields
            if field["opening"] != FieldState.HIDDEN
        ],
        "step": "opening",
        "accepted": ",".join(KINDS),
        "most_files": FILES_MAX,
    }
    return show(request, "tickets/new", context)


def _data_of(sent: Mapping[str, str]) -> dict[str, Any]:
    """The values of a ticket's form, sent as `data_<name>`."""
    return {name.removeprefix("data_"): sent[name] for name in sent if name.startswith("data_")}


@page()
def ticket(request: TenantRequest, uid: UUID) -> HttpResponse:
    """One ticket and what may be done with it (PLAT-TODO-10 to -13)."""
    row = ticket_get(actor=request.actor, uid=uid)
    context = {
        "ticket": row,
        "receiver": receiver_shown(row),
        "steps": [(step_name(step), step["key"] == row.step) for step in row.steps],
        "fields": fields_shown(request.actor, row),
        "entries": row.entries.all(),
        "files": row.files.all(),
        "accepted": ",".join(KINDS),
        "live": [row.topic],
        **_offered(request.actor, row),
    }
    return show(request, "tickets/ticket", context)


def _offered(actor: Actor, row: Ticket) -> dict[str, Any]:
    """What the reader may do with a ticket now."""
    is_mine = row.assignee_id is not None and row.assignee_id == actor.user_id
    is_asker = row.submitter_id == actor.user_id
    may_work = actor.may(P.WORK) and row.side == side_of(actor)
    works = row.state == TicketState.DELIVERING and is_mine and may_work
    by_hand, may_open = row.is_by_hand, actor.may(P.OPEN)
    hands = row.state == TicketState.DELIVERING and not row.executed_at
    found = {
        "may_claim": row.state == TicketState.WAITING and may_work and is_meant_for(actor, row),
        "is_mine": works,
        "may_finish": works and by_hand,
        "next_step": step_called(row.steps, step_after(row.steps, row.step, steps_known(row))),
        "step_before": step_called(row.steps, step_before(row.steps, row.step, steps_known(row))),
        "may_hand_over": hands and may_work and (works or actor.may(P.MANAGE)),
        "may_reply": row.state == TicketState.ASKED and is_asker and may_open,
        "may_close": by_hand and is_asker and may_open and row.state not in (TicketState.CLOSED, TicketState.FAILED),
        "may_reopen": by_hand and is_asker and may_open and row.state == TicketState.DONE,
        "may_rate": is_asker and row.rating is None and bool(row.done_at)
        and row.state in (TicketState.DONE, TicketState.CLOSED),
        "may_write": row.state not in (TicketState.CLOSED, TicketState.FAILED)
        and (is_asker or is_mine or (actor.may(P.WORK) and is_handling(actor, row))),
    }  # fmt: skip
    return found | {"colleagues": colleagues_of(row) if found["may_hand_over"] else []}


# --- acts ------------------------------------------------------------------------------------------------------


@require_POST
@page(P.WORK)
def claim(request: TenantRequest, uid: UUID) -> HttpResponse:
    row = ticket_claim(actor=request.actor, ticket_uid=uid)
    messages.success(request, _("The ticket %(no)s is yours.") % {"no": row.no})
    return go(request, "tickets:ticket", row.uid)


@require_POST
@page(P.WORK)
def give_back(request: TenantRequest, uid: UUID) -> HttpResponse:
    row = ticket_return(actor=request.actor, ticket_uid=uid)
    messages.success(request, _("The ticket %(no)s waits for somebody else.") % {"no": row.no})
    return go(request, "tickets:tickets")


@require_POST
@page(P.WORK)
def hand_over(request: TenantRequest, uid: UUID) -> HttpResponse:
    given = cleaned(HandOverForm(request.POST))
    row = ticket_hand_over(actor=request.actor, ticket_uid=uid, user_uid=given["user"], text=given["text"])
    messages.success(
        request, _("The ticket %(no)s is now with %(name)s.") % {"no": row.no, "name": row.assignee}
    )
    return go(request, "tickets:ticket", row.uid)


def _said(
    request: TenantRequest, uid: UUID, act: Callable[..., Ticket], done: str, **more: Any
) -> HttpResponse:
    """Do what takes a text, and say so on the ticket's page."""
    row = act(actor=request.actor, ticket_uid=uid, **cleaned(TextForm(request.POST)), **more)
    messages.success(request, done)
    return go(request, "tickets:ticket", row.uid)


@require_POST
@page()
def comment(request: TenantRequest, uid: UUID) -> HttpResponse:
    return _said(request, uid, ticket_comment, _("The other side is told."))


@require_POST
@page(P.WORK)
def ask(request: TenantRequest, uid: UUID) -> HttpResponse:
    return _said(request, uid, ticket_ask, _("Your question is sent; the clock stands until the answer."))


@require_POST
@page(P.WORK)
def finish(request: TenantRequest, uid: UUID) -> HttpResponse:
    """Done; before the last step, with those of the next."""
    text = cleaned(TextForm(request.POST))
    row = ticket_finish(actor=request.actor, ticket_uid=uid, **text, data=_data_of(request.POST))
    if row.state == TicketState.DONE:
        messages.success(request, _("The ticket is done."))
    else:
        said = _("The ticket %(no)s goes on to %(receiver)s: %(step)s.")
        names = {"no": row.no, "receiver": receiver_shown(row), "step": row.step_name}
        messages.success(request, said % names)
    return go(request, "tickets:ticket", uid)


@require_POST
@page(P.WORK)
def step_back(request: TenantRequest, uid: UUID) -> HttpResponse:
    return _said(request, uid, ticket_step_back, _("The ticket is back at the step before."))


@require_POST
@page(P.WORK)
def write(request: TenantRequest, uid: UUID) -> HttpResponse:
    """What the form holds so far."""
    row = ticket_fields_write(actor=request.actor, ticket_uid=uid, data=_data_of(request.POST))
    messages.success(request, _("The fields are kept."))
    return go(request, "tickets:ticket", row.uid)


@require_POST
@page(P.OPEN)
def reply(request: TenantRequest, uid: UUID) -> HttpResponse:
    return _said(request, uid, ticket_reply, _("Your answer is sent."), data=_data_of(request.POST))


@require_POST
@page(P.OPEN)
def reopen(request: TenantRequest, uid: UUID) -> HttpResponse:
    return _said(request, uid, ticket_reopen, _("The ticket waits again."))


@require_POST
@page(P.OPEN)
def close(request: TenantRequest, uid: UUID) -> HttpResponse:
    row = ticket_close(actor=request.actor, ticket_uid=uid)
    messages.success(request, _("The ticket is closed."))
    return go(request, "tickets:ticket", row.uid)


@require_POST
@page()
def rate(request: TenantRequest, uid: UUID) -> HttpResponse:
    row = ticket_rate(actor=request.actor, ticket_uid=uid, **cleaned(RateForm(request.POST)))
    messages.success(request, _("Thank you: your rating is kept."))
    return go(request, "tickets:ticket", row.uid)


@require_POST
@page()
def attach(request: TenantRequest, uid: UUID) -> HttpResponse:
    file = request.FILES.get("file")
    if file is None:
        raise InvalidInput(_("No file was sent."), cure=_("Choose a file first."))
    row = ticket_file_add(actor=request.actor, ticket_uid=uid, file=file)
    messages.success(request, _("%(name)s is added.") % {"name": row.name})
    return go(request, "tickets:ticket", uid)


@page()
def file(request: TenantRequest, uid: UUID) -> HttpResponseBase:
    """Download a file, or view it online with `?view=1` where a browser can without running anything."""
    return file_answer(ticket_file_get(actor=request.actor, uid=uid), is_inline="view" in request.GET)
