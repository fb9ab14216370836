"""The operators' watching pages: the pool's log, the alarm centre, the statistics centre."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.console.alarms import preview
from apps.console.alarms.preview import DraftRule
from apps.console.alarms.steps import alarm_link, alarm_steps, alarm_subject
from apps.console.alarms.subjects import subjects_offered
from apps.console.operations import capacity as planning
from apps.console.operations import charts
from apps.console.operations.answers import CODES as ANSWER_CODES
from apps.console.operations.answers import answer, answers
from apps.console.operations.log_sentences import names_of, names_put
from apps.console.operations.watching_forms import (
    QUESTIONS,
    SPANS,
    LogsForm,
    RouteForm,
    RuleEditForm,
    RuleForm,
    RulePreviewForm,
    StatisticsForm,
)
from apps.console.reports.base import period
from apps.console.reports.names import report_named
from apps.console.reports.table import COLUMNS, REPORTS, report_rows
from apps.identity.models import OperatorRole
from apps.identity.pages.access import cleaned, go, operator_page, paged, show
from apps.identity.pages.lists.declared import Column, PageList
from apps.identity.pages.lists.pages import show_list
from apps.identity.pages.requests import PortalRequest
from apps.kernel.errors import InvalidInput
from apps.rollouts.views import kind_label
from apps.telemetry import selectors as read
from apps.telemetry.alarm_metrics import METRICS
from apps.telemetry.exports import exported
from apps.telemetry.services.routes import route_edit, route_make, route_remove, route_try
from apps.telemetry.services.rules import rule_delete, rule_edit, rule_make
from apps.telemetry.states import AlarmLevel, AlarmState, Comparison, HookKind, LogLevel

LOGS_PER_PAGE = 50


def _query(chosen: dict[str, Any]) -> str:
    """What was chosen, for the address of a file: instants as the forms read them."""
    given = {name: value for name, value in chosen.items() if value not in (None, "")}
    return urlencode(
        {name: getattr(value, "isoformat", lambda value=value: value)() for name, value in given.items()}
    )


# --- the log ---------------------------------------------------------------------------------------------------


LOG = PageList(
    Column("time", gettext_lazy("Time"), value="at"),
    Column("severity", gettext_lazy("Severity"), value="get_level_display"),
    Column(
        "component", gettext_lazy("Component"), value=lambda row: row.component and kind_label(row.component)
    ),
    Column("node", gettext_lazy("Node"), value="node"),
    Column("text", gettext_lazy("Text"), value="text"),
    Column("task", gettext_lazy("Task"), value="task", is_extra=True),
    Column("tenant", gettext_lazy("Tenant"), value="tenant", is_extra=True),
    Column("priority", gettext_lazy("Task priority"), value="priority"),
    keyset="at",
)


@operator_page("logs.view")
def logs(request: PortalRequest) -> HttpResponseBase:
    """The pool's log by severity, task, priority, component, node and time (POOL-12.18)."""
    chosen = cleaned(LogsForm(request.GET))
    context = {
        "chosen": chosen,
        "levels": LogLevel.choices,
        "components": read.log_components(),
    }
    rows = read.log_list(**chosen)
    return show_list(request, "telemetry/logs", LOG, rows, context, per_page=LOGS_PER_PAGE, prepare=names_put)


@operator_page("logs.view")
def log_entry(request: PortalRequest, pk: int) -> HttpResponse:
    """One line with all that is known of it."""
    row = read.log_get(pk)
    return show(request, "telemetry/log_entry", {"row": row, "names": names_of([row.text])})


# --- alarms ----------------------------------------------------------------------------------------------------


@operator_page("alarms.view")
def alarm(request: PortalRequest, uid: UUID) -> HttpResponse:
    """One alarm: its rule, its times, whom it was told, what to do about it."""
    row = read.alarm_get(uid)
    link = alarm_link(row) if request.actor.may("fleet.view") else ""
    help_on = {"link": link, "subject": alarm_subject(row), "steps": alarm_steps(row)}
    return show(
        request, "telemetry/alarm", {"row": row, "role_names": _role_names(), "live": ["alarms"], **help_on}
    )


def _role_names() -> dict[str, str]:
    is_zh = (get_language() or "").startswith("zh")
    return {row.code: row.name_zh if is_zh else row.name_en for row in OperatorRole.objects.all()}


@operator_page("alarms.view")
def rules(request: PortalRequest) -> HttpResponse:
    """When alarms are raised."""
    return show(request, "telemetry/rules", {"rows": read.rule_list()})


@operator_page("alarms.manage")
def rule_new(request: PortalRequest) -> HttpResponse:
    """Watch another metric, or one subject apart."""
    if request.method == "POST":
        form = RuleForm(request.POST)
        given = cleaned(form)
        changes = form.changes(given, is_event=False)
        row = rule_make(actor=request.actor, code=given["code"], metric=given["metric"], **changes)
        messages.success(request, _("Rule %(code)s holds from now on.") % {"code": row.code})
        return go(request, "operator:rules")
    metrics = [metric for metric in METRICS.values() if not metric.is_event]
    context = {"metrics": metrics, **_choices()}
    return show(request, "telemetry/rule", context)


@operator_page("alarms.manage")
def rule(request: PortalRequest, code: str) -> HttpResponse:
    """Edit a rule; the new figures hold at once."""
    row = read.rule_get(code)
    if request.method == "POST":
        form = RuleEditForm(request.POST)
        changes = form.changes(cleaned(form), is_event=row.is_event)
        rule_edit(actor=request.actor, code=code, changes=changes)
        messages.success(request, _("Rule %(code)s is changed.") % {"code": code})
        return go(request, "operator:rules")
    context = {"row": row, "open_count": row.alarms.exclude(state=AlarmState.RESOLVED).count(), **_choices()}
    return show(request, "telemetry/rule", context)


@operator_page("alarms.manage")
def rule_preview(request: PortalRequest) -> HttpResponse:
    """How often the rule in the form would have fired, on what: asked before it is saved."""
    form = RulePreviewForm(request.GET)
    if not form.is_valid():
        return show(request, "telemetry/rule_preview", {"wants": True})
    given = form.cleaned_data
    asked = DraftRule(**given | {"for_s": given["for_s"] or 0})
    found = preview.rule_preview(asked)
    metric = METRICS[asked.metric]
    option = charts.threshold_option(
        found.points,
        name=found.shown,
        threshold=asked.threshold,
        is_above=asked.comparison in (Comparison.GT, Comparison.GE),
        unit=metric.unit,
    )
    context = {
        "found": found,
        "metric": metric,
        "days": asked.days,
        "option": option if found.points else None,
        "most": found.fired[:8],
        "others": len(found.fired[8:]),
    }
    return show(request, "telemetry/rule_preview", context)


def _choices() -> dict[str, Any]:
    """What the form of a rule is chosen from."""
    return {
        "comparisons": Comparison.choices,
        "severities": AlarmLevel.choices,
        "subjects": subjects_offered(),
    }


@require_POST
@operator_page("alarms.manage")
def rule_remove(request: PortalRequest, code: str) -> HttpResponse:
    """Take a rule away; its open alarms end."""
    rule_delete(actor=request.actor, code=code)
    messages.success(request, _("Rule %(code)s is deleted.") % {"code": code})
    return go(request, "operator:rules")


@require_POST
@operator_page("alarms.manage")
def rule_switch(request: PortalRequest, code: str) -> HttpResponse:
    """Enable a disabled rule, disable an enabled one."""
    is_enabled = request.POST.get("is_enabled") == "1"
    rule_edit(actor=request.actor, code=code, changes={"is_enabled": is_enabled})
    told = _("Rule %(code)s is enabled.") if is_enabled else _("Rule %(code)s is disabled: it is silent.")
    messages.success(request, told % {"code": code})
    return go(request, "operator:rules")


@operator_page("alarms.view", changes="alarms.manage")
def routes(request: PortalRequest) -> HttpResponse:
    """Who is told of alarms and how, and what was told."""
    if request.method == "POST":
        route_make(actor=request.actor, **cleaned(RouteForm(request.POST)))
        messages.success(request, _("Alarms are told over this route from now on."))
        return go(request, "operator:routes")
    context = {
        "routes": read.route_list(),
        "rows": paged(request, read.delivery_list()),
        "severities": AlarmLevel.choices,
        "hook_kinds": HookKind.choices,
        "roles": OperatorRole.objects.all(),
        "role_names": _role_names(),
        "live": ["alarms"],
    }
    return show(request, "telemetry/routes", context)


@require_POST
@operator_page("alarms.manage")
def route_switch(request: PortalRequest, uid: UUID) -> HttpResponse:
    """Switch a route on or off, try it, or remove it."""
    act = request.POST.get("act")
    if act == "try":
        route_try(actor=request.actor, route_uid=uid)
        messages.success(request, _("The test was taken: look whether it has come."))
    elif act == "remove":
        route_remove(actor=request.actor, route_uid=uid)
        messages.success(request, _("The route is removed."))
    else:
        route_edit(actor=request.actor, route_uid=uid, changes={"is_enabled": act == "enable"})
    return go(request, "operator:routes")


# --- statistics ------------------------------------------------------------------------------------------------


@operator_page("reports.view")
def statistics(request: PortalRequest) -> HttpResponse:
    """Five questions and their answers; resources, tasks, operations and energy in full (POOL-12.21)."""
    chosen = cleaned(StatisticsForm(request.GET))
    over = period(chosen["from_at"], chosen["to_at"])
    asked = {"report": chosen["report"], "span": "own", "from_at": over.from_at, "to_at": over.to_at}
    context = {"chosen": chosen, "over": over, "spans": SPANS, "export": _query(asked)}
    if chosen["report"] == QUESTIONS:
        context["answers"] = answers(over)
    else:
        report = report_named(REPORTS[chosen["report"]](over))
        context |= {
            "report": report,
            "option": charts.report_option(report),
            "power": _power_option() if chosen["report"] == "energy" else None,
        }
    return show(request, "telemetry/statistics", context)


def _power_option() -> dict[str, Any] | None:
    """The pool's power of the last day."""
    since = timezone.now() - timedelta(days=1)
    points = read.series_get(series="power_w", subject="pool", since=since)
    return charts.line_option(
        [(timezone.localtime(at).strftime("%H:%M:%S"), value) for at, value in points], "W"
    )


@operator_page("reports.view")
def statistics_export(request: PortalRequest) -> StreamingHttpResponse:
    """A report as CSV, a line for each figure; of the questions the table behind one answer, as people read it."""
    chosen = cleaned(StatisticsForm(request.GET))
    over = period(chosen["from_at"], chosen["to_at"])
    if chosen["report"] == QUESTIONS:
        code = request.GET.get("question", "")
        if code not in ANSWER_CODES:
            raise InvalidInput(
                fields={"question": _("One of %(forms)s.") % {"forms": ", ".join(ANSWER_CODES)}}
            )
        found = answer(code, over)
        return exported(found.file_rows(), found.heads, form="csv", name=f"statistics-{code}")
    report = REPORTS[chosen["report"]](over)
    return exported(report_rows(report), COLUMNS, form="csv", name=f"report-{chosen['report']}")


# --- capacity --------------------------------------------------------------------------------------------------


@operator_page("reports.view")
def capacity(request: PortalRequest) -> HttpResponse:
    """What each pool was asked for, what will be asked, and when it no longer suffices (ELA-102)."""
    rows = planning.outlook_list()
    code = request.GET.get("pool", "")
    chosen = next((row for row in rows if row.code == code), rows[0])
    context = {
        "rows": rows,
        "chosen": chosen,
        "option": charts.outlook_option(chosen),
        "ahead": planning.AHEAD_DAYS,
    }
    return show(request, "operator/capacity", context)
