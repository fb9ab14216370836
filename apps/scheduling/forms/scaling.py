"""The input of a scaling rule: one form for each thing that it may look at."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.kernel.unit_fields import SECONDS, UnitField
from apps.scheduling.forms.base import MarkedForm
from apps.scheduling.forms.week_grid import WeekField
from apps.scheduling.states import ScalingBy

_DAY_S = 24 * 3600


def _rest() -> UnitField:
    return UnitField(SECONDS, most=7 * _DAY_S, label=_("Rests between two changes"), initial=300)


def _step() -> forms.IntegerField:
    return forms.IntegerField(label=_("Shares at a time"), min_value=1, max_value=512, initial=1)


def _way(more: Any, fewer: Any, initial: str) -> forms.TypedChoiceField:
    return forms.TypedChoiceField(
        label=_("When it is high"), choices=[("1", more), ("0", fewer)], initial=initial,
        coerce=lambda value: value == "1",
    )  # fmt: skip


class DepthForm(MarkedForm):
    """By how many wait in the queue."""

    mark = "depth"
    by = ScalingBy.QUEUE_DEPTH
    high = forms.IntegerField(label=_("High: so many wait, or more"), min_value=1, max_value=10**6, initial=5)
    low = forms.IntegerField(label=_("Low: so many wait, or fewer"), min_value=0, max_value=10**6, initial=0)
    grows_when_high = _way(_("it grows"), _("it gives way"), "0")
    step = _step()
    cooldown_s = _rest()


class UseForm(MarkedForm):
    """By how much of its shares is used."""

    mark = "use"
    by = ScalingBy.UTILISATION
    high = forms.IntegerField(label=_("High: used from (%)"), min_value=1, max_value=1000, initial=80)
    low = forms.IntegerField(label=_("Low: used up to (%)"), min_value=0, max_value=1000, initial=30)
    grows_when_high = _way(_("it grows"), _("it gives way"), "1")
    step = _step()
    cooldown_s = _rest()


class WindowForm(MarkedForm):
    """By the time of the week."""

    mark = "window"
    by = ScalingBy.WINDOW
    shares = forms.IntegerField(label=_("Shares at most"), min_value=1, max_value=512)
    windows = WeekField(
        label=_("When"), nothing=_("no hours yet"), help_text=_("Outside them the rule sets no bound.")
    )
    cooldown_s = _rest()


FORMS: dict[str, type[MarkedForm]] = {form.by.value: form for form in (DepthForm, UseForm, WindowForm)}
