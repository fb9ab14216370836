"""The shape of what operators send on the pages."""

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.kernel.forms import SoundForm
from apps.kernel.unit_fields import MEMORY, SECONDS, UnitField

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
    meter_s = UnitField(SECONDS, least=1, most=300, label=_("Measured every"), required=False)
    log_level = forms.ChoiceField(label=_("Log level"), required=False, choices=LEVELS)
    log_limit_mib = UnitField(MEMORY, least=1, most=4096, label=_("Output kept"), required=False)
    batch = forms.IntegerField(label=_("Targets in a batch"), min_value=1, max_value=2000)
    gate_s = UnitField(SECONDS, least=1, most=3600, label=_("Time for each target"))
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
