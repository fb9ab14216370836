"""The operators' pages of ticket categories with their forms and rules (PLAT-CFG-25 to -29), and of working hours."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from apps.identity.pages.access import cleaned, go, operator_page, show
from apps.identity.pages.requests import PortalRequest
from apps.ticketing.forms import (
    SPANS_A_DAY,
    WEEKDAYS,
    CategoryForm,
    FieldForm,
    RuleForm,
    SpecialDaysForm,
    StepForm,
    day_of,
    spans_of,
)
from apps.ticketing.models import RoutingRule, TicketCategory
from apps.ticketing.permissions import TicketingPermission as P
from apps.ticketing.selectors import (
    calendar_now,
    category_get,
    category_list,
    path_names,
    receiver_text,
    special_day_list,
    steps_of,
    working_hours_list,
)
from apps.ticketing.services.calendar import special_day_remove, special_days_set, working_hours_set
from apps.ticketing.services.categories import (
    LEVELS_MOST,
    category_change,
    category_create,
    category_delete,
    category_field_put,
    category_field_remove,
    rule_add,
    rule_remove,
)
from apps.ticketing.services.steps import category_step_earlier, category_step_put, category_step_remove
from apps.ticketing.states import Builtin, FieldKind, FieldState
from apps.ticketing.ticket_form import label_of
from apps.ticketing.ticket_steps import step_name

_BOTH = ["GET", "HEAD", "POST"]


@operator_page(P.MANAGE)
def categories(request: PortalRequest) -> HttpResponse:
    """All categories in their tree, each with to whom its tickets go."""
    rows = [(row, [receiver_text(rule) for rule in row.rules.all()]) for row in category_list()]
    return show(request, "ticketing/categories", {"rows": rows})


@require_http_methods(_BOTH)
@operator_page(P.MANAGE)
def category_new(request: PortalRequest, uid: UUID) -> HttpResponse:
    """A category below another."""
    parent = category_get(uid)
    if request.method == "POST":
        form = CategoryForm(request.POST)
        cleaned(form)
        changes = form.changes()
        names = {name: changes.pop(name) for name in ("name_zh", "name_en")}
        row = category_create(actor=request.actor, parent=parent, **names, changes=changes)
        messages.success(
            request, _("The category is made: say what its form asks for and to whom its tickets go.")
        )
        return go(request, "ticketing:category", row.uid)
    context = {"parent": parent, "path": path_names([parent])[0][0], "form": CategoryForm()}
    return show(request, "ticketing/category_new", context)


@require_http_methods(_BOTH)
@operator_page(P.MANAGE)
def category(request: PortalRequest, uid: UUID) -> HttpResponse:
    """One category: names and targets, the fields of its form, its rules; `?field=` opens one of the fields."""
    row = category_get(uid)
    if request.method == "POST":
        form = CategoryForm(request.POST, category=row)
        cleaned(form)
        category_change(actor=request.actor, category_uid=uid, changes=form.changes())
        messages.success(request, _("The category is saved."))
        return go(request, "ticketing:category", uid)
    opened = next((field for field in row.fields if field["name"] == request.GET.get("field")), None)
    steps = steps_of(row)
    context = {
        "category": row,
        "path": path_names([row])[0][0],
        "form": CategoryForm(category=row),
        "steps": [(number, step["key"], step_name(step)) for number, step in enumerate(row.steps, 1)],
        "steps_above": [] if row.steps else [step_name(step) for step in steps],
        "may_have_steps": row.builtin != Builtin.SERVICE,
        "step_form": StepForm(auto_id="step_%s"),
        "fields": [_in_words(field) for field in row.fields],
        "field": opened,
        "field_form": FieldForm(field=opened, steps=steps),
        "rules": _rules_in_words(row, steps),
        "rule_form": RuleForm(category=row),
        "may_have_below": row.path.startswith(Builtin.OPERATIONS) and row.depth + 1 < LEVELS_MOST,
    }
    return show(request, "ticketing/category", context)


def _rules_in_words(
    row: TicketCategory, steps: list[dict[str, Any]]
) -> list[tuple[RoutingRule, str, str, str]]:
    """Each rule with its step, on what it depends, and to whom it sends, in the order of the steps."""
    keys = [step["key"] for step in steps]
    names = [step_name(step) for step in steps] or [""]
    found = []
    for rule in row.rules.all():
        place = keys.index(rule.step) if rule.step in keys else 0
        found.append((place, rule, names[place], _when(row, rule.field, rule.value), receiver_text(rule)))
    return [one[1:] for one in sorted(found, key=lambda one: one[0])]


def _in_words(field: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": field["name"],
        "label": label_of(field),
        "kind": FieldKind(field["kind"]).label,
        "opening": FieldState(field["opening"]).label,
        "handling": FieldState(field["handling"]).label,
        "at_steps": len(field.get("steps", {})),
        "is_required": field["is_required"],
    }


def _when(row: TicketCategory, name: str, value: str) -> str:
    """On what a rule depends, in words."""
    found = next((field for field in row.fields if field["name"] == name), None)
    return f"{label_of(found)}: {value}" if found else _("Always")


@require_POST
@operator_page(P.MANAGE)
def delete(request: PortalRequest, uid: UUID) -> HttpResponse:
    category_delete(actor=request.actor, category_uid=uid)
    messages.success(request, _("The category is deleted."))
    return go(request, "ticketing:categories")


@require_POST
@operator_page(P.MANAGE)
def field_put(request: PortalRequest, uid: UUID) -> HttpResponse:
    """A new field, or `name` anew."""
    form = FieldForm(request.POST, steps=steps_of(category_get(uid)))
    cleaned(form)
    name = request.POST.get("name", "")
    category_field_put(actor=request.actor, category_uid=uid, name=name, field=form.given())
    messages.success(request, _("The field is saved: new tickets ask for it."))
    return go(request, "ticketing:category", uid)


@require_POST
@operator_page(P.MANAGE)
def field_remove(request: PortalRequest, uid: UUID) -> HttpResponse:
    category_field_remove(actor=request.actor, category_uid=uid, name=request.POST.get("name", ""))
    messages.success(request, _("New tickets do not ask for the field."))
    return go(request, "ticketing:category", uid)


@require_POST
@operator_page(P.MANAGE)
def rule_new(request: PortalRequest, uid: UUID) -> HttpResponse:
    form = RuleForm(request.POST, category=category_get(uid))
    cleaned(form)
    rule_add(actor=request.actor, category_uid=uid, **form.rule())
    messages.success(request, _("The next ticket goes by this rule."))
    return go(request, "ticketing:category", uid)


@require_POST
@operator_page(P.MANAGE)
def rule_delete(request: PortalRequest, uid: UUID) -> HttpResponse:
    row = rule_remove(actor=request.actor, rule_uid=uid)
    messages.success(request, _("The rule is removed."))
    return go(request, "ticketing:category", row.uid)


# --- steps -----------------------------------------------------------------------------------------------------


@require_POST
@operator_page(P.MANAGE)
def step_put(request: PortalRequest, uid: UUID) -> HttpResponse:
    """A step after the others, or `key` by another name."""
    given = cleaned(StepForm(request.POST))
    category_step_put(actor=request.actor, category_uid=uid, key=request.POST.get("key", ""), **given)
    messages.success(request, _("The step is saved: say to whom tickets go at it."))
    return go(request, "ticketing:category", uid)


@require_POST
@operator_page(P.MANAGE)
def step_remove(request: PortalRequest, uid: UUID) -> HttpResponse:
    category_step_remove(actor=request.actor, category_uid=uid, key=request.POST.get("key", ""))
    messages.success(request, _("The step is removed: tickets that are open leave it out."))
    return go(request, "ticketing:category", uid)


@require_POST
@operator_page(P.MANAGE)
def step_earlier(request: PortalRequest, uid: UUID) -> HttpResponse:
    category_step_earlier(actor=request.actor, category_uid=uid, key=request.POST.get("key", ""))
    return go(request, "ticketing:category", uid)


# --- working hours -----------------------------------------------------------------------------------------------


@require_http_methods(_BOTH)
@operator_page(P.MANAGE)
def hours(request: PortalRequest) -> HttpResponse:
    """When the centre works: the due times of tickets count these hours alone."""
    if request.method == "POST":
        working_hours_set(actor=request.actor, spans=spans_of(request.POST))
        messages.success(request, _("The working hours are saved: new tickets are due by them."))
        return go(request, "ticketing:hours")
    kept: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
    for row in working_hours_list():
        kept[row.weekday].append((f"{row.opens:%H:%M}", f"{row.closes:%H:%M}"))
    empty = [("", "")] * SPANS_A_DAY
    calendar = calendar_now()
    context = {
        "week": [(number, day, (kept[number] + empty)[:SPANS_A_DAY]) for number, day in WEEKDAYS],
        "is_always": calendar.is_always,
        "zone": str(calendar.zone),
        "days": [
            (row, None if row.weekday is None else dict(WEEKDAYS)[row.weekday]) for row in special_day_list()
        ],
        "form": SpecialDaysForm(),
    }
    return show(request, "ticketing/hours", context)


@require_POST
@operator_page(P.MANAGE)
def days_new(request: PortalRequest) -> HttpResponse:
    given = cleaned(SpecialDaysForm(request.POST))
    rows = special_days_set(actor=request.actor, **{**given, "last": given["last"] or given["first"]})
    messages.success(request, _("%(count)s special days are kept.") % {"count": len(rows)})
    return go(request, "ticketing:hours")


@require_POST
@operator_page(P.MANAGE)
def day_delete(request: PortalRequest) -> HttpResponse:
    special_day_remove(actor=request.actor, day=day_of(request.POST.get("day", "")))
    return go(request, "ticketing:hours")
