from django import forms
from django.utils.translation import gettext_lazy as _

from apps.conformance.catalogue.entries import LEVELS, own, standard
from apps.kernel.forms import SoundForm

CLAUSES = "clauses"
CHOSEN = "chosen"


class StartForm(SoundForm):
    """Which tests to run: a level's, those of the clauses, or the ones ticked."""

    what = forms.ChoiceField(
        label=_("Tests"), choices=[*((str(level), level) for level in LEVELS), (CLAUSES, ""), (CHOSEN, "")]
    )
    tests = forms.MultipleChoiceField(
        label=_("Tests"), required=False, choices=[(number, number) for number in [*standard(), *own()]]
    )

    def clean(self) -> dict[str, object]:
        found = super().clean() or {}
        if found.get("what") == CHOSEN and not found.get("tests"):
            self.add_error("tests", _("Choose at least one test."))
        return found
