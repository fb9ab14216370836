"""Queues, quotas, workloads and what they hold of the pool."""

import uuid

from django.db import models
from django.db.models import F, Q
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from apps.kernel.planes import TenantOwned
from apps.scheduling.engine.types import Ordering, Placing, QueueState
from apps.scheduling.states import AllocationState, HoldState, QuotaItem, WorkloadState


class Queue(models.Model):
    """Where workloads wait (PLAT-AICFG-23)."""

    STATES = [
        (QueueState.UP.value, _("UP")),
        (QueueState.DOWN.value, _("DOWN")),
        (QueueState.DRAIN.value, _("DRAIN")),
        (QueueState.INACTIVE.value, _("INACTIVE")),
    ]

    code = models.SlugField(_("code"), max_length=48, unique=True)
    name_en = models.CharField(_("name in English"), max_length=80)
    name_zh = models.CharField(_("name in Chinese"), max_length=80)
    state = models.CharField(_("state"), max_length=12, choices=STATES, default=QueueState.UP.value)
    priority = models.IntegerField(_("priority"), default=0)
    max_compute_percent = models.PositiveIntegerField(_("most compute (%)"), null=True, blank=True)
    max_memory_mib = models.PositiveIntegerField(_("most accelerator memory (MiB)"), null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("queue")
        verbose_name_plural = _("queues")
        ordering = ["code"]

    def __str__(self) -> str:
        return self.code


class SchedulingPolicy(models.Model):
    """The one row of the operators' choices (PLAT-AICFG-18)."""

    PLACINGS = [
        (Placing.SPREAD.value, _("Spread: a random node that fits")),
        (Placing.BEST_FIT.value, _("BestFit: the node with the least combined use")),
        (Placing.PACK.value, _("Pack: the fullest device that fits")),
        (Placing.BALANCE.value, _("Balance: the least used device")),
    ]
    ORDERINGS = [
        (Ordering.FIRST_COME.value, _("First in, first out")),
        (Ordering.PRIORITY.value, _("Priority")),
    ]

    placing = models.CharField(
        _("resource scheduling"), max_length=12, choices=PLACINGS, default=Placing.SPREAD.value
    )
    ordering = models.CharField(
        _("job scheduling"), max_length=12, choices=ORDERINGS, default=Ordering.FIRST_COME.value
    )
    has_backfill = models.BooleanField(_("smaller work may pass a waiting head"), default=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("scheduling policy")
        verbose_name_plural = _("scheduling policy")
        constraints = [models.CheckConstraint(name="scheduling_policy_one", condition=Q(pk=1))]

    def __str__(self) -> str:
        return f"{self.placing}, {self.ordering}"


class TenantQuota(TenantOwned):
    """The most a tenant may hold of one item; `allocated` of it is given on to its organizations."""

    item = models.CharField(_("item"), max_length=24, choices=QuotaItem)
    total = models.PositiveBigIntegerField(_("total"))
    allocated = models.PositiveBigIntegerField(_("allocated"), default=0)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("tenant quota")
        verbose_name_plural = _("tenant quotas")
        ordering = ["tenant", "item"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "item"], name="tenant_quota_once"),
            models.CheckConstraint(name="tenant_quota_allocated", condition=Q(allocated__lte=F("total"))),
        ]

    def __str__(self) -> str:
        return f"{self.tenant} {self.item}"


class QuotaHold(TenantOwned):
    """What a form or an order holds of one quota item: in process, then used, then given back."""

    holder_uid = models.UUIDField(_("holder"))
    item = models.CharField(_("item"), max_length=24, choices=QuotaItem)
    amount = models.PositiveBigIntegerField(_("amount"))
    state = models.CharField(_("state"), max_length=12, choices=HoldState, default=HoldState.IN_PROCESS)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("quota hold")
        verbose_name_plural = _("quota holds")
        constraints = [
            models.UniqueConstraint(fields=["tenant", "holder_uid", "item"], name="quota_hold_once"),
            models.CheckConstraint(name="quota_hold_amount", condition=Q(amount__gt=0)),
        ]
        indexes = [models.Index(fields=["tenant", "item", "state"], name="quota_hold_sums")]

    def __str__(self) -> str:
        return f"{self.item} {self.amount}"


class Workload(TenantOwned):
    """Work that asks for `shares` equal shares of devices, all or none (POOL-12.1, ELA-404)."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    no = models.CharField(_("number"), max_length=40)
    order_uid = models.UUIDField(_("order"))
    name_en = models.CharField(_("name in English"), max_length=120)
    name_zh = models.CharField(_("name in Chinese"), max_length=120)
    queue = models.ForeignKey(
        Queue, on_delete=models.PROTECT, related_name="workloads", verbose_name=_("queue")
    )
    priority = models.IntegerField(_("priority"), default=0)
    shares = models.PositiveSmallIntegerField(_("shares"), default=1)
    compute_percent = models.PositiveSmallIntegerField(_("compute share (%)"))
    memory_mib = models.PositiveIntegerField(_("accelerator memory (MiB)"))
    pins = models.JSONField(_("pins"), default=dict)
    work = models.JSONField(_("work"), default=dict)
    run_timeout_s = models.PositiveIntegerField(_("runs at most (s)"), null=True, blank=True)
    labels = models.JSONField(_("labels"), default=dict)
    state = models.CharField(_("state"), max_length=12, choices=WorkloadState, default=WorkloadState.PENDING)
    reason_code = models.CharField(_("reason code"), max_length=40, blank=True)
    reason = models.JSONField(_("reason"), default=dict)
    position = models.PositiveIntegerField(_("place in the queue"), null=True)
    created_at = models.DateTimeField(_("submitted at"), auto_now_add=True)
    placed_at = models.DateTimeField(_("placed at"), null=True)
    started_at = models.DateTimeField(_("started at"), null=True)
    ended_at = models.DateTimeField(_("ended at"), null=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("workload")
        verbose_name_plural = _("workloads")
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "order_uid"], name="workload_once_per_order"),
            models.CheckConstraint(
                name="workload_amounts",
                condition=Q(
                    shares__gte=1, compute_percent__gte=1, compute_percent__lte=100, memory_mib__gte=1
                ),
            ),
            models.CheckConstraint(name="workload_state", condition=Q(state__in=WorkloadState.values)),
        ]
        indexes = [
            models.Index(fields=["state", "id"], name="workload_waiting"),
            models.Index(fields=["tenant", "-created_at"], name="workload_of_tenant"),
        ]

    def __str__(self) -> str:
        return self.no

    @property
    def name(self) -> str:
        """The name in the language of the reader."""
        return self.name_zh if (get_language() or "").startswith("zh") else self.name_en

    @property
    def is_final(self) -> bool:
        return self.state in (WorkloadState.FINISHED, WorkloadState.FAILED, WorkloadState.LOST)


class Allocation(models.Model):
    """One share of a workload on one device, held by one slice."""

    workload = models.ForeignKey(Workload, on_delete=models.PROTECT, related_name="allocations")
    device = models.ForeignKey("fleet.Device", on_delete=models.PROTECT, related_name="+")
    compute_percent = models.PositiveSmallIntegerField()
    memory_mib = models.PositiveIntegerField()
    is_exclusive = models.BooleanField(default=False)
    slice_uid = models.UUIDField(unique=True)
    state = models.CharField(max_length=12, choices=AllocationState, default=AllocationState.ACTIVE)
    created_at = models.DateTimeField(auto_now_add=True)
    released_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("allocation")
        verbose_name_plural = _("allocations")
        ordering = ["pk"]
        indexes = [models.Index(fields=["state"], name="allocation_active")]

    def __str__(self) -> str:
        return str(self.slice_uid)
