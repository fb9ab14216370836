from django import forms
from django.utils.translation import gettext_lazy as _

from apps.approvals.states import DecisionKind, InstanceState
from apps.identity.pages.lists.acts import ChosenForm
from apps.kernel.forms import SoundForm


class InboxForm(SoundForm):
    tab = forms.ChoiceField(
        label=_("Tab"),
        required=False,
        choices=[("todo", _("To do")), ("done", _("Done")), ("urged", _("Urged"))],
    )
    search = forms.CharField(label=_("Applicant or business number"), required=False, max_length=80)
    state = forms.ChoiceField(
        label=_("State"), required=False, choices=[("", _("All")), *InstanceState.choices]
    )
    template = forms.CharField(label=_("Process name"), required=False, max_length=80)

    def clean_tab(self) -> str:
        return self.cleaned_data["tab"] or "todo"


class DecisionForm(SoundForm):
    decision = forms.ChoiceField(label=_("Decision"), choices=DecisionKind.choices)
    comment = forms.CharField(label=_("Comment"), required=False, max_length=1000, widget=forms.Textarea)


class TogetherForm(ChosenForm, DecisionForm):
    """One decision on several tasks."""
