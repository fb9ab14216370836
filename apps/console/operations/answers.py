"""Five questions about a time and their answers: a sentence, a chart, and the table behind it (POOL-12.21)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.formats import number_format
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from apps.billing.types import CostRow
from apps.console.operations.charts import amounts_option, ranked_option, use_option
from apps.console.reports import questions as read
from apps.console.reports.base import Period
from apps.console.reports.end_causes import end_words
from apps.console.reports.stretches import stretches
from apps.console.reports.waiting_causes import CAUSES
from apps.kernel.money import bill_round
from apps.kernel.unit_text import span_text

LINES_MOST = 50
_RANKED = ("who", "waited", "failed")
_SHORT_MOST = 4
Cell = str | int | float | Decimal | None


@dataclass(frozen=True, slots=True)
class Answer:
    """A question about a period and what answers it.

    `note`: what more is worth a sentence, or "". `unit`: what the chart counts, "" where there is nothing to draw
    (`option` is None then). `heads` and `rows`: the table behind the chart, a name and its figures, units in the heads.
    """

    code: str
    question: str
    sentence: str
    note: str
    unit: str
    option: dict[str, Any] | None
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    @property
    def lines(self) -> list[tuple[str, list[str]]]:
        """The rows as people read them, the name, then the figures: no more than anybody reads on a page."""
        return [(str(name), [_shown(cell) for cell in cells]) for name, *cells in self.rows[:LINES_MOST]]

    @property
    def is_long(self) -> bool:
        """Whether its chart names so many things that it wants a tall one."""
        return self.code in _RANKED and len(self.rows) > _SHORT_MOST

    @property
    def left(self) -> int:
        """How many more rows are in the file."""
        return max(0, len(self.rows) - LINES_MOST)

    def file_rows(self) -> list[dict[str, Cell]]:
        """The rows by their heads, for a file: figures as they are."""
        return [dict(zip(self.heads, row, strict=True)) for row in self.rows]


def answers(over: Period) -> list[Answer]:
    """All five of them, in their order."""
    found: list[Answer] = []
    cut = stretches(over)
    use = read.use_read(over, cut)
    found += [_used(use, cut.names, cut.word), _who(use)]
    return [*found, *(_ALONE[code](over) for code in _ALONE)]


def answer(code: str, over: Period) -> Answer:
    """One of them alone. KeyError for a question that is none of `CODES`."""
    if code in _ALONE:
        return _ALONE[code](over)
    cut = stretches(over)
    use = read.use_read(over, cut)
    return {"used": lambda: _used(use, cut.names, cut.word), "who": lambda: _who(use)}[code]()


# --- the five --------------------------------------------------------------------------------------------------


def _used(use: read.Use, names: Sequence[str], word: str) -> Answer:
    had, held, used = sum(use.had), sum(use.held), sum(use.used)
    said = _("The pool had no device in this time.")
    if had:
        said = _(
            "%(held)s of %(had)s device hours were held (%(part)s %%), and work used %(used)s %% of what was held."
        ) % {"held": _number(held), "had": _number(had), "part": _part(held, had), "used": _part(used, held)}
    rows = [
        (name, round(a, 4), round(b, 4), round(c, 4), _percent(b, a))
        for name, a, b, c in zip(names, use.had, use.held, use.used, strict=True)
    ]
    return Answer(
        "used",
        _("How much of what we have was used?"),
        said,
        "",
        _("Device hours %(by)s") % {"by": word},
        use_option(names, use.had, use.held, use.used) if had else None,
        [
            _("Time"),
            _("Had (device hours)"),
            _("Held (device hours)"),
            _("Used (device hours)"),
            _("Held of it (%)"),
        ],
        rows,
    )


def _who(use: read.Use) -> Answer:
    ranked = sorted(use.tenants.items(), key=lambda item: (-item[1][0], item[0].name))
    total = sum(held for _tenant, (held, _used) in ranked)
    said = _("Nobody held a device in this time.")
    if len(ranked) == 1:
        said = _("%(name)s alone held %(total)s device hours.") % {
            "name": ranked[0][0].name,
            "total": _number(total),
        }
    elif ranked:
        said = _(
            "%(count)s tenants held %(total)s device hours; %(name)s had the largest part (%(part)s %%)."
        ) % {
            "count": len(ranked),
            "total": _number(total),
            "name": ranked[0][0].name,
            "part": _part(ranked[0][1][0], total),
        }
    rows = [
        (tenant.name, round(held, 4), _percent(held, total), round(used, 4), _percent(used, held))
        for tenant, (held, used) in ranked
    ]
    return Answer(
        "who",
        _("Who used it?"),
        said,
        "",
        _("Device hours held, by tenant"),
        ranked_option([(row[0], row[1]) for row in rows]) if rows else None,
        [
            _("Tenant"),
            _("Held (device hours)"),
            _("Of all (%)"),
            _("Used (device hours)"),
            _("Used of it (%)"),
        ],
        rows,
    )


def _earned(over: Period) -> Answer:
    cut = stretches(over, least="day")
    found = read.earned_read(over, cut)
    said = _("Nothing was used that costs money in this time.")
    if found.tenants:
        best = found.tenants[0]
        said = (
            _("Use of %(total)s was rated, all of it of %(name)s.")
            if len(found.tenants) == 1
            else _("Use of %(total)s was rated; the largest part (%(part)s %%) is that of %(name)s.")
        ) % {"total": _cny(found.total), "part": _part(best.exact, found.total), "name": _called(best)}
    rows = [(name, bill_round(amount)) for name, amount in zip(cut.names, found.parts, strict=True)]
    return Answer(
        "earned",
        _("What did it earn?"),
        said,
        _compared(found.total, found.before),
        _("CNY of rated use %(by)s") % {"by": cut.word},
        amounts_option([(name, float(amount)) for name, amount in rows], _("CNY")) if found.tenants else None,
        [_("Time"), _("Rated use (CNY)")],
        rows,
    )


def _compared(total: Decimal, earlier: Decimal) -> str:
    """How much that is against as long a time before; "" where there was nothing then."""
    if not earlier:
        return ""
    more = round((total / earlier - 1) * 100)
    figures = {"percent": abs(more), "amount": _cny(earlier)}
    if more < 0:
        return _("%(percent)s %% less than in as long a time before (%(amount)s).") % figures
    return _("%(percent)s %% more than in as long a time before (%(amount)s).") % figures


def _waited(over: Period) -> Answer:
    found = read.waited_read(over)
    said = _("No work started in this time.")
    if found.started:
        said = ngettext(
            "The one piece of work that started had waited %(half)s.",
            "Of %(count)s pieces of work that started, half had waited %(half)s at most, 95 of 100 %(most)s at most.",
            found.started,
        ) % {"count": found.started, "half": _span(found.half_s), "most": _span(found.most_s)}
    rows = [
        (str(CAUSES[cause]), round(hours, 4), _percent(hours, found.hours), count)
        for cause, hours, count in found.causes
    ]
    note = ""
    if rows:
        note = _("Of %(hours)s hours of waiting %(part)s %% had this reason: %(cause)s.") % {
            "hours": _number(found.hours),
            "part": _part(found.causes[0][1], found.hours),
            "cause": _inside(rows[0][0]),
        }
    return Answer(
        "waited",
        _("How long did work wait, and why?"),
        said,
        note,
        _("Hours of waiting, by reason"),
        ranked_option([(row[0], row[1]) for row in rows]) if rows else None,
        [_("Reason"), _("Waited (hours)"), _("Of all (%)"), _("Pieces of work")],
        rows,
    )


def _failed(over: Period) -> Answer:
    found = read.failed_read(over)
    rows = [
        (end_words(code), count, _percent(count, found.failed), tenants)
        for code, count, tenants in found.reasons
    ]
    said = _("No work ended in this time.")
    if rows:
        said = _(
            "%(failed)s of %(ended)s that ended had failed or were lost (%(part)s %%), most often: %(why)s."
        ) % {
            "failed": found.failed,
            "ended": found.ended,
            "part": _part(found.failed, found.ended),
            "why": _inside(rows[0][0]),
        }
    elif found.ended:
        said = ngettext(
            "Nothing: the one piece of work that ended had not failed.",
            "Nothing: of %(count)s pieces of work that ended none had failed.",
            found.ended,
        ) % {"count": found.ended}
    note = ""
    if found.ended_before:
        note = _("In as long a time before: %(failed)s of %(ended)s (%(part)s %%).") % {
            "failed": found.failed_before,
            "ended": found.ended_before,
            "part": _part(found.failed_before, found.ended_before),
        }
    return Answer(
        "failed",
        _("What failed?"),
        said,
        note,
        _("Pieces of work, by reason"),
        ranked_option([(row[0], row[1]) for row in rows], is_whole=True) if rows else None,
        [_("Reason"), _("Failed (pieces of work)"), _("Of all that failed (%)"), _("Tenants")],
        rows,
    )


_ALONE: Mapping[str, Callable[[Period], Answer]] = {"earned": _earned, "waited": _waited, "failed": _failed}
CODES = ("used", "who", *_ALONE)

# --- figures as words ------------------------------------------------------------------------------------------


def _number(value: float) -> str:
    """A figure with as many places as say something."""
    places = 0 if abs(value) >= 1000 else 1 if abs(value) >= 10 else 2
    return number_format(round(value, places), places, force_grouping=True)


def _shown(cell: Cell) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int):
        return number_format(cell, 0, force_grouping=True)
    return number_format(round(Decimal(str(cell)), 2), 2, force_grouping=True)


def _percent(part: float | Decimal, whole: float | Decimal) -> float | None:
    return round(100 * float(part) / float(whole), 2) if whole else None


def _part(part: float | Decimal, whole: float | Decimal) -> str:
    """How much of a whole a part is, in percent: without places, or with one where it would say nothing."""
    percent = _percent(part, whole) or 0.0
    places = 1 if 0 < percent < 1 else 0
    return number_format(round(percent, places), places)


def _cny(amount: Decimal) -> str:
    return f"¥{number_format(bill_round(amount), 2, force_grouping=True)}"


def _span(seconds: float) -> str:
    return span_text(seconds) if seconds >= 1 else _("less than a second")


def _called(row: CostRow) -> str:
    return row.label_zh if (get_language() or "").startswith("zh") else row.label_en


def _inside(words: str) -> str:
    """Words as they stand inside of a sentence."""
    return words[:1].lower() + words[1:]
