"""How large elastic work is, and the rules by which it is scaled."""

import uuid

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from apps.scheduling.states import ScalingBy


class WorkloadSize(models.Model):
    """The size that elastic work was told last, and whether it goes by it (ELA-906).

    `shares` is what it is to have, `confirmed` what it had when the last change was settled; `step` counts the
    changes. A change is open until all shares that stay run and have confirmed it, or `due_at` has passed, and those
    that leave have ended. `target_changed_at`: when its scaling rules last changed what they ask for.
    """

    workload = models.OneToOneField(
        "scheduling.Workload", on_delete=models.CASCADE, related_name="size", verbose_name=_("workload")
    )
    shares = models.PositiveSmallIntegerField(_("shares"))
    confirmed = models.PositiveSmallIntegerField(_("shares confirmed"))
    step = models.PositiveIntegerField(_("changes"), default=1)
    is_open = models.BooleanField(_("being told"), default=False)
    due_at = models.DateTimeField(_("confirmed until"), null=True, blank=True)
    target_changed_at = models.DateTimeField(_("target changed at"), null=True, blank=True)

    class Meta:
        verbose_name = _("size of elastic work")
        verbose_name_plural = _("sizes of elastic work")
        indexes = [models.Index(fields=["workload"], name="size_open", condition=Q(is_open=True))]

    def __str__(self) -> str:
        return f"{self.workload_id} {self.shares}"


class ScalingRule(models.Model):
    """A policy that scales elastic work between its least and its most shares (ELA-907): of all elastic work of a
    queue, or of one workload.

    By queue depth or utilisation: at `high` and above, and at `low` and below, the target moves by `step` replicas
    (which are shares where a replica has one), at most once in `cooldown_s`; between them it stays.
    `grows_when_high` says which way. By time window: inside `windows` (as of queues) the target is `shares`; outside
    the rule asks for nothing.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    queue = models.ForeignKey(
        "scheduling.Queue", on_delete=models.CASCADE, null=True, related_name="scaling_rules", verbose_name=_("queue")
    )  # fmt: skip
    workload = models.ForeignKey(
        "scheduling.Workload", on_delete=models.CASCADE, null=True, related_name="scaling_rules",
        verbose_name=_("workload"),
    )  # fmt: skip
    by = models.CharField(_("by"), max_length=16, choices=ScalingBy)
    low = models.PositiveIntegerField(_("low"), default=0)
    high = models.PositiveIntegerField(_("high"), default=0)
    grows_when_high = models.BooleanField(_("grows when it is high"), default=True)
    step = models.PositiveSmallIntegerField(_("shares at a time"), default=1)
    shares = models.PositiveSmallIntegerField(_("shares"), null=True, blank=True)
    windows = models.JSONField(_("windows"), default=list, blank=True)
    cooldown_s = models.PositiveIntegerField(_("between two changes at least (s)"), default=300)
    made_by = models.ForeignKey(
        "identity.User", on_delete=models.PROTECT, null=True, related_name="+", verbose_name=_("made by")
    )
    created_at = models.DateTimeField(_("made at"), auto_now_add=True)

    class Meta:
        verbose_name = _("scaling rule")
        verbose_name_plural = _("scaling rules")
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                name="scaling_rule_of_one", condition=Q(queue__isnull=True) ^ Q(workload__isnull=True)
            ),
            models.CheckConstraint(
                name="scaling_rule_band", condition=Q(by="window") | Q(low__lt=F("high"), step__gte=1)
            ),
            models.CheckConstraint(
                name="scaling_rule_window", condition=~Q(by="window") | Q(shares__isnull=False, shares__gte=1)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.by} {self.uid}"
