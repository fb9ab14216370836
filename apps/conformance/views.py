"""The operators' pages: start the acceptance test, watch it, read what it saw, take the report away."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.conformance.catalogue.entries import LEVELS, Entry, Text, entry, own, required, standard
from apps.conformance.catalogue.hardware import counted, sentence
from apps.conformance.forms import CHOSEN, CLAUSES, StartForm
from apps.conformance.models import ConformanceResult, ConformanceRun
from apps.conformance.permissions import ConformancePermission as P
from apps.conformance.report.forms import ENDINGS, FORMS, render
from apps.conformance.selectors import result_list, run_get, run_list, run_open
from apps.conformance.services import run_ask, run_stop
from apps.conformance.states import Outcome
from apps.identity.pages.access import cleaned, go, operator_page, paged, show
from apps.identity.pages.requests import PortalRequest
from apps.kernel.errors import NotFound

_FORMS = {ending: form for form, ending in ENDINGS.items()}


@dataclass(frozen=True)
class LevelShown:
    """A level of annex A and how far a run has come with it."""

    number: int
    title: Text
    required: int
    passed: int

    @property
    def is_reached(self) -> bool:
        return self.passed == self.required

    @property
    def percent(self) -> int:
        return self.passed * 100 // self.required


@operator_page(P.VIEW)
def home(request: PortalRequest) -> HttpResponse:
    """Runs so far, and where a new one is started."""
    context = {
        "rows": paged(request, run_list()),
        "open": run_open(),
        "levels": [(level, title, len(required(level))) for level, title in LEVELS.items()],
        "standard": standard().values(),
        "own": own().values(),
        "live": ["conformance"],
    }
    return show(request, "conformance/home", context)


@require_POST
@operator_page(P.RUN)
def start(request: PortalRequest) -> HttpResponse:
    """Ask for a run; its page is next."""
    chosen = cleaned(StartForm(request.POST))
    what = chosen["what"]
    row = run_ask(
        actor=request.actor,
        level=int(what) if what.isdecimal() else None,
        is_clauses=what == CLAUSES,
        numbers=chosen["tests"] if what == CHOSEN else (),
    )
    return go(request, "conformance:run", uid=row.uid)


@operator_page(P.VIEW)
def run(request: PortalRequest, uid: UUID) -> HttpResponse:
    """One run as it goes: levels, tests, what was examined."""
    row = run_get(uid)
    results = result_list(row)
    passed = {result.number for result in results if result.outcome == Outcome.PASSED}
    context = {
        "row": row,
        "results": [(result, entry(result.number)) for result in results],
        "counts": [(code, label, _count(results, code)) for code, label in Outcome.choices],
        "done_percent": _done_percent(results),
        "levels": _levels(passed),
        "hardware": sentence(
            counted(result.hardware for result in results if result.number in passed & set(standard()))
        ),
        "live": [f"conformance.{row.uid}"],
    }
    return show(request, "conformance/run", context)


def _count(results: Iterable[ConformanceResult], outcome: str) -> int:
    return sum(result.outcome == outcome for result in results)


def _done_percent(results: list[ConformanceResult]) -> int:
    open_count = _count(results, Outcome.WAITING) + _count(results, Outcome.RUNNING)
    return 100 - open_count * 100 // max(1, len(results))


def _levels(passed: set[str]) -> list[LevelShown]:
    return [
        LevelShown(level, title, len(required(level)), len(passed & set(required(level))))
        for level, title in LEVELS.items()
    ]


@operator_page(P.VIEW)
def test(request: PortalRequest, uid: UUID, number: str) -> HttpResponse:
    """What one test did and saw, step by step, with the evidence for each expectation."""
    row = run_get(uid)
    result = row.results.filter(number=number).first()
    if result is None:
        raise NotFound(_("This run has no such test."))
    context = {
        "row": row,
        "result": result,
        "test": entry(number),
        "steps": _steps(entry(number), result),
        "expectations": _expectations(entry(number), result),
        "live": [f"conformance.{row.uid}"],
    }
    return show(request, "conformance/test", context)


def _steps(test: Entry, result: ConformanceResult) -> list[tuple[str, Text, list[dict[str, Any]]]]:
    return [
        (name, text, [note for note in result.steps if note["step"] == name])
        for name, text in test.steps.items()
    ]


def _expectations(test: Entry, result: ConformanceResult) -> list[tuple[str, Text, dict[str, Any]]]:
    seen = {part["expectation"]: part for part in result.expectations}
    return [(name, text, seen.get(name, {})) for name, text in test.expectations.items()]


@require_POST
@operator_page(P.RUN)
def stop(request: PortalRequest, uid: UUID) -> HttpResponse:
    """Interrupt a run; it takes back what it made."""
    row = run_get(uid)
    run_stop(actor=request.actor, run=row)
    messages.success(request, _("The run ends after it has taken back what it made."))
    return go(request, "conformance:run", uid=row.uid)


@operator_page(P.VIEW)
def report(request: PortalRequest, uid: UUID, ending: str) -> HttpResponse:
    """The signed report as a file."""
    row = run_get(uid)
    if ending not in _FORMS or row.report is None:
        raise NotFound(_("There is no such report."))
    form = _FORMS[ending]
    answer = HttpResponse(render(row.report, form), content_type=FORMS[form][0])
    answer["Content-Disposition"] = f'attachment; filename="weir-conformance-{_short(row)}.{ending}"'
    return answer


def _short(row: ConformanceRun) -> str:
    return f"{row.created_at:%Y%m%d}-{row}"
