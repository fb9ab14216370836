"""Acts on several rows of a list at once: each row by itself through the one service, and said of each what became."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.identity.pages.access import cleaned, go, next_url
from apps.identity.pages.lists.declared import Text
from apps.identity.pages.requests import PortalRequest
from apps.kernel.errors import NotFound, WeirError
from apps.kernel.forms import SoundForm

# No page of a list shows more.
CHOSEN_MAX = 200
_REFUSALS_SHOWN = 5


@dataclass(frozen=True)
class ListAct:
    """A button beside the rows that are chosen.

    Args:
        url: where the chosen rows are sent, as `chosen`, with `next`, and with `reason` where that is asked for.
        label: the verb.
        icon: before it.
        confirm: what is asked first; "" where nothing is lost.
        is_danger: it destroys.
        asks_reason: a field for a reason stands beside it.
    """

    url: Text
    label: Text
    icon: str
    confirm: Text = ""
    is_danger: bool = False
    asks_reason: bool = False

    @property
    def name(self) -> str:
        """The last part of its address, for tests."""
        return str(self.url).rstrip("/").rpartition("/")[2]


class ChosenForm(SoundForm):
    """Which rows of a list were chosen."""

    def __init__(self, data: QueryDict) -> None:
        super().__init__(data)
        # Which of them there are, and whose, is asked of the rows themselves.
        given = [text for text in data.getlist("chosen")[:CHOSEN_MAX] if _is_uid(text)]
        self.fields["chosen"] = forms.TypedMultipleChoiceField(
            label=gettext_lazy("Rows"),
            coerce=UUID,
            choices=[(text, text) for text in given],
            error_messages={"required": gettext_lazy("Choose rows first.")},
        )


class ChosenForReasonForm(ChosenForm):
    """Which rows were chosen, and why."""

    reason = forms.CharField(label=gettext_lazy("Reason"), max_length=200)


def _is_uid(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


def chosen_rows(request: PortalRequest, form: type[ChosenForm] = ChosenForm) -> dict[str, Any]:
    """What was chosen of a list: `chosen`, the uids of rows, and what else `form` asks for.

    Raises:
        InvalidInput: nothing was chosen, or no identifiers of rows.
    """
    return cleaned(form(request.POST))


def act_on_each(
    request: PortalRequest,
    rows: Iterable[Any],
    act: Callable[[Any], object],
    *,
    back: str,
    named: Callable[[Any], object] = str,
) -> HttpResponse:
    """Do something with each row by itself and go back to the list, saying how many it was done with, and which
    refused it and why.

    Args:
        act: the one service, called with a row.
        back: where to go on to where the page did not say where it was.
        named: what people call a row.

    Raises:
        NotFound: there is none of the rows.
    """
    done, refused = 0, []
    for row in rows:
        try:
            act(row)
            done += 1
        except WeirError as error:
            refused.append((named(row), error.message))
    if not done and not refused:
        raise NotFound()
    if done:
        messages.success(request, ngettext("Done for %(n)s row.", "Done for %(n)s rows.", done) % {"n": done})
    if refused:
        messages.warning(request, _refusals(refused))
    return go(request, next_url(request, back))


def _refusals(refused: Sequence[tuple[object, object]]) -> str:
    told = ngettext("%(n)s row refused it:", "%(n)s rows refused it:", len(refused)) % {"n": len(refused)}
    lines = [f"{name}: {why}" for name, why in refused[:_REFUSALS_SHOWN]]
    left = len(refused) - len(lines)
    more = [ngettext("and %(n)s more", "and %(n)s more", left) % {"n": left}] if left else []
    return " ".join([told, _("; ").join([*lines, *more])])
