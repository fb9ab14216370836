"""Nodes, their devices, and the slices of those: what is desired and what is observed.

Who writes what, so that nobody waits for somebody who reports: a node's sync writes the node and its slices;
a wish to end a slice is a row of its own (`SliceStop`); what is held of a device stands on the device, what is
measured on the node.
"""

import uuid
from typing import Any

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from apps.fleet.states import ENDED, Health, NodeState, SliceState
from apps.kernel.planes import TenantOwned


def uid_new() -> str:
    return uuid.uuid4().hex


class Node(models.Model):
    """A server with an agent. `measures` is what the agent last measured, by device uid."""

    uid = models.CharField(max_length=100, default=uid_new, unique=True, editable=False)
    name = models.CharField(_("name"), max_length=200)
    state = models.CharField(_("state"), max_length=16, choices=NodeState, default=NodeState.READY)
    is_drained = models.BooleanField(_("drained"), default=False)
    last_seen_at = models.DateTimeField(_("last seen"))
    boot_id = models.CharField(max_length=100, blank=True)
    sync_seq = models.PositiveBigIntegerField(default=0)
    old_boot_ids = models.JSONField(default=list, editable=False)
    info = models.JSONField(_("machine"), default=dict)
    measures = models.JSONField(_("measures"), default=dict)
    agent_version = models.CharField(_("agent version"), max_length=64, blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("node")
        verbose_name_plural = _("nodes")
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["name"], condition=~Q(state=NodeState.REMOVED), name="node_name_once"
            ),
            models.CheckConstraint(name="node_state_known", condition=Q(state__in=NodeState.values)),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_vouched(self) -> bool:
        """Whether somebody vouches for what runs here."""
        return self.state in (NodeState.READY, NodeState.DRAINED)


class Device(models.Model):
    """An accelerator. What its slices hold never exceeds what it has: the database refuses it."""

    uid = models.CharField(max_length=100, unique=True)
    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="devices")
    index = models.PositiveIntegerField(_("index"))
    vendor = models.CharField(_("vendor"), max_length=64)
    model = models.CharField(_("model"), max_length=200)
    memory_mib = models.PositiveBigIntegerField(_("memory (MiB)"))
    reported_memory_mib = models.PositiveBigIntegerField(_("memory reported (MiB)"), default=0)
    cores = models.PositiveIntegerField(_("cores"), default=0)
    driver_version = models.CharField(_("driver version"), max_length=64, blank=True)
    is_enabled = models.BooleanField(_("enabled"), default=True)
    is_simulated = models.BooleanField(_("simulated"), default=False)
    health = models.CharField(_("health"), max_length=16, choices=Health, default=Health.OK)
    health_reason = models.CharField(_("health reason"), max_length=500, blank=True)
    oversubscribe_permille = models.PositiveIntegerField(_("over-subscription (‰)"), default=1000)
    held_percent = models.PositiveIntegerField(_("compute held (%)"), default=0)
    held_mib = models.PositiveBigIntegerField(_("memory held (MiB)"), default=0)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("device")
        verbose_name_plural = _("devices")
        ordering = ["node", "index"]
        constraints = [
            models.CheckConstraint(
                name="device_compute_not_oversold",
                condition=Q(oversubscribe_permille__gte=F("held_percent") * 10),
            ),
            models.CheckConstraint(
                name="device_memory_not_oversold", condition=Q(memory_mib__gte=F("held_mib"))
            ),
            models.CheckConstraint(name="device_health_known", condition=Q(health__in=Health.values)),
        ]

    def __str__(self) -> str:
        return f"{self.node.name} #{self.index} {self.model}"

    @property
    def capacity_percent(self) -> int:
        """Percent of compute that may be handed out in all."""
        return self.oversubscribe_permille // 10

    @property
    def measured(self) -> dict[str, Any]:
        """What the agent last measured: utilisation_percent, memory_used_mib, temperature_c, power_w."""
        return self.node.measures.get(self.uid, {})


class Slice(TenantOwned):
    """A share of a device with its work. The slice holds the share until it has really ended."""

    uid = models.CharField(max_length=100, default=uid_new, unique=True, editable=False)
    workload_uid = models.UUIDField(_("workload"), db_index=True)
    device = models.ForeignKey(Device, on_delete=models.PROTECT, related_name="slices")
    compute_percent = models.PositiveSmallIntegerField(_("compute (%)"))
    memory_mib = models.PositiveBigIntegerField(_("memory (MiB)"))
    state = models.CharField(_("state"), max_length=16, choices=SliceState, default=SliceState.DESIRED)
    generation = models.PositiveBigIntegerField(default=1)
    work = models.JSONField(_("work"))
    run_timeout_s = models.PositiveIntegerField(_("run time (s)"), null=True, blank=True)
    reason_code = models.CharField(max_length=64, blank=True)
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    exit_code = models.IntegerField(_("exit code"), null=True, blank=True)
    started_at = models.DateTimeField(_("started at"), null=True, blank=True)
    ended_at = models.DateTimeField(_("ended at"), null=True, blank=True)
    usage_seq = models.PositiveBigIntegerField(default=0)
    metered_s = models.PositiveBigIntegerField(_("metered (s)"), default=0)
    memory_peak_mib = models.PositiveBigIntegerField(_("memory peak (MiB)"), default=0)
    log_first = models.PositiveBigIntegerField(default=0)
    log_next = models.PositiveBigIntegerField(default=0)
    memory_enforced_by = models.CharField(_("memory held by"), max_length=64, blank=True)
    compute_enforced_by = models.CharField(_("compute held by"), max_length=64, blank=True)
    delivered_percent = models.FloatField(_("compute delivered (%)"), null=True, blank=True)
    memory_used_mib = models.PositiveBigIntegerField(_("memory used (MiB)"), null=True, blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("slice")
        verbose_name_plural = _("slices")
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(name="slice_state_known", condition=Q(state__in=SliceState.values)),
            models.CheckConstraint(
                name="slice_share_possible",
                condition=Q(compute_percent__gte=1, compute_percent__lte=100, memory_mib__gte=1),
            ),
        ]
        indexes = [
            models.Index(fields=["device"], condition=~Q(state__in=ENDED), name="slice_live_by_device"),
        ]

    def __str__(self) -> str:
        return self.uid

    @property
    def is_ended(self) -> bool:
        return self.state in ENDED

    @property
    def desired(self) -> str:
        """`running` or `stopped`: what the node is asked for."""
        return "stopped" if hasattr(self, "stop") else "running"


class SliceStop(models.Model):
    """The wish that a slice ends. A row of its own: whoever wishes never waits for the node's report."""

    slice = models.OneToOneField(Slice, on_delete=models.PROTECT, related_name="stop")
    reason = models.CharField(_("reason"), max_length=200, blank=True)
    at = models.DateTimeField(_("time"), auto_now_add=True)

    class Meta:
        verbose_name = _("stop of a slice")
        verbose_name_plural = _("stops of slices")

    def __str__(self) -> str:
        return f"{self.slice_id} {self.reason}"


class LogChunk(models.Model):
    """A piece of what a slice's work printed. `offset` and `size` count UTF-8 bytes."""

    slice = models.ForeignKey(Slice, on_delete=models.CASCADE, related_name="chunks")
    offset = models.PositiveBigIntegerField()
    size = models.PositiveIntegerField()
    text = models.TextField()

    class Meta:
        verbose_name = _("piece of a log")
        verbose_name_plural = _("pieces of logs")
        ordering = ["slice", "offset"]
        constraints = [models.UniqueConstraint(fields=["slice", "offset"], name="log_chunk_once")]

    def __str__(self) -> str:
        return f"{self.slice_id} {self.offset}"
