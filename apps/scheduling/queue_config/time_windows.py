"""Spans of the week as people write them: `Mon-Fri 20:00-24:00`, a line each."""

import re
from collections.abc import Iterable

from django.utils.translation import gettext as _

from apps.kernel.errors import InvalidInput

Span = tuple[int, int, int]
"""Weekday from 0 (Monday), first and last minute of its day."""
_EN, _ZH = (
    ["mon", "tue", "wed", "thu", "fri", "sat", "sun"],
    ["周一", "周二", "周三", "周四", "周五", "周六", "周日"],
)
_DAYS = {name: day for names in (_EN, _ZH) for day, name in enumerate(names)}
_LINE = re.compile(
    r"(?P<first>\S+?)(?:[-–](?P<last>\S+?))?\s+(?P<h1>\d\d?):(?P<m1>\d\d)[-–](?P<h2>\d\d?):(?P<m2>\d\d)"
)


DAYS = len(_EN)


def weekday_name(weekday: int) -> str:
    """The day in the reader's language, as `weekly_read` takes it."""
    return (_("Mon"), _("Tue"), _("Wed"), _("Thu"), _("Fri"), _("Sat"), _("Sun"))[weekday]


def clock_of(minute: int) -> str:
    """A minute of the day as `08:30`; 1440 is `24:00`."""
    return f"{minute // 60:02}:{minute % 60:02}"


def weekly_text(spans: Iterable[Span]) -> str:
    """The spans as `weekly_read` takes them, a line each; following days with the same hours are one line."""
    runs: list[tuple[int, int, int, int]] = []
    for day, begin, end in sorted(spans, key=lambda span: (span[1], span[2], span[0])):
        if runs and runs[-1][1:] == (day - 1, begin, end):
            runs[-1] = (runs[-1][0], day, begin, end)
        else:
            runs.append((day, day, begin, end))
    return "\n".join(_run_text(*run) for run in sorted(runs))


def _run_text(first: int, last: int, begin: int, end: int) -> str:
    days = weekday_name(first) + (f"-{weekday_name(last)}" if last != first else "")
    return f"{days} {clock_of(begin)}-{clock_of(end)}"


def weekly_read(text: str, *, field: str = "windows") -> list[Span]:
    """The spans of a text, by day; InvalidInput names the line that is none, or two of one day that overlap."""
    found: set[Span] = set()
    for line in filter(None, map(str.strip, re.split(r"[\n;,]", text))):
        found.update(_line_read(line, field))
    return weekly_check(sorted(found), field=field)


def span_sent(span: Span) -> str:
    """A span as `weekly_read` takes it, whatever the language: `mon 08:00-09:00`."""
    day, begin, end = span
    return f"{_EN[day]} {clock_of(begin)}-{clock_of(end)}"


def weekly_joined(spans: Iterable[Span]) -> list[Span]:
    """The spans, those of a day that touch as one."""
    found: list[Span] = []
    for day, begin, end in sorted(spans):
        if found and found[-1][0] == day and found[-1][2] == begin:
            found[-1] = (day, found[-1][1], end)
        else:
            found.append((day, begin, end))
    return found


def weekly_check(spans: Iterable[Span], *, field: str = "windows") -> list[Span]:
    """The spans, sorted; InvalidInput for one that is none, or that meets another one of its day."""
    last: Span | None = None
    listed = sorted(spans)
    for each in listed:
        day, begin, end = each
        if not (0 <= day <= 6 and 0 <= begin < end <= 24 * 60):
            raise InvalidInput(
                _("A window begins before it ends, within one day."), fields={field: str(each)}
            )
        if last is not None and last[0] == day and begin < last[2]:
            raise InvalidInput(
                _("Two windows of one day overlap."),
                fields={field: weekly_text([last, each]).replace("\n", ", ")},
            )
        last = each
    return listed


def _line_read(line: str, field: str) -> list[Span]:
    match = _LINE.fullmatch(line.lower())
    names = _DAYS | {weekday_name(day).lower(): day for day in range(7)}
    days = match and (names.get(match["first"]), names.get(match["last"] or match["first"]))
    if match is None or days is None or None in days:
        raise InvalidInput(
            _("%(line)s is no window.") % {"line": line},
            cure=_("Write a line for each, like: Mon-Fri 20:00-24:00"),
            fields={field: line},
        )
    first, last = days
    begin, end = int(match["h1"]) * 60 + int(match["m1"]), int(match["h2"]) * 60 + int(match["m2"])
    run = (last - first) % 7 + 1
    return [((first + step) % 7, begin, end) for step in range(run)]
