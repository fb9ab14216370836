from django import forms
from django.utils.translation import gettext_lazy as _

from apps.kernel.forms import SoundForm


class RecordsForm(SoundForm):
    """Who, what, on what, whose and when: each narrows the operation log alone and together with the others."""

    search = forms.CharField(label=_("Person, act or identifier"), max_length=200, required=False)
    schema = forms.CharField(label=_("Tenant"), max_length=63, required=False)
    subject_kind = forms.CharField(label=_("Subject"), max_length=40, required=False)
    from_at = forms.DateTimeField(label=_("From"), required=False)
    until_at = forms.DateTimeField(label=_("Until"), required=False)
    # Where an older page begins.
    before = forms.CharField(max_length=80, required=False)
