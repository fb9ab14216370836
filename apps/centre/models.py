"""The centre itself: what its operators chose when it was set up, and where it keeps volumes."""

import uuid
from zoneinfo import available_timezones

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import get_language
from django.utils.translation import gettext as _gettext
from django.utils.translation import gettext_lazy as _

from apps.centre.states import MailSecurity, StorageKind


def timezone_check(name: str) -> None:
    if name not in available_timezones():
        raise ValidationError(_("%(name)s is not a time zone."), params={"name": name})


class Centre(models.Model):
    """The one row of the centre's own settings: there is none until it is set up.

    `language` is for whom no other is known to suit; `mail_password_sealed` is opened by the portal's key alone;
    without `sends_tickets` an approved order waits until an operator sends its ticket (PLAT-CFG-45);
    without `keeps_quotas` what is over its quota is counted and not refused (PLAT-CFG-36);
    `legal_name`, `address`, `tax_number` and `bank` are what bills say of their seller.
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
    legal_name = models.CharField(_("legal name"), max_length=160, blank=True)
    address = models.CharField(_("address"), max_length=300, blank=True)
    tax_number = models.CharField(_("tax number"), max_length=40, blank=True)
    bank = models.CharField(_("bank account"), max_length=300, blank=True)
    opened_at = models.DateTimeField(_("opened at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("centre")
        verbose_name_plural = _("centre")
        constraints = [models.CheckConstraint(name="centre_one", condition=models.Q(pk=1))]

    def __str__(self) -> str:
        return self.name or _gettext("Weir")


class StorageClass(models.Model):
    """A place where volumes are kept beside the centre's own folder: what is mounted at a path, or a bucket of an S3
    server.

    What says where it is never changes once volumes lie there. `mark` is what was found or written there when it was
    made: where something else answers at the path, it is away. `secret_sealed` is opened by the portal's key alone.
    `check_ms` and `check_problem` are what the last check found.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    code = models.SlugField(_("code"), max_length=48, unique=True)
    name_zh = models.CharField(_("name in Chinese"), max_length=120)
    name_en = models.CharField(_("name in English"), max_length=120)
    kind = models.CharField(_("kind"), max_length=8, choices=StorageKind)
    path = models.CharField(_("path"), max_length=400, blank=True)
    endpoint = models.CharField(_("address"), max_length=300, blank=True)
    bucket = models.CharField(_("bucket"), max_length=63, blank=True)
    prefix = models.CharField(_("folder in the bucket"), max_length=200, blank=True)
    region = models.CharField(_("region"), max_length=40, blank=True)
    access_key = models.CharField(_("access key"), max_length=128, blank=True)
    secret_sealed = models.TextField(blank=True, editable=False)
    mark = models.CharField(max_length=64, blank=True)
    is_enabled = models.BooleanField(_("takes new volumes"), default=True)
    is_default = models.BooleanField(_("the default one"), default=False)
    checked_at = models.DateTimeField(_("checked at"), null=True, blank=True)
    check_ms = models.PositiveIntegerField(_("check took (ms)"), null=True, blank=True)
    check_problem = models.CharField(_("problem"), max_length=500, blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("storage class")
        verbose_name_plural = _("storage classes")
        ordering = ["code"]
        constraints = [
            models.CheckConstraint(
                name="storage_class_place",
                condition=models.Q(kind=StorageKind.MOUNTED, bucket="") & ~models.Q(path="")
                | models.Q(kind=StorageKind.S3, path="") & ~models.Q(bucket="") & ~models.Q(endpoint=""),
            ),
            models.UniqueConstraint(
                fields=["is_default"], condition=models.Q(is_default=True), name="storage_class_one_default"
            ),
        ]

    def __str__(self) -> str:
        return self.name_zh if (get_language() or "").startswith("zh") else self.name_en

    @property
    def place(self) -> str:
        """Where it is, as a reader knows it."""
        if self.kind == StorageKind.MOUNTED:
            return self.path
        return f"{self.endpoint} · {self.bucket}/{self.prefix}"
