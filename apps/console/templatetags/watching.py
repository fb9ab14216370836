"""How figures and names of the watching pages look."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import template

from apps.console.reports.words import FIGURES, HIDDEN, REPORT_NAMES, SECTIONS, figure_text

register = template.Library()
FIGURES_PER_TABLE = 8


@register.filter
def report_name(code: str) -> str:
    return str(REPORT_NAMES.get(code, code))


@register.filter
def section_name(code: str) -> str:
    return str(SECTIONS.get(code, code))


@register.filter
def figures(row: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The figures of a row: code, word and text."""
    return [
        (code, str(FIGURES.get(code, (code,))[0]), figure_text(code, value))
        for code, value in row.items()
        if code not in HIDDEN
    ][:FIGURES_PER_TABLE]


@register.filter
def told_names(codes: Iterable[str], names: Mapping[str, str]) -> str:
    """Codes by their names, in one line."""
    return ", ".join(str(names.get(code, code)) for code in codes)
