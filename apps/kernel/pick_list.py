"""A field in which rows are chosen from many: people, devices.

Sent is one text, what the rows are known by with commas between them, so that the form posts without scripts too. With
them the reader types part of a name and takes from what the server finds (`static/src/js/pick_list.js`); the address
that is asked answers with `apps.identity.pages.picks.picks_shown`.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from django import forms
from django.urls import reverse_lazy
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

_BETWEEN = re.compile(r"[\s,;，、；]+")


@dataclass(frozen=True, slots=True)
class Pick:
    """A row that can be chosen: what it is known by, what it is called, and what tells it from others."""

    value: str
    title: str
    note: str = ""


class PickWidget(forms.Textarea):
    """Where rows are chosen; `view` finds them.

    Args:
        view: the name of the address that finds rows for `q`.
        within: the field of the same form whose value narrows them, sent along under that name.
        most: 1 where one row is chosen, 0 for any number.
    """

    def __init__(self, view: str, *, within: str = "", most: int = 0) -> None:
        super().__init__({"rows": 1 if most == 1 else 2, "spellcheck": "false", "autocomplete": "off"})
        self.view = view
        self.within = within
        self.most = most

    def format_value(self, value: Any) -> str | None:
        """Rows that are chosen already are given as `Pick`s; what was sent is a text."""
        return ", ".join(row.value for row in value) if isinstance(value, list | tuple) else value

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        chosen = {row.value: row.title for row in value} if isinstance(value, list | tuple) else {}
        words = {
            "data-pick": str(reverse_lazy(self.view)),
            "data-pick-within": self.within,
            "data-pick-most": self.most,
            "data-picked": json.dumps(chosen, ensure_ascii=False),
            "data-say-remove": _("Remove {}"),
            "data-say-find": _("Type part of a name"),
        }
        text = super().render(name, value, {**(attrs or {}), **words}, renderer)
        # Whoever has no scripts is told how to write what others choose.
        hint = _("Write what each is known by, with commas between them.")
        return format_html('{}<noscript><small class="form-hint">{}</small></noscript>', text, hint)


def picks_read(text: str) -> list[str]:
    """What the chosen rows are known by, each once, in their order."""
    return list(dict.fromkeys(filter(None, _BETWEEN.split(text))))
