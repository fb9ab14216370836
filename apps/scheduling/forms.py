from django import forms
from django.utils.translation import gettext_lazy as _

from apps.scheduling.states import WorkloadState


class ResourcesForm(forms.Form):
    state = forms.ChoiceField(
        label=_("State"), required=False, choices=[("", _("All")), *WorkloadState.choices]
    )


class LogForm(forms.Form):
    offset = forms.IntegerField(label=_("From byte"), min_value=0, max_value=2**40)
