from django import forms
from django.utils.translation import gettext_lazy as _

from apps.fleet.services.secrets import VALUE_MOST
from apps.kernel.forms import SoundForm


class SecretForm(SoundForm):
    name = forms.CharField(label=_("Name"), max_length=128)
    value = forms.CharField(label=_("Value"), max_length=VALUE_MOST, strip=False)
    is_shared = forms.BooleanField(label=_("For all people of the tenant"), required=False)
