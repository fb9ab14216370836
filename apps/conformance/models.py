"""Runs of the acceptance test, what each test saw, and what a run made in the pool and has still to take back."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.conformance.states import OPEN, Outcome, RunState


class ConformanceRun(models.Model):
    """One examination of the pool. `report` is signed and final; `heard_at` is when its runner last spoke."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    state = models.CharField(_("state"), max_length=16, choices=RunState, default=RunState.QUEUED)
    numbers = models.JSONField(_("tests"), default=list)
    started_by = models.CharField(_("started by"), max_length=120)
    url = models.CharField(_("address"), max_length=300, blank=True)
    inventory = models.JSONField(default=dict)
    report = models.JSONField(null=True, blank=True)
    level_reached = models.PositiveSmallIntegerField(_("level reached"), null=True, blank=True)
    # Host, process and the process's begin: a runner of this machine that died is known at once.
    runner = models.JSONField(default=dict)
    is_background = models.BooleanField(default=True)
    is_stop_wanted = models.BooleanField(default=False)
    note = models.CharField(_("reason"), max_length=500, blank=True)
    created_at = models.DateTimeField(_("asked at"), auto_now_add=True)
    started_at = models.DateTimeField(_("started at"), null=True, blank=True)
    heard_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(_("ended at"), null=True, blank=True)

    class Meta:
        verbose_name = _("conformance run")
        verbose_name_plural = _("conformance runs")
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(name="conformance_run_state", condition=Q(state__in=RunState.values)),
            models.UniqueConstraint(
                models.Value(1), name="conformance_one_open_run", condition=Q(state__in=sorted(OPEN))
            ),
        ]

    def __str__(self) -> str:
        return str(self.uid)[:8]

    @property
    def is_open(self) -> bool:
        return self.state in OPEN


class ConformanceResult(models.Model):
    """What one test of a run saw: steps with figures, expectations with evidence."""

    run = models.ForeignKey(ConformanceRun, on_delete=models.CASCADE, related_name="results")
    number = models.CharField(_("test"), max_length=8)
    position = models.PositiveSmallIntegerField()
    outcome = models.CharField(_("outcome"), max_length=8, choices=Outcome, default=Outcome.WAITING)
    reason = models.TextField(_("reason"), blank=True)
    steps = models.JSONField(default=list)
    expectations = models.JSONField(default=list)
    hardware = models.JSONField(_("hardware"), default=list)
    started_at = models.DateTimeField(_("started at"), null=True, blank=True)
    ended_at = models.DateTimeField(_("ended at"), null=True, blank=True)

    class Meta:
        verbose_name = _("conformance result")
        verbose_name_plural = _("conformance results")
        ordering = ["run", "position"]
        constraints = [models.UniqueConstraint(fields=["run", "number"], name="conformance_result_once")]

    def __str__(self) -> str:
        return f"{self.number}: {self.outcome}"

    @property
    def is_simulated(self) -> bool:
        """Whether one of the devices that it used is simulated by its driver."""
        return any(kind["is_simulated"] for kind in self.hardware)

    @property
    def seconds(self) -> float | None:
        """How long it took."""
        if self.started_at is None or self.ended_at is None:
            return None
        return (self.ended_at - self.started_at).total_seconds()


class Trace(models.Model):
    """Something a run made or changed in the pool, written down before it was done, until it is taken back."""

    run = models.ForeignKey(ConformanceRun, on_delete=models.CASCADE, related_name="traces")
    kind = models.CharField(max_length=32)
    key = models.CharField(max_length=300)
    detail = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("trace of a conformance run")
        verbose_name_plural = _("traces of conformance runs")
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


class ReportKey(models.Model):
    """A public key with which this portal signed reports: an old report is still known as its own."""

    public_key = models.CharField(_("public key"), max_length=64, unique=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("report key")
        verbose_name_plural = _("report keys")
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return self.public_key[:16]
