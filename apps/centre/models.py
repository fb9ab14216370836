"""The centre itself: what its operators chose when it was set up."""

from zoneinfo import available_timezones

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext as _gettext
from django.utils.translation import gettext_lazy as _

from apps.centre.states import MailSecurity


def timezone_check(name: str) -> None:
    if name not in available_timezones():
        raise ValidationError(_("%(name)s is not a time zone."), params={"name": name})


class Centre(models.Model):
    """The one row of the centre's own settings: there is none until it is set up.

    `language` is for whom no other is known to suit; `mail_password_sealed` is opened by the portal's key alone;
    without `sends_tickets` an approved order waits until an operator sends its ticket (PLAT-CFG-45);
    without `keeps_quotas` what is over its quota is counted and not refused (PLAT-CFG-36).
    """

    name = models.CharField(_("name"), max_length=80, blank=True)
    language = models.CharField(_("language"), max_length=8, default="zh-hans")
    timezone = models.CharField(
        _("time zone"), max_length=64, default="Asia/Shanghai", validators=[timezone_check]
    )
    mail_host = models.CharField(_("mail server"), max_length=253, blank=True)
    mail_port = models.PositiveIntegerField(
        _("port"), default=587, validators=[MinValueValidator(1), MaxValueValidator(65535)]
    )
    mail_security = models.CharField(
        _("encryption"), max_length=8, choices=MailSecurity, default=MailSecurity.STARTTLS
    )
    mail_username = models.CharField(_("account"), max_length=254, blank=True)
    mail_password_sealed = models.TextField(blank=True, editable=False)
    mail_sender = models.EmailField(_("sender"), blank=True)
    sends_tickets = models.BooleanField(_("approved orders go out by themselves"), default=True)
    keeps_quotas = models.BooleanField(_("what is over its quota is refused"), default=True)
    opened_at = models.DateTimeField(_("opened at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("centre")
        verbose_name_plural = _("centre")
        constraints = [models.CheckConstraint(name="centre_one", condition=models.Q(pk=1))]

    def __str__(self) -> str:
        return self.name or _gettext("Weir")
