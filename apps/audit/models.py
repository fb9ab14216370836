"""What was done, by whom: rows that are only ever added, and the seals that prove it."""

import uuid

from django.db import models
from django.db.models import Func
from django.utils.translation import gettext_lazy as _


class Record(models.Model):
    """One act. A trigger refuses to change or delete it.

    `txid` says which transaction wrote it, so that a seal can wait until no older transaction is still open.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    name = models.CharField(_("act"), max_length=80)
    actor_kind = models.CharField(_("kind of actor"), max_length=12)
    actor_name = models.CharField(_("actor"), max_length=120)
    user = models.ForeignKey(
        "identity.User", null=True, on_delete=models.PROTECT, related_name="+", verbose_name=_("user")
    )
    role = models.CharField(_("role"), max_length=64, blank=True)
    schema = models.CharField(_("tenant"), max_length=63, blank=True)
    request_id = models.CharField(_("request"), max_length=64, blank=True)
    subject_kind = models.CharField(_("kind of subject"), max_length=40, blank=True)
    subject_id = models.CharField(_("subject"), max_length=64, blank=True)
    detail = models.JSONField(_("detail"), default=dict)
    at = models.DateTimeField(_("time"))
    txid = models.BigIntegerField(
        db_default=Func(
            template="(pg_current_xact_id()::text::bigint)", output_field=models.BigIntegerField()
        )
    )

    class Meta:
        verbose_name = _("operation record")
        verbose_name_plural = _("operation log")
        ordering = ["-at", "-pk"]
        indexes = [
            models.Index(fields=["txid", "id"], name="record_by_txid"),
            models.Index(fields=["-at", "-id"], name="record_by_time"),
            models.Index(fields=["subject_kind", "subject_id"], name="record_by_subject"),
            models.Index(fields=["schema", "-at"], name="record_by_tenant"),
        ]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.actor_name} {self.name}"


class Seal(models.Model):
    """A link of the hash chain: covers all records since the last one, up to `until_txid`."""

    until_txid = models.BigIntegerField(_("up to transaction"), unique=True)
    count = models.PositiveIntegerField(_("records"))
    previous = models.CharField(_("previous digest"), max_length=64, blank=True, unique=True)
    digest = models.CharField(_("digest"), max_length=64, unique=True)
    at = models.DateTimeField(_("time"), auto_now_add=True)

    class Meta:
        verbose_name = _("seal")
        verbose_name_plural = _("seals")
        ordering = ["-until_txid"]

    def __str__(self) -> str:
        return self.digest[:12]
