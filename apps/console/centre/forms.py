"""The input of the setup page and of the page of the centre's settings."""

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from django import forms
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from apps.centre.models import Centre
from apps.centre.services import MailGiven
from apps.centre.states import MailSecurity
from apps.kernel.errors import WeirError
from apps.kernel.forms import SoundForm

# Names of the database of zones that are no places people choose.
_NO_PLACES = ("Etc/", "posix/", "right/", "SystemV/", "US/")


def zone_choices() -> list[tuple[str, str]]:
    """Each zone with how far its clock is from UTC now: `Asia/Shanghai (UTC+08:00)`."""
    now = timezone.now()
    return _zones_at(now.replace(minute=now.minute // 15 * 15, second=0, microsecond=0))


# Five hundred clocks are put anew at quarters of an hour alone: a form asks for its choices several times.
@lru_cache(maxsize=1)
def _zones_at(now: datetime) -> list[tuple[str, str]]:
    places = (name for name in available_timezones() if "/" in name and not name.startswith(_NO_PLACES))
    return [(name, f"{name} ({_offset(name, now)})") for name in ("UTC", *sorted(places))]


def _offset(name: str, now: datetime) -> str:
    minutes = int((now.astimezone(ZoneInfo(name)).utcoffset() or now - now).total_seconds()) // 60
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{'−' if minutes < 0 else '+'}{hours:02}:{rest:02}"


class StyledForm(SoundForm):
    """Fields in the kit's looks; one that was refused says so to a screen reader too."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            looks = {forms.Select: "form-select", forms.CheckboxInput: "form-check-input"}
            look = next(
                (look for kind, look in looks.items() if isinstance(field.widget, kind)), "form-control"
            )
            field.widget.attrs |= {"class": look, "data-test": name}

    def refuse(self, error: WeirError) -> None:
        """Put a refusal beside the fields that it names; what names none stands above the form."""
        named = {name: text for name, text in error.fields.items() if name in self.fields}
        for name, text in named.items():
            self.add_error(name, str(text))
        if not named:
            self.add_error(None, f"{error.message} {error.cure}".strip())
        self.mark()

    def mark(self) -> None:
        for name in self.errors:
            if name in self.fields:
                attrs = self.fields[name].widget.attrs
                attrs["class"] += " is-invalid"
                attrs["aria-invalid"] = "true"


class CentreForm(StyledForm):
    """What the centre is called, and by what it speaks and counts its days."""

    name = forms.CharField(
        label=_("Name of the centre"),
        max_length=80,
        required=False,
        help_text=_("Stands at the head of every page. Left out: Weir."),
    )
    language = forms.ChoiceField(
        label=_("Language"),
        choices=[("zh-hans", "中文"), ("en", "English")],
        help_text=_("For whoever's browser asks for neither; everybody may switch."),
    )
    timezone = forms.ChoiceField(
        label=_("Time zone"),
        choices=zone_choices,
        help_text=_("The centre's days, hours and reports go by it; a tenant may have its own."),
    )

    def given(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in ("name", "language", "timezone")}


class SellerForm(StyledForm):
    """What bills say of the centre as their seller."""

    legal_name = forms.CharField(
        label=_("Legal name"),
        max_length=160,
        required=False,
        help_text=_("Left out: what the centre is called."),
    )
    address = forms.CharField(label=_("Address"), max_length=300, required=False)
    tax_number = forms.CharField(label=_("Tax number"), max_length=40, required=False)
    bank = forms.CharField(
        label=_("Bank account"),
        max_length=300,
        required=False,
        help_text=_("Bank and account number, as a payer needs them."),
    )


class TicketsForm(StyledForm):
    """What becomes of an order once it is approved."""

    sends_tickets = forms.BooleanField(
        label=_("Send tickets automatically"),
        required=False,
        help_text=_(
            "On: an approved order is delivered by itself, also those that wait now. "
            "Off: its ticket waits until an operator sends it or carries it out."
        ),
    )


class QuotasForm(StyledForm):
    """What becomes of what is asked for beyond a quota."""

    keeps_quotas = forms.BooleanField(
        label=_("Keep quotas"),
        required=False,
        help_text=_(
            "On: what is over the quota of its tenant or organization is refused, or waits. "
            "Off: it is counted only, and the pool itself is the limit."
        ),
    )


class MailForm(StyledForm):
    """A mail server, or none."""

    mail_host = forms.CharField(
        label=_("Mail server"),
        max_length=253,
        required=False,
        widget=forms.TextInput({"placeholder": "mail.example.org", "autocapitalize": "none"}),
    )
    mail_port = forms.IntegerField(label=_("Port"), min_value=1, max_value=65535, required=False)
    mail_security = forms.ChoiceField(label=_("Encryption"), choices=MailSecurity.choices, required=False)
    mail_username = forms.CharField(
        label=_("Account at the mail server"),
        max_length=254,
        required=False,
        widget=forms.TextInput({"autocomplete": "off"}),
    )
    mail_password = forms.CharField(
        label=_("Password of that account"),
        max_length=256,
        required=False,
        strip=False,
        widget=forms.PasswordInput({"autocomplete": "off"}),
    )
    mail_sender = forms.EmailField(
        label=_("Sender"),
        required=False,
        widget=forms.EmailInput({"placeholder": "weir@example.org", "autocomplete": "off"}),
    )

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        others = ("mail_sender", "mail_username", "mail_password")
        if not given.get("mail_host") and any(given.get(name) for name in others):
            self.add_error("mail_host", _("Name the mail server, or leave all of this out."))
        return given

    def mail(self) -> MailGiven | None:
        given = self.cleaned_data
        if not given["mail_host"]:
            return None
        return MailGiven(
            host=given["mail_host"],
            port=given["mail_port"] or Centre().mail_port,
            security=given["mail_security"] or MailSecurity.STARTTLS,
            username=given["mail_username"],
            password=given["mail_password"] or None,
            sender=given["mail_sender"],
        )


class FirstOperatorForm(StyledForm):
    display_name = forms.CharField(
        label=pgettext_lazy("person", "Name"),
        max_length=120,
        widget=forms.TextInput({"autocomplete": "name"}),
    )
    username = forms.CharField(
        label=_("Login account"),
        max_length=64,
        validators=[UnicodeUsernameValidator()],
        help_text=_("Letters, digits and @ . + - _"),
        widget=forms.TextInput({"autocomplete": "username", "autocapitalize": "none"}),
    )
    email = forms.EmailField(
        label=_("E-mail"), required=False, widget=forms.EmailInput({"autocomplete": "email"})
    )
    password = forms.CharField(
        label=_("Password"),
        max_length=256,
        strip=False,
        help_text=_("At least 10 characters."),
        widget=forms.PasswordInput({"autocomplete": "new-password", "minlength": "10"}),
    )
    password_again = forms.CharField(
        label=_("The password again"),
        max_length=256,
        strip=False,
        widget=forms.PasswordInput({"autocomplete": "new-password"}),
    )


class SetupForm(CentreForm, MailForm, FirstOperatorForm):
    """Everything a centre begins with, sent together."""

    token = forms.CharField(max_length=128, widget=forms.HiddenInput())

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        if given.get("password") != given.get("password_again", given.get("password")):
            self.add_error("password_again", _("The two passwords are not the same."))
        return given

    def setup(self) -> Mapping[str, Any]:
        """What `centre_setup` takes."""
        given = self.cleaned_data
        person = {name: given[name] for name in ("display_name", "username", "email", "password")}
        return {**self.given(), **person, "mail": self.mail()}


class MailTryForm(SoundForm):
    to = forms.EmailField(label=_("To"), max_length=254)
