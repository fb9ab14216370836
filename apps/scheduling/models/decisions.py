"""What the scheduler keeps of its own decisions: why, when, what was estimated, what was used, what would be."""

import uuid

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from apps.kernel.planes import TenantOwned
from apps.scheduling.states import DecisionKind, WhatIfState


class Decision(models.Model):
    """One line of a workload's time line (ELA-504); never changed. `waiting` is written only where the reason
    changed."""

    workload = models.ForeignKey("scheduling.Workload", on_delete=models.CASCADE, related_name="decisions")
    at = models.DateTimeField(_("at"), default=timezone.now)
    kind = models.CharField(_("what"), max_length=16, choices=DecisionKind)
    code = models.CharField(_("reason code"), max_length=40, blank=True)
    params = models.JSONField(_("figures"), default=dict)
    actor = models.CharField(_("by"), max_length=150, blank=True)

    class Meta:
        verbose_name = _("decision")
        verbose_name_plural = _("decisions")
        ordering = ["pk"]
        indexes = [models.Index(fields=["kind", "at"], name="decision_kinds")]

    def __str__(self) -> str:
        return f"{self.workload_id} {self.kind}"


class NominatedRoom(models.Model):
    """Room that is made for a workload, and kept for it until it starts there (ELA-807): `grants` as the engine names
    them. Only the leader writes these, before it stops or moves anything for them; the next leader goes on with them.
    """

    workload = models.OneToOneField(
        "scheduling.Workload",
        on_delete=models.CASCADE,
        related_name="nominated_room",
        verbose_name=_("workload"),
    )
    since_at = models.DateTimeField(_("kept since"))
    grants = models.JSONField(_("shares"))

    class Meta:
        verbose_name = _("nominated room")
        verbose_name_plural = _("nominated room")

    def __str__(self) -> str:
        return str(self.workload_id)


class StartEstimate(models.Model):
    """When a workload was told it would start, and whether that came true. `basis`: see the engine's EtaBasis."""

    workload = models.OneToOneField(
        "scheduling.Workload",
        on_delete=models.CASCADE,
        related_name="start_estimate",
        verbose_name=_("workload"),
    )
    queue = models.ForeignKey(
        "scheduling.Queue", on_delete=models.PROTECT, related_name="+", verbose_name=_("queue")
    )
    made_at = models.DateTimeField(_("made at"), auto_now_add=True)
    basis = models.CharField(_("rests on"), max_length=16)
    start_at = models.DateTimeField(_("expected start"), null=True)
    low_at = models.DateTimeField(_("not before"), null=True)
    high_at = models.DateTimeField(_("not after"), null=True)
    started_at = models.DateTimeField(_("started at"), null=True)
    is_kept = models.BooleanField(_("kept"), null=True)
    error_s = models.IntegerField(_("off by (s)"), null=True)

    class Meta:
        verbose_name = _("start estimate")
        verbose_name_plural = _("start estimates")
        ordering = ["-pk"]
        indexes = [models.Index(fields=["started_at"], name="start_estimate_scored")]

    def __str__(self) -> str:
        return f"{self.workload_id} {self.start_at}"


class PastUse(TenantOwned):
    """What a tenant used until `as_of_at`, older use counting less by the policy's half-life (ELA-1008)."""

    card_seconds = models.FloatField(_("card seconds"), default=0)
    as_of_at = models.DateTimeField(_("as of"))

    class Meta(TenantOwned.Meta):
        verbose_name = _("past use")
        verbose_name_plural = _("past use")
        constraints = [models.UniqueConstraint(fields=["tenant"], name="past_use_once")]

    def __str__(self) -> str:
        return f"{self.tenant} {self.card_seconds:.0f}"


class Tally(models.Model):
    """How many there ever were of a kind: the sum of its rows.

    Triggers write a row in the transaction that makes what is counted, and nobody waits for anybody: rows are added
    and folded, never changed.
    """

    DECISIONS = "decision"
    ENDED = "ended"

    of = models.CharField(_("of"), max_length=12)
    kind = models.CharField(_("what"), max_length=16)
    count = models.BigIntegerField(_("how many"))

    class Meta:
        verbose_name = _("tally")
        verbose_name_plural = _("tallies")

    def __str__(self) -> str:
        return f"{self.of} {self.kind} {self.count}"


class WhatIf(models.Model):
    """A replay of the last days' submissions under other settings, and what came of it."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    name = models.CharField(_("name"), max_length=80)
    made_by = models.ForeignKey(
        "identity.User", on_delete=models.PROTECT, null=True, related_name="+", verbose_name=_("made by")
    )
    changes = models.JSONField(_("changes"), default=dict)
    days = models.PositiveSmallIntegerField(pgettext_lazy("how many", "days"), default=7)
    state = models.CharField(_("state"), max_length=12, choices=WhatIfState, default=WhatIfState.WAITING)
    result = models.JSONField(_("result"), default=dict)
    error = models.TextField(_("error"), blank=True)
    created_at = models.DateTimeField(_("made at"), auto_now_add=True)
    began_at = models.DateTimeField(_("began at"), null=True)
    ended_at = models.DateTimeField(_("ended at"), null=True)

    class Meta:
        verbose_name = _("what-if")
        verbose_name_plural = _("what-ifs")
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.name
