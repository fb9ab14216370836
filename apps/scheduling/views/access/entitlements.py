"""The operators' pages about who may hold what, and when: validity, default and special specs, resource tickets."""

from uuid import UUID

from django.contrib import messages
from django.db.models import Q
from django.http import HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.cases.models import Case
from apps.cases.types import CaseKind
from apps.identity.pages.access import cleaned, go, operator_page, paged, show
from apps.identity.pages.requests import PortalRequest
from apps.scheduling.forms.entitlements import (
    DefaultSpecForm,
    NewSpecialForm,
    SpecialForm,
    TicketFilterForm,
    ValidityForm,
    WhoseForm,
)
from apps.scheduling.models import ResourceTicket
from apps.scheduling.models.entitlements import UserAmounts
from apps.scheduling.permissions import TICKETS_OF_ALL
from apps.scheduling.permissions import SchedulingPermission as P
from apps.scheduling.selectors.entitlements.limits import limit_lines
from apps.scheduling.selectors.entitlements.resource_tickets import (
    default_spec_get,
    special_get,
    special_list,
    ticket_get_across,
    ticket_list_across,
    validity_get,
    validity_list,
)
from apps.scheduling.selectors.queues.group_queues import group_lines
from apps.scheduling.services.entitlements.access_rules import (
    default_spec_set,
    special_act,
    special_change,
    specials_make,
    validity_make,
    validity_remove,
)
from apps.scheduling.services.entitlements.resource_tickets import resource_ticket_act
from apps.scheduling.states import ResourceTicketState

_SPECIAL = ("name", *UserAmounts.ITEMS, "from_at", "until_at")


@operator_page(P.VIEW)
def group_queues(request: PortalRequest) -> HttpResponse:
    """The queues of resource groups with what each group has and may use; the default row sums them up
    (PLAT-AICFG-23)."""
    lines, total = group_lines()
    return show(request, "scheduling/group_queues", {"lines": [total, *lines], "live": ["pool"]})


# --- validity ----------------------------------------------------------------------------------------------------


@operator_page(P.VIEW, changes=P.MANAGE)
def validity(request: PortalRequest) -> HttpResponse:
    """When users may start work of each purpose (PLAT-AICFG-27 to 33)."""
    if request.method == "POST":
        validity_make(actor=request.actor, **cleaned(ValidityForm(request.POST)))
        messages.success(request, _("Rule created."))
        return go(request, "scheduling_admin:validity")
    context = {"rows": validity_list(), "form": ValidityForm(), "may_manage": request.actor.may(P.MANAGE)}
    return show(request, "scheduling/validity", context)


@operator_page(P.VIEW, changes=P.MANAGE)
def validity_rule(request: PortalRequest, pk: int) -> HttpResponse:
    """One rule, to be looked at or changed (PLAT-AICFG-32)."""
    row = validity_get(pk)
    if request.method == "POST":
        validity_make(actor=request.actor, rule=row, **cleaned(ValidityForm(request.POST)))
        messages.success(request, _("The rule is changed; the next start follows it."))
        return go(request, "scheduling_admin:validity")
    context = {"rule": row, "form": ValidityForm(rule=row), "may_manage": request.actor.may(P.MANAGE)}
    return show(request, "scheduling/validity_rule", context)


@require_POST
@operator_page(P.MANAGE)
def remove_validity(request: PortalRequest) -> HttpResponse:
    """One or several at once (PLAT-AICFG-33)."""
    count = validity_remove(
        actor=request.actor, pks=[int(pk) for pk in request.POST.getlist("rule") if pk.isdecimal()]
    )
    messages.success(request, _("%(count)s rules are removed; their limits have ended.") % {"count": count})
    return go(request, "scheduling_admin:validity")


# --- the three tiers -----------------------------------------------------------------------------------------------


@operator_page(P.VIEW, changes=P.MANAGE)
def default_spec(request: PortalRequest) -> HttpResponse:
    """What everybody may hold, and what a certain user may, by which tier (PLAT-CLU-31, PLAT-CLU-34)."""
    if request.method == "POST":
        default_spec_set(actor=request.actor, **cleaned(DefaultSpecForm(request.POST)))
        messages.success(request, _("The default spec is changed; it holds at once."))
        return go(request, "scheduling_admin:default_spec")
    row = default_spec_get()
    context = {
        "row": row,
        "form": DefaultSpecForm(initial=row.amounts),
        "whose": WhoseForm(),
        "may_manage": request.actor.may(P.MANAGE),
    }
    if request.GET.get("user"):
        given = WhoseForm(request.GET)
        chosen = cleaned(given)
        lines = limit_lines(chosen["tenant"], chosen["user"], timezone.now())
        context |= {"whose": given, "chosen": chosen, "lines": lines}
    return show(request, "scheduling/default_spec", context)


@operator_page(P.VIEW, changes=P.MANAGE)
def specials(request: PortalRequest) -> HttpResponse:
    """Special specifications of users and tenants (PLAT-CLU-35 to 41)."""
    if request.method == "POST":
        given = cleaned(NewSpecialForm(request.POST))
        tenant, users = given.pop("tenant"), given.pop("users")
        specials_make(actor=request.actor, tenant=tenant, users=users, given=given)
        messages.success(request, _("Special specification created."))
        return go(request, "scheduling_admin:specials")
    context = {
        "rows": paged(request, special_list()),
        "form": NewSpecialForm(),
        "may_manage": request.actor.may(P.MANAGE),
    }
    return show(request, "scheduling/specials", context)


@operator_page(P.VIEW, changes=P.MANAGE)
def special(request: PortalRequest, pk: int) -> HttpResponse:
    """One rule with all that was set, to be looked at or changed (PLAT-CLU-40, PLAT-CLU-41)."""
    row = special_get(pk)
    if request.method == "POST":
        special_change(actor=request.actor, pk=pk, **cleaned(SpecialForm(request.POST)))
        messages.success(request, _("The special specification is changed; it holds at once."))
        return go(request, "scheduling_admin:specials")
    form = SpecialForm(initial={name: getattr(row, name) for name in _SPECIAL})
    context = {"row": row, "form": form, "may_manage": request.actor.may(P.MANAGE)}
    return show(request, "scheduling/special", context)


@require_POST
@operator_page(P.MANAGE)
def act_special(request: PortalRequest, pk: int, act: str) -> HttpResponse:
    special_act(actor=request.actor, pk=pk, act=act)
    messages.success(request, _("The special specification is changed; it holds at once."))
    return go(request, "scheduling_admin:specials")


@operator_page(*TICKETS_OF_ALL)
def tickets(request: PortalRequest) -> HttpResponse:
    """The resource tickets of all tenants' users (PLAT-CLU-42)."""
    chosen = cleaned(TicketFilterForm(request.GET))
    rows = ticket_list_across()
    if chosen["state"]:
        rows = rows.filter(state=chosen["state"])
    if word := chosen["search"]:
        rows = rows.filter(
            Q(no__icontains=word)
            | Q(applicant__username__icontains=word)
            | Q(applicant__display_name__icontains=word)
        )
    states = [each for each in ResourceTicketState.choices if each[0] != ResourceTicketState.DELETED]
    context = {"rows": paged(request, rows), "chosen": chosen, "states": states}
    return show(request, "scheduling/tickets", context)


@operator_page(*TICKETS_OF_ALL)
def ticket(request: PortalRequest, uid: UUID) -> HttpResponse:
    """One ticket: what was asked, for when, by whom, and what was decided (PLAT-CLU-45)."""
    row = ticket_get_across(uid)
    context = {
        "ticket": row,
        "lines": limit_lines(row.tenant, row.user_id or row.applicant_id, timezone.now()),
        "decide_at": _where_decided(row),
        "may_manage": request.actor.may(P.MANAGE),
    }
    return show(request, "scheduling/ticket", context)


def _where_decided(row: ResourceTicket) -> str:
    """The address of the task in which it is decided; "" once it is."""
    task = Case.objects.of(row.tenant).filter(kind=CaseKind.TASK, no=row.no, is_open=True).first()
    return task.operator_link if task else ""


@require_POST
@operator_page(P.MANAGE)
def act_ticket(request: PortalRequest, uid: UUID, act: str) -> HttpResponse:
    row = resource_ticket_act(actor=request.actor, uid=uid, act=act)
    messages.success(request, _("%(no)s is changed; it holds at once.") % {"no": row.no})
    return go(request, "scheduling_admin:tickets")
