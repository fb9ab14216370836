from django import forms
from django.utils.translation import gettext_lazy as _

from apps.scheduling.states import WorkloadState


class ResourcesForm(forms.Form):
    state = forms.ChoiceField(
        label=_("State"), required=False, choices=[("", _("All")), *WorkloadState.choices]
    )


class LogForm(forms.Form):
    offset = forms.IntegerField(label=_("From byte"), min_value=0, max_value=2**40)


class StopForm(forms.Form):
    reason = forms.CharField(label=_("Reason"), max_length=200, required=False)


class ResizeForm(forms.Form):
    compute_percent = forms.IntegerField(label=_("Compute share (%)"), min_value=1, max_value=100)
    memory_mib = forms.IntegerField(label=_("Accelerator memory (MiB)"), min_value=1, max_value=2**31 - 1)


class MigrateForm(forms.Form):
    node = forms.CharField(label=_("Node"), max_length=200, required=False)
    share = forms.IntegerField(label=_("Share"), min_value=0, max_value=511, required=False)


class EnvironmentForm(forms.Form):
    """A specification, or compute and memory."""

    name = forms.CharField(label=_("Name"), max_length=80)
    spec = forms.CharField(label=_("Specification"), max_length=48, required=False)
    compute_percent = forms.IntegerField(
        label=_("Compute share (%)"), min_value=1, max_value=100, required=False
    )
    memory_mib = forms.IntegerField(
        label=_("Accelerator memory (MiB)"), min_value=1, max_value=2**31 - 1, required=False
    )
    shares = forms.IntegerField(label=_("Shares"), min_value=1, max_value=512)
    is_fixed = forms.BooleanField(label=_("Fixed"), required=False)
