from django import forms
from django.utils.translation import gettext_lazy as _

from apps.kernel.forms import SoundForm
from apps.tickets.states import TicketState


class TicketsForm(SoundForm):
    tab = forms.ChoiceField(
        label=_("Tab"),
        required=False,
        choices=[("submitted", _("Submitted")), ("todo", _("To do")), ("done", _("Done"))],
    )
    search = forms.CharField(label=_("Number"), required=False, max_length=80)
    state = forms.ChoiceField(
        label=_("State"), required=False, choices=[("", _("All")), *TicketState.choices]
    )
    category = forms.CharField(label=_("Category"), required=False, max_length=80)

    def clean_tab(self) -> str:
        return self.cleaned_data["tab"] or "submitted"


class TicketForm(SoundForm):
    """What every new ticket says, whatever its category asks for besides."""

    title = forms.CharField(label=_("Title"), max_length=200)
    text = forms.CharField(label=_("Description"), required=False, max_length=4000, widget=forms.Textarea)


class TextForm(SoundForm):
    text = forms.CharField(label=_("Text"), max_length=4000, widget=forms.Textarea)


class HandOverForm(SoundForm):
    user = forms.UUIDField(label=_("To"))
    text = forms.CharField(label=_("Note"), required=False, max_length=4000, widget=forms.Textarea)


class RateForm(SoundForm):
    rating = forms.IntegerField(label=_("Rating"), min_value=1, max_value=5)
    text = forms.CharField(label=_("Remark"), required=False, max_length=1000, widget=forms.Textarea)
