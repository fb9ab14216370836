"""Alarms with their rules, routes and deliveries; measured series and their hourly sums; the log."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.kernel.translatable import sentence
from apps.telemetry.alarm_metrics import METRIC_CHOICES, METRICS
from apps.telemetry.states import (
    AlarmLevel,
    AlarmState,
    Channel,
    Comparison,
    DeliveryState,
    HookKind,
    LogLevel,
    PowerSource,
)


class AlarmRule(models.Model):
    """When an alarm is raised: `metric` compared with `threshold` for `for_s` seconds (POOL-12.19).

    `subject` narrows it to one device, node, queue …; empty: all. A rule of something that happens has no figure:
    its alarms end by themselves once `ends_after_s` have passed without another.
    """

    code = models.SlugField(_("code"), max_length=48, unique=True)
    metric = models.CharField(_("metric"), max_length=32, choices=METRIC_CHOICES)
    comparison = models.CharField(_("comparison"), max_length=2, choices=Comparison, default=Comparison.GE)
    threshold = models.FloatField(_("threshold"), default=1)
    for_s = models.PositiveIntegerField(_("for (s)"), default=0)
    severity = models.CharField(_("severity"), max_length=16, choices=AlarmLevel)
    subject = models.CharField(_("subject"), max_length=128, blank=True)
    ends_after_s = models.PositiveIntegerField(_("ends after (s) of quiet"), null=True, blank=True)
    is_enabled = models.BooleanField(_("enabled"), default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("alarm rule")
        verbose_name_plural = _("alarm rules")
        ordering = ["code"]
        constraints = [
            models.CheckConstraint(name="alarm_rule_severity", condition=Q(severity__in=AlarmLevel.values)),
            models.CheckConstraint(
                name="alarm_rule_comparison", condition=Q(comparison__in=Comparison.values)
            ),
        ]

    def __str__(self) -> str:
        return self.code

    @property
    def is_event(self) -> bool:
        return METRICS[self.metric].is_event

    @property
    def unit(self) -> str:
        return METRICS[self.metric].unit


class AlarmBreach(models.Model):
    """A rule that is being broken by a subject, since when: rings once it has lasted for the rule's time."""

    rule = models.ForeignKey(AlarmRule, on_delete=models.CASCADE, related_name="breaches")
    subject = models.CharField(max_length=128)
    since_at = models.DateTimeField()

    class Meta:
        verbose_name = _("breach")
        verbose_name_plural = _("breaches")
        constraints = [models.UniqueConstraint(fields=["rule", "subject"], name="alarm_breach_once")]

    def __str__(self) -> str:
        return f"{self.rule_id} {self.subject}"


class Alarm(models.Model):
    """Something is wrong and somebody should know. While it is not resolved there is one for each `key`.

    The title is kept as English source and figures: its language is chosen at reading.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    key = models.CharField(_("key"), max_length=200)
    level = models.CharField(_("level"), max_length=16, choices=AlarmLevel)
    state = models.CharField(_("state"), max_length=16, choices=AlarmState, default=AlarmState.FIRING)
    rule = models.ForeignKey(
        AlarmRule,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="alarms",
        verbose_name=_("rule"),
    )
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
        indexes = [
            models.Index(fields=["state", "-created_at", "-id"], name="alarm_by_state"),
            # The page of alarms and, with their levels, its trend by day.
            models.Index(fields=["-fired_at", "-id"], name="alarm_newest", include=["level"]),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def title(self) -> str:
        params = dict(self.params)
        if params.get("power_source"):
            params["power_source"] = gettext(params["power_source"])
        return sentence(self.msgid, params)

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


class Rollup(models.Model):
    """An hour of one figure: its sum over time, so that watts become energy and percent held a share of the hour.

    `weighted` is the figure times the seconds it was seen, `seconds` how long it was seen. Kept for 400 days.
    """

    series = models.CharField(_("series"), max_length=32)
    kind = models.CharField(_("kind of subject"), max_length=16)
    subject = models.CharField(_("subject"), max_length=128)
    tenant = models.CharField(_("tenant"), max_length=63, blank=True)
    source = models.CharField(_("known by"), max_length=16, choices=PowerSource, blank=True)
    hour = models.DateTimeField(_("hour"))
    weighted = models.FloatField(_("figure × seconds"), default=0)
    seconds = models.FloatField(_("seconds"), default=0)
    peak = models.FloatField(_("peak"), default=0)

    class Meta:
        verbose_name = _("hourly figure")
        verbose_name_plural = _("hourly figures")
        ordering = ["hour", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["series", "kind", "subject", "tenant", "source", "hour"], name="rollup_once"
            )
        ]
        indexes = [models.Index(fields=["series", "kind", "hour"], name="rollup_by_series")]

    def __str__(self) -> str:
        return f"{self.series} {self.subject} {self.hour}"


class PastShare(models.Model):
    """What a share held before it was resized, from then until then: allocations say only what it holds now."""

    slice_uid = models.UUIDField(_("slice"), db_index=True)
    from_at = models.DateTimeField(_("from"), null=True)
    until_at = models.DateTimeField(_("until"))
    compute_percent = models.PositiveIntegerField(_("compute share (%)"))
    memory_mib = models.PositiveBigIntegerField(_("memory (MiB)"))

    class Meta:
        verbose_name = _("past share")
        verbose_name_plural = _("past shares")
        ordering = ["until_at", "pk"]
        indexes = [models.Index(fields=["until_at"], name="past_share_by_end")]

    def __str__(self) -> str:
        return f"{self.slice_uid} {self.until_at}"


class Turn(models.Model):
    """Whose turn it is to do something that only one process may do at a time, and when it was done last."""

    name = models.CharField(max_length=32, unique=True)
    at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("turn")
        verbose_name_plural = _("turns")

    def __str__(self) -> str:
        return self.name


class AlarmRoute(models.Model):
    """Who is told of alarms of which severities, and how (POOL-12.19). No severity chosen: all of them."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    name = models.CharField(_("name"), max_length=80, blank=True)
    channel = models.CharField(_("channel"), max_length=16, choices=Channel)
    severities = ArrayField(
        models.CharField(max_length=16, choices=AlarmLevel),
        default=list,
        blank=True,
        verbose_name=_("severities"),
    )
    addresses = ArrayField(models.EmailField(), default=list, blank=True, verbose_name=_("addresses"))
    roles = ArrayField(models.SlugField(max_length=48), default=list, blank=True, verbose_name=_("roles"))
    # A webhook's address holds what opens it: who reads the row sees its host alone.
    hook_kind = models.CharField(_("kind of webhook"), max_length=16, choices=HookKind, blank=True)
    hook_host = models.CharField(_("host"), max_length=255, blank=True)
    hook_sealed = models.TextField(blank=True, editable=False)
    hook_secret_sealed = models.TextField(blank=True, editable=False)
    is_enabled = models.BooleanField(_("enabled"), default=True)
    # Kept when an operator removes it, for what was delivered by it.
    removed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("alarm route")
        verbose_name_plural = _("alarm routes")
        ordering = ["created_at", "pk"]
        constraints = [
            models.CheckConstraint(name="alarm_route_channel", condition=Q(channel__in=Channel.values))
        ]

    def __str__(self) -> str:
        return self.name or ", ".join([*self.addresses, *self.roles]) or self.hook_host


class AlarmDelivery(models.Model):
    """One alarm, or that it is over (`is_over`), told over one route: when, or why not yet."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    alarm = models.ForeignKey(
        Alarm, on_delete=models.PROTECT, related_name="deliveries", verbose_name=_("alarm")
    )
    route = models.ForeignKey(
        AlarmRoute, on_delete=models.PROTECT, related_name="deliveries", verbose_name=_("route")
    )
    is_over = models.BooleanField(_("over"), default=False)
    channel = models.CharField(_("channel"), max_length=16, choices=Channel)
    state = models.CharField(_("state"), max_length=16, choices=DeliveryState, default=DeliveryState.PENDING)
    error = models.CharField(_("error"), max_length=300, blank=True)
    tries = models.PositiveSmallIntegerField(_("tries"), default=0)
    next_try_at = models.DateTimeField(_("next try at"))
    sent_at = models.DateTimeField(_("sent at"), null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("alarm delivery")
        verbose_name_plural = _("alarm deliveries")
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["alarm", "route", "is_over"], name="alarm_delivery_once"),
            models.CheckConstraint(name="alarm_delivery_state", condition=Q(state__in=DeliveryState.values)),
        ]
        indexes = [
            models.Index(
                fields=["next_try_at"], name="alarm_delivery_due", condition=Q(state=DeliveryState.PENDING)
            )
        ]

    def __str__(self) -> str:
        return str(self.uid)


class LogEntry(models.Model):
    """A line of the pool's log (POOL-12.18). `task` is a workload's uid, `priority` that task's."""

    at = models.DateTimeField(_("time"))
    level = models.CharField(_("level"), max_length=8, choices=LogLevel)
    component = models.CharField(_("component"), max_length=64, blank=True)
    node = models.CharField(_("node"), max_length=200, blank=True)
    task = models.CharField(_("task"), max_length=64, blank=True)
    tenant = models.CharField(_("tenant"), max_length=63, blank=True)
    priority = models.IntegerField(_("task priority"), null=True, blank=True)
    text = models.TextField(_("text"))

    class Meta:
        verbose_name = _("log entry")
        verbose_name_plural = _("log entries")
        ordering = ["-at", "-pk"]
        constraints = [models.CheckConstraint(name="log_entry_level", condition=Q(level__in=LogLevel.values))]
        indexes = [
            models.Index(fields=["-at", "-id"], name="log_by_time"),
            models.Index(fields=["level", "-at"], name="log_by_level"),
            models.Index(fields=["task", "-at"], name="log_by_task", condition=~Q(task="")),
            models.Index(fields=["node", "-at"], name="log_by_node", condition=~Q(node="")),
        ]

    def __str__(self) -> str:
        return f"{self.at} {self.level} {self.component}"
