"""Hours of the week, ticked in a grid of seven days and twenty-four hours.

Each hour is a box that posts `mon 08:00-09:00`, so that the grid works without scripts too; with them hours are drawn
over, and the arrow keys move among them (`static/src/js/week_grid.js`). What was set to the minute elsewhere stays: an
hour of which a part is chosen posts that part.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from apps.kernel.errors import InvalidInput
from apps.scheduling.queue_config.time_windows import (
    DAYS,
    Span,
    clock_of,
    span_sent,
    weekday_name,
    weekly_joined,
    weekly_read,
    weekly_text,
)

_HOUR = 60
# A week whose every hour is chosen in several parts; what is longer would be read for minutes.
_TEXT_MAX = 16_000


@dataclass(frozen=True, slots=True)
class Cell:
    """One hour of one day: what its box sends, what the whole hour would send, and what it is called."""

    sent: str
    whole: str
    label: str
    is_chosen: bool

    @property
    def is_part(self) -> bool:
        return self.sent != self.whole


class WeekWidget(forms.Widget):
    """The grid; `nothing` says what holds where no hour is chosen."""

    use_fieldset = True

    def __init__(self, nothing: Any) -> None:
        super().__init__()
        self.nothing = nothing

    def value_from_datadict(self, data: Any, files: Any, name: str) -> str:
        return "\n".join(data.getlist(name))

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:
        """Never: no hour is an answer."""
        return False

    def id_for_label(self, id_: str) -> str:
        return ""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        spans: list[Span] = value if isinstance(value, list) else []
        looks = self.build_attrs(self.attrs, attrs)
        context = {
            "name": name,
            "id": looks.get("id", name),
            "test": looks.get("data-test", name),
            "said": weekly_text(spans).replace("\n", ", "),
            "nothing": self.nothing,
            "hours": [f"{hour:02}" for hour in range(24)],
            "days": [(weekday_name(day), _cells(day, spans)) for day in range(DAYS)],
        }
        return render_to_string("scheduling/_week_grid.html", context)


def _cells(day: int, spans: Iterable[Span]) -> list[Cell]:
    mine = [span for span in spans if span[0] == day]
    return [_cell(day, hour * _HOUR, mine) for hour in range(24)]


def _cell(day: int, begin: int, spans: Iterable[Span]) -> Cell:
    end = begin + _HOUR
    whole = (day, begin, end)
    parts = [(day, max(begin, a), min(end, b)) for _day, a, b in spans if a < end and b > begin]
    shown = parts or [whole]
    return Cell(
        sent=";".join(map(span_sent, shown)),
        whole=span_sent(whole),
        label=", ".join(f"{weekday_name(day)} {clock_of(a)}-{clock_of(b)}" for _day, a, b in shown),
        is_chosen=bool(parts),
    )


class WeekField(forms.Field):
    """Hours of the week; cleaned, the spans of each day, those that touch as one."""

    def __init__(self, *, nothing: Any, **options: Any) -> None:
        super().__init__(widget=WeekWidget(nothing), **options)

    def to_python(self, value: Any) -> list[Span]:
        if len(value or "") > _TEXT_MAX:
            raise forms.ValidationError(_("These are more hours than a week has."))
        try:
            return weekly_joined(weekly_read(value or ""))
        except InvalidInput as error:
            raise forms.ValidationError(f"{error.message} {error.cure}".strip()) from error

    def prepare_value(self, value: Any) -> Any:
        """Spans; of a text that was sent those that it says, or none where it says none."""
        if not isinstance(value, str):
            return list(value or ())
        if len(value) > _TEXT_MAX:
            return []
        try:
            return weekly_read(value)
        except InvalidInput:
            return []
