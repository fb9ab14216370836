from django import forms
from django.utils.translation import gettext_lazy as _

from apps.kernel.forms import SoundForm


class ServiceKeyForm(SoundForm):
    name = forms.CharField(label=_("Name"), max_length=80)
