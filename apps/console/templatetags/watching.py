"""How figures and names of the watching pages look."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import template
from django.utils.formats import number_format
from django.utils.translation import ngettext

from apps.console.labels import VENDOR_LABELS
from apps.console.reports.labels import FIGURES, HIDDEN, REPORT_NAMES, SECTIONS, figure_text

register = template.Library()
# Nobody reads further on a page: the file has all rows.
LINES_MOST = 50


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
        (code, _word(code), figure_text(code, value)) for code, value in row.items() if code not in HIDDEN
    ]


@register.filter
def tabled(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Rows as a table: `heads`, `lines` of name and texts of the first `LINES_MOST`, and how many rows are `left`; a
    figure that no row has is left out."""
    codes = [
        code for code in rows[0] if code not in HIDDEN and any(row[code] not in (None, "") for row in rows)
    ]
    lines = [
        (VENDOR_LABELS.get(row["name"], row["name"]), [figure_text(code, row[code]) for code in codes])
        for row in rows[:LINES_MOST]
    ]
    return {"heads": [_word(code) for code in codes], "lines": lines, "left": len(rows) - len(lines)}


def _word(code: str) -> str:
    return str(FIGURES.get(code, (code,))[0])


@register.filter
def names_of(codes: Iterable[str], names: Mapping[str, str]) -> str:
    """Codes by their names, in one line."""
    return ", ".join(str(names.get(code, code)) for code in codes)


@register.filter
def devices(percent: float) -> str:
    """Percent of devices as a number of devices."""
    count = round(percent / 100, 1)
    text = number_format(count, decimal_pos=0 if count.is_integer() else 1)
    return ngettext("%(count)s device", "%(count)s devices", 1 if count == 1 else 2) % {"count": text}
