from uuid import UUID

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.approvals.states import DecisionKind, InstanceState
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


class TasksField(forms.Field):
    """The identifiers of the tasks that were ticked, each once."""

    widget = forms.MultipleHiddenInput

    def clean(self, value: object) -> list[UUID]:
        given = value if isinstance(value, list) else []
        try:
            return list(dict.fromkeys(UUID(str(one)) for one in given))
        except ValueError as error:
            raise forms.ValidationError(_("This is not an identifier.")) from error


class TogetherForm(DecisionForm):
    """One decision on several tasks."""

    task = TasksField(label=_("Applications"))
