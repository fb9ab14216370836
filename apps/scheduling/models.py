"""Queues, quotas, workloads and what they hold of the pool."""

import uuid

from django.db import models
from django.db.models import F, Q
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from apps.kernel.planes import TenantOwned
from apps.scheduling.engine.types import Ordering, Placing, QueueState
from apps.scheduling.states import AllocationState, HoldState, QuotaItem, WorkKind, WorkloadState

# Six of them are the pooling standard's words (POOL-12.27); the engine's `Placing` says what each does.
PLACINGS = [
    (Placing.SPREAD.value, _("Spread: a random node that fits")),
    (Placing.BEST_FIT.value, _("BestFit: the node with the least combined use")),
    (Placing.LOCAL.value, _("Local: the local node and no other")),
    (Placing.LOCAL_FIRST.value, _("Local first: the local node, else the least used one")),
    (Placing.NODE_BALANCED.value, _("Node balanced: the least used node")),
    (Placing.NODE_COMPACT.value, _("Node compact: the fullest node that fits")),
    (Placing.DEVICE_BALANCED.value, _("Device balanced: the least used device")),
    (Placing.DEVICE_COMPACT.value, _("Device compact: the fullest device that fits")),
]
ORDERINGS = [
    (Ordering.FIRST_COME.value, _("First in, first out")),
    (Ordering.PRIORITY.value, _("Priority")),
]


class Queue(models.Model):
    """Where workloads wait (PLAT-AICFG-23). An empty ordering or placing is the policy's; with `QueueTenant` rows
    only those tenants are admitted (ELA-608)."""

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
    ordering = models.CharField(_("job scheduling"), max_length=12, choices=ORDERINGS, blank=True)
    placing = models.CharField(_("resource scheduling"), max_length=16, choices=PLACINGS, blank=True)
    resource_group = models.CharField(_("resource group"), max_length=48, blank=True)
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


class QueueTenant(TenantOwned):
    """A tenant that a queue admits."""

    queue = models.ForeignKey(
        Queue, on_delete=models.CASCADE, related_name="admitted", verbose_name=_("queue")
    )

    class Meta(TenantOwned.Meta):
        verbose_name = _("admitted tenant")
        verbose_name_plural = _("admitted tenants")
        constraints = [models.UniqueConstraint(fields=["queue", "tenant"], name="queue_tenant_once")]

    def __str__(self) -> str:
        return f"{self.queue} {self.tenant}"


class SchedulingPolicy(models.Model):
    """The one row of the operators' choices (PLAT-AICFG-18, POOL-12.27).

    `direct_commodity`: what work that no order stands behind is charged as; without one it is metered only.
    """

    placing = models.CharField(
        _("resource scheduling"), max_length=16, choices=PLACINGS, default=Placing.SPREAD.value
    )
    ordering = models.CharField(
        _("job scheduling"), max_length=12, choices=ORDERINGS, default=Ordering.FIRST_COME.value
    )
    has_backfill = models.BooleanField(_("smaller work may pass a waiting head"), default=True)
    patience_s = models.PositiveIntegerField(
        _("a head waits at most (s)"), null=True, blank=True, default=3600
    )
    aging_s = models.PositiveIntegerField(_("one priority more each (s)"), null=True, blank=True)
    direct_commodity = models.ForeignKey(
        "catalog.Commodity",
        on_delete=models.PROTECT,
        related_name="+",
        null=True,
        blank=True,
        verbose_name=_("direct work is charged as"),
    )
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


class Environment(TenantOwned):
    """An initialised environment: amounts under a name. What runs in a fixed one gets exactly these (POOL-12.1);
    another one's are only what is taken where a request names none."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    name = models.CharField(_("name"), max_length=80)
    is_fixed = models.BooleanField(_("fixed"), default=True)
    spec = models.CharField(_("specification"), max_length=48, blank=True)
    shares = models.PositiveSmallIntegerField(_("shares"), default=1)
    compute_percent = models.PositiveSmallIntegerField(_("compute share (%)"))
    memory_mib = models.PositiveIntegerField(_("accelerator memory (MiB)"))
    made_by = models.ForeignKey(
        "identity.User", on_delete=models.PROTECT, null=True, related_name="+", verbose_name=_("made by")
    )
    is_retired = models.BooleanField(_("retired"), default=False)
    created_at = models.DateTimeField(_("made at"), auto_now_add=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("environment")
        verbose_name_plural = _("environments")
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "name"], name="environment_name_once", condition=Q(is_retired=False)
            ),
            models.CheckConstraint(
                name="environment_amounts",
                condition=Q(
                    shares__gte=1, compute_percent__gte=1, compute_percent__lte=100, memory_mib__gte=1
                ),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Workload(TenantOwned):
    """Work that asks for `shares` equal shares of devices, all or none (POOL-12.1, ELA-404).

    An order stands behind it, or somebody who submitted it directly. `spec` and `environment` say where its amounts
    come from; `attempt` counts how often it was placed after a loss.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    no = models.CharField(_("number"), max_length=40)
    kind = models.CharField(_("kind"), max_length=8, choices=WorkKind, default=WorkKind.PROGRAM)
    order_uid = models.UUIDField(_("order"), null=True, blank=True)
    submitted_by = models.ForeignKey(
        "identity.User", on_delete=models.PROTECT, null=True, related_name="+", verbose_name=_("submitted by")
    )
    environment = models.ForeignKey(
        Environment, on_delete=models.PROTECT, null=True, related_name="+", verbose_name=_("environment")
    )
    spec = models.CharField(_("specification"), max_length=48, blank=True)
    name_en = models.CharField(_("name in English"), max_length=120)
    name_zh = models.CharField(_("name in Chinese"), max_length=120)
    queue = models.ForeignKey(
        Queue, on_delete=models.PROTECT, related_name="workloads", verbose_name=_("queue")
    )
    priority = models.IntegerField(_("priority"), default=0)
    shares = models.PositiveSmallIntegerField(_("shares"), default=1)
    compute_percent = models.PositiveSmallIntegerField(_("compute share (%)"))
    memory_mib = models.PositiveIntegerField(_("accelerator memory (MiB)"))
    whole_cards = models.BooleanField(_("whole cards"), default=False)
    distinct_devices = models.BooleanField(_("each share on its own device"), default=False)
    single_node = models.BooleanField(_("all on one node"), default=False)
    placing = models.CharField(_("resource scheduling"), max_length=16, choices=PLACINGS, blank=True)
    local_node = models.CharField(_("local node"), max_length=64, blank=True)
    resource_group = models.CharField(_("resource group"), max_length=48, blank=True)
    affinity = models.CharField(_("affinity"), max_length=64, blank=True)
    anti_affinity = models.CharField(_("anti-affinity"), max_length=64, blank=True)
    driver = models.CharField(_("slice driver"), max_length=64, blank=True)
    idle_timeout_s = models.PositiveIntegerField(_("idle at most (s)"), null=True, blank=True)
    requeue_on_loss = models.BooleanField(_("queued again when it is lost"), default=False)
    waits_for_quota = models.BooleanField(_("waits for quota"), default=False)
    attempt = models.PositiveSmallIntegerField(_("attempt"), default=1)
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

    @property
    def is_direct(self) -> bool:
        """Submitted by somebody and by no order: it holds quota and is charged in its own name."""
        return self.order_uid is None


class Allocation(models.Model):
    """One share of a workload on one device, held by one slice.

    While a session moves, its share is held twice: `is_beside` is the hold of the slice that does not serve it, the
    target before the move is done and the source after it (POOL-12.23).
    """

    workload = models.ForeignKey(Workload, on_delete=models.PROTECT, related_name="allocations")
    share = models.PositiveSmallIntegerField(_("share"), default=0)
    is_beside = models.BooleanField(_("beside the share, while a session moves"), default=False)
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
