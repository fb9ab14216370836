"""What operators ask of all tenants' work."""

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.kernel.forms import SoundForm
from apps.scheduling.states import WorkKind

_TABS = ("waiting", "running", "failed", "finished")


class AllWorkForm(SoundForm):
    """Each condition alone and all together."""

    tab = forms.ChoiceField(label=_("Tab"), required=False, choices=[(tab, tab) for tab in ("", *_TABS)])
    tenant = forms.CharField(label=_("Tenant"), max_length=63, required=False)
    queue = forms.CharField(label=_("Queue"), max_length=48, required=False)
    kind = forms.ChoiceField(label=_("Kind"), required=False, choices=[("", _("All")), *WorkKind.choices])
    search = forms.CharField(label=_("Keyword"), max_length=120, required=False)
