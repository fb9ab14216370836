"""The input of the operators' page of storage classes."""

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.centre.states import StorageKind
from apps.centre.storage_services import StorageGiven
from apps.console.centre.forms import StyledForm
from apps.kernel.forms import SoundForm

_SECRET = forms.PasswordInput(attrs={"autocomplete": "new-password"})


class StorageForm(StyledForm):
    """A storage class: of a mounted path its path, of a bucket all but that."""

    name_en = forms.CharField(label=_("Name in English"), max_length=120)
    name_zh = forms.CharField(label=_("Name in Chinese"), max_length=120)
    code = forms.CharField(
        label=_("Code"), max_length=48, help_text=_("By which programs choose it: small letters and hyphens.")
    )
    kind = forms.ChoiceField(label=_("Kind"), choices=StorageKind.choices)
    path = forms.CharField(
        label=_("Path"),
        max_length=400,
        required=False,
        help_text=_(
            "Of a mounted path: where it is mounted on all servers of the portal, such as /mnt/volumes."
        ),
    )
    endpoint = forms.CharField(
        label=_("Address"),
        max_length=300,
        required=False,
        help_text=_("Of a bucket: https://s3.example.org."),
    )
    bucket = forms.CharField(label=_("Bucket"), max_length=63, required=False)
    folder = forms.CharField(
        label=_("Folder in the bucket"),
        max_length=200,
        required=False,
        help_text=_("Empty: the bucket is all ours."),
    )
    region = forms.CharField(label=_("Region"), max_length=40, required=False)
    access_key = forms.CharField(label=_("Access key"), max_length=128, required=False)
    secret = forms.CharField(
        label=_("Secret key"),
        max_length=200,
        required=False,
        widget=_SECRET,
        help_text=_("Kept sealed, and never shown again."),
    )

    def given(self) -> StorageGiven:
        given = dict(self.cleaned_data)
        return StorageGiven(prefix=given.pop("folder"), **given)


class StorageChangeForm(SoundForm):
    name_en = forms.CharField(label=_("Name in English"), max_length=120)
    name_zh = forms.CharField(label=_("Name in Chinese"), max_length=120)
    access_key = forms.CharField(label=_("Access key"), max_length=128, required=False)
    secret = forms.CharField(label=_("Secret key"), max_length=200, required=False, widget=_SECRET)
