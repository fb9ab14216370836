"""The shape of what operators send on the pages."""

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.kernel.forms import SoundForm

LEVELS = (
    ("", "–"),
    ("debug", _("everything")),
    ("info", _("what happens")),
    ("warning", _("warnings")),
    ("error", _("errors alone")),
)


class StartForm(SoundForm):
    """What is to come where. An empty release means: the configuration below."""

    what = forms.ChoiceField(
        label=_("What"), choices=[(name, name) for name in ("release", "config", "restart")]
    )
    release = forms.CharField(label=_("Release"), required=False, max_length=64)
    meter_s = forms.IntegerField(label=_("Measured every (s)"), required=False, min_value=1, max_value=300)
    log_level = forms.ChoiceField(label=_("Log level"), required=False, choices=LEVELS)
    log_limit_mib = forms.IntegerField(
        label=_("Output kept (MiB)"), required=False, min_value=1, max_value=4096
    )
    batch = forms.IntegerField(label=_("Targets in a batch"), min_value=1, max_value=2000)
    gate_s = forms.IntegerField(label=_("Time for each target (s)"), min_value=1, max_value=3600)
    server = forms.BooleanField(label=_("Server"), required=False)

    @property
    def config(self) -> dict[str, object]:
        """The values that were given."""
        given = {name: self.cleaned_data[name] for name in ("meter_s", "log_level", "log_limit_mib")}
        return {name: value for name, value in given.items() if value not in (None, "")}


class ReleaseForm(SoundForm):
    file = forms.FileField(label=_("Archive"))
    signature = forms.FileField(label=_("Signature"))
    notes = forms.CharField(label=_("Notes"), required=False, max_length=500, widget=forms.Textarea)
