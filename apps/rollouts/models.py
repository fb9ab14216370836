"""Releases, the roll-outs that carry them, and the server's own processes."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.kernel.translatable import message_text
from apps.rollouts.states import ProcessKind, ProcessState, RolloutState, StepState, TargetKind


class ReleaseKey(models.Model):
    """A public key (Ed25519, hexadecimal) whose signature a release may carry."""

    public_key = models.CharField(_("public key"), max_length=64, unique=True)
    name = models.CharField(_("name"), max_length=80)
    revoked_at = models.DateTimeField(_("revoked at"), null=True, blank=True)
    created_at = models.DateTimeField(_("trusted since"), auto_now_add=True)

    class Meta:
        verbose_name = _("release key")
        verbose_name_plural = _("release keys")
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.name} {self.public_key[:12]}"


class Release(models.Model):
    """A signed archive of the agent's packages. In the database, so that every web server has it."""

    version = models.CharField(_("version"), max_length=64, unique=True)
    content = models.BinaryField()
    size = models.PositiveIntegerField(_("size (bytes)"))
    file_count = models.PositiveIntegerField(_("files"))
    sha256 = models.CharField(_("SHA-256"), max_length=64)
    signature = models.CharField(_("signature"), max_length=128)
    key = models.ForeignKey(
        ReleaseKey, on_delete=models.PROTECT, related_name="+", verbose_name=_("signed by")
    )
    notes = models.CharField(_("notes"), max_length=500, blank=True)
    created_by = models.CharField(_("added by"), max_length=150, blank=True)
    created_at = models.DateTimeField(_("added at"), auto_now_add=True)

    class Meta:
        verbose_name = _("release")
        verbose_name_plural = _("releases")
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return self.version


class Rollout(models.Model):
    """A release or a configuration on its way to its targets, batch by batch (POOL-12.22).

    `gate_s`: how long a target may take to be healthy with it. `config`: the values asked for, else {}. `why`: a
    sentence as `kernel.translatable` keeps it.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    release = models.ForeignKey(
        Release, on_delete=models.PROTECT, null=True, blank=True, related_name="+", verbose_name=_("release")
    )
    config = models.JSONField(_("configuration"), default=dict, blank=True)
    batch = models.PositiveSmallIntegerField(_("targets in a batch"), default=1)
    gate_s = models.PositiveIntegerField(_("time for each target (s)"), default=60)
    state = models.CharField(_("state"), max_length=16, choices=RolloutState, default=RolloutState.RUNNING)
    why = models.JSONField(_("reason"), default=dict, blank=True)
    created_by = models.CharField(_("started by"), max_length=150, blank=True)
    created_at = models.DateTimeField(_("started at"), auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    finished_at = models.DateTimeField(_("finished at"), null=True, blank=True)

    class Meta:
        verbose_name = _("roll-out")
        verbose_name_plural = _("roll-outs")
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(name="rollout_state", condition=Q(state__in=RolloutState.values)),
            models.CheckConstraint(name="rollout_batch", condition=Q(batch__gte=1, gate_s__gte=1)),
        ]

    def __str__(self) -> str:
        return str(self.uid)

    @property
    def reason(self) -> str:
        """Why it goes back, in the reader's language."""
        return message_text(self.why)


class RolloutStep(models.Model):
    """One target of a roll-out. `before` is what it was told before, `slices` what ran there at the start."""

    rollout = models.ForeignKey(Rollout, on_delete=models.CASCADE, related_name="steps")
    batch_no = models.PositiveSmallIntegerField(_("batch"))
    kind = models.CharField(_("kind"), max_length=8, choices=TargetKind)
    node_uid = models.CharField(max_length=64, blank=True)
    name = models.CharField(_("target"), max_length=200)
    state = models.CharField(_("state"), max_length=16, choices=StepState, default=StepState.WAITING)
    is_open = models.BooleanField(default=True)
    from_version = models.CharField(_("from"), max_length=64, blank=True)
    to_version = models.CharField(_("to"), max_length=64, blank=True)
    before = models.JSONField(default=dict, blank=True)
    generation = models.PositiveBigIntegerField(default=0)
    slices = models.JSONField(default=list, blank=True)
    why = models.JSONField(_("reason"), default=dict, blank=True)
    started_at = models.DateTimeField(_("started at"), null=True, blank=True)
    finished_at = models.DateTimeField(_("finished at"), null=True, blank=True)

    class Meta:
        verbose_name = _("step")
        verbose_name_plural = _("steps")
        ordering = ["rollout", "batch_no", "pk"]
        constraints = [
            models.CheckConstraint(name="rolloutstep_state", condition=Q(state__in=StepState.values)),
            models.UniqueConstraint(
                name="rollout_target_once", fields=["kind", "node_uid"], condition=Q(is_open=True)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.state}"

    @property
    def reason(self) -> str:
        """Why it failed, in the reader's language."""
        return message_text(self.why)


class ServerProcess(models.Model):
    """One process of the server, as it told of itself last. `generation` is the one it was started for."""

    host = models.CharField(_("host"), max_length=200)
    name = models.CharField(_("name"), max_length=64)
    kind = models.CharField(_("component"), max_length=16, choices=ProcessKind)
    pid = models.PositiveIntegerField(_("process"))
    version = models.CharField(_("version"), max_length=64)
    state = models.CharField(_("state"), max_length=16, choices=ProcessState, default=ProcessState.RUNNING)
    generation = models.PositiveBigIntegerField(default=0)
    started_at = models.DateTimeField(_("started at"))
    seen_at = models.DateTimeField(_("last seen at"))
    restart_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("server process")
        verbose_name_plural = _("server processes")
        ordering = ["kind", "host", "name"]
        constraints = [models.UniqueConstraint(fields=["host", "name"], name="server_process_once")]

    def __str__(self) -> str:
        return f"{self.name} on {self.host}"


class ServerGeneration(models.Model):
    """The generation every server process should have been started for."""

    is_only = models.BooleanField(default=True, unique=True)
    generation = models.PositiveBigIntegerField(default=0)

    class Meta:
        verbose_name = _("server generation")
        verbose_name_plural = _("server generations")
        constraints = [models.CheckConstraint(name="server_generation_only_one", condition=Q(is_only=True))]

    def __str__(self) -> str:
        return str(self.generation)


class Lease(models.Model):
    """Who leads in something that several could do, and until when, by the database's clock."""

    name = models.CharField(max_length=64, unique=True)
    holder = models.CharField(max_length=200)
    until_at = models.DateTimeField()

    class Meta:
        verbose_name = _("lease")
        verbose_name_plural = _("leases")

    def __str__(self) -> str:
        return f"{self.name}: {self.holder}"


class Backup(models.Model):
    """One backup that was tried: where it lies, or why there is none."""

    host = models.CharField(_("host"), max_length=200)
    path = models.CharField(_("file"), max_length=500)
    size = models.PositiveBigIntegerField(_("size (bytes)"), default=0)
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    started_at = models.DateTimeField(_("started at"), db_index=True)
    finished_at = models.DateTimeField(_("finished at"))

    class Meta:
        verbose_name = _("backup")
        verbose_name_plural = _("backups")
        ordering = ["-started_at", "-pk"]

    def __str__(self) -> str:
        return self.path

    @property
    def is_good(self) -> bool:
        return not self.reason
