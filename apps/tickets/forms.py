from django import forms
from django.utils.translation import gettext_lazy as _

from apps.tickets.states import TicketState


class TicketsForm(forms.Form):
    tab = forms.ChoiceField(
        label=_("Tab"),
        required=False,
        choices=[("submitted", _("Submitted")), ("todo", _("To do")), ("done", _("Done"))],
    )
    search = forms.CharField(label=_("Business number"), required=False, max_length=80)
    state = forms.ChoiceField(
        label=_("State"), required=False, choices=[("", _("All")), *TicketState.choices]
    )

    def clean_tab(self) -> str:
        return self.cleaned_data["tab"] or "submitted"
