from django import forms
from django.utils.translation import gettext_lazy as _


class SignInForm(forms.Form):
    username = forms.CharField(label=_("Login account"), max_length=64)
    password = forms.CharField(label=_("Password"), max_length=256, strip=False)


class TokenForm(forms.Form):
    name = forms.CharField(label=_("Name"), max_length=80)
    days = forms.IntegerField(label=_("Days"), min_value=1, max_value=366)


class PasswordForm(forms.Form):
    old_password = forms.CharField(label=_("Present password"), max_length=256, strip=False)
    new_password = forms.CharField(label=_("New password"), max_length=256, strip=False)
