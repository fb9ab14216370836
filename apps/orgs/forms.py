from django import forms
from django.utils.translation import gettext_lazy as _


class OrganizationForm(forms.Form):
    name = forms.CharField(label=_("Name"), max_length=120)
    parent = forms.UUIDField(label=_("Above it"), required=False)
    description = forms.CharField(label=_("Description"), required=False, max_length=500)


class BusinessSystemForm(forms.Form):
    name = forms.CharField(label=_("Information system name"), max_length=120)
    number = forms.CharField(label=_("System service number"), max_length=48)
    organization = forms.UUIDField(label=_("Organization"))
    parent = forms.UUIDField(label=_("Part of"), required=False)


class MemberSearchForm(forms.Form):
    search = forms.CharField(label=_("Login account"), required=False, max_length=64)


class TakePartForm(forms.Form):
    member = forms.UUIDField(label=_("Member"))
