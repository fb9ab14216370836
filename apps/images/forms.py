from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from apps.images.models import NAME_MAX, TAG_MAX, image_name, image_tag
from apps.images.services.images import INTRODUCTION_MAX
from apps.images.states import Owner
from apps.kernel.forms import SoundForm

PATH_MAX = 1024


OWNERS = [("", _("All")), *Owner.choices]


class ImagesForm(SoundForm):
    search = forms.CharField(label=pgettext_lazy("thing", "Name"), required=False, max_length=NAME_MAX)
    owner = forms.ChoiceField(label=_("Owner"), required=False, choices=OWNERS)


class ImageForm(SoundForm):
    name = forms.CharField(label=pgettext_lazy("thing", "Name"), max_length=NAME_MAX, validators=[image_name])
    introduction = forms.CharField(
        label=_("Introduction"), max_length=INTRODUCTION_MAX, required=False, widget=forms.Textarea
    )


class PlaceForm(SoundForm):
    """A file of a volume."""

    volume = forms.UUIDField(required=False)
    path = forms.CharField(max_length=PATH_MAX, required=False, strip=False)


class SaveForm(ImageForm):
    tag = forms.CharField(label=_("Tag"), max_length=TAG_MAX, validators=[image_tag], initial="latest")
    owner = forms.ChoiceField(
        label=_("Owner"),
        choices=[choice for choice in Owner.choices if choice[0] != Owner.CENTRE],
        initial=Owner.PERSON,
    )
    organization = forms.UUIDField(label=_("Organization"), required=False)


class ImportForm(SaveForm):
    volume = forms.UUIDField(label=_("Volume"))
    path = forms.CharField(label=_("Path"), max_length=PATH_MAX, strip=False)
