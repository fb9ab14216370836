from django import forms
from django.utils.translation import gettext_lazy as _

from apps.kernel.forms import SoundForm


class CommodityFilterForm(SoundForm):
    search = forms.CharField(label=_("Name"), required=False, max_length=80)
    category = forms.SlugField(label=_("Category"), required=False, max_length=48)
    layout = forms.ChoiceField(
        label=_("Layout"), required=False, choices=[("cards", _("Cards")), ("list", _("List"))]
    )


class CouponCentreForm(SoundForm):
    search = forms.CharField(label=_("Name"), required=False, max_length=80)
    claimable = forms.BooleanField(label=_("Only what I can claim"), required=False)
