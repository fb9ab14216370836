"""Alarms and measured series."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.telemetry.states import AlarmLevel, AlarmState


class Alarm(models.Model):
    """Something is wrong and somebody should know. While it is not resolved there is one for each `key`.

    The title is kept as English source and figures: its language is chosen at reading.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    key = models.CharField(_("key"), max_length=200)
    level = models.CharField(_("level"), max_length=16, choices=AlarmLevel)
    state = models.CharField(_("state"), max_length=16, choices=AlarmState, default=AlarmState.FIRING)
    source = models.CharField(_("source"), max_length=64)
    subject_kind = models.CharField(_("kind of subject"), max_length=32, blank=True)
    subject_id = models.CharField(_("subject"), max_length=128, blank=True)
    msgid = models.CharField(max_length=240)
    params = models.JSONField(default=dict)
    count = models.PositiveIntegerField(_("times raised"), default=1)
    fired_at = models.DateTimeField(_("since"))
    raised_at = models.DateTimeField(_("last raised at"))
    acknowledged_at = models.DateTimeField(_("acknowledged at"), null=True, blank=True)
    acknowledged_by = models.ForeignKey(
        "identity.User",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        verbose_name=_("acknowledged by"),
    )
    resolved_at = models.DateTimeField(_("resolved at"), null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("alarm")
        verbose_name_plural = _("alarms")
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(name="alarm_state", condition=Q(state__in=AlarmState.values)),
            models.CheckConstraint(name="alarm_level", condition=Q(level__in=AlarmLevel.values)),
            models.UniqueConstraint(
                name="alarm_once_while_open", fields=["key"], condition=~Q(state=AlarmState.RESOLVED)
            ),
        ]
        indexes = [models.Index(fields=["state", "-created_at", "-id"], name="alarm_by_state")]

    def __str__(self) -> str:
        return self.title

    @property
    def title(self) -> str:
        return gettext(self.msgid) % self.params

    @property
    def is_open(self) -> bool:
        return self.state != AlarmState.RESOLVED


class Sample(models.Model):
    """One measured value of a subject's series at an instant. Kept for a bounded time."""

    series = models.CharField(_("series"), max_length=64)
    subject = models.CharField(_("subject"), max_length=128)
    at = models.DateTimeField(_("time"))
    value = models.FloatField(_("value"))

    class Meta:
        verbose_name = _("sample")
        verbose_name_plural = _("samples")
        ordering = ["at", "pk"]
        constraints = [models.UniqueConstraint(name="sample_once", fields=["series", "subject", "at"])]
        indexes = [models.Index(fields=["at"], name="sample_age")]

    def __str__(self) -> str:
        return f"{self.series} {self.subject} {self.at}"
