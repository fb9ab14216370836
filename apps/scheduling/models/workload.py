"""Workloads and what they hold of the pool, the environments they start from, and the operators' policy."""

import uuid

from django.db import models
from django.db.models import F, Q
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from apps.kernel.planes import TenantOwned
from apps.scheduling.engine.model.types import Ordering, Placing
from apps.scheduling.models.queue import ORDERINGS, PLACINGS, Queue
from apps.scheduling.states import (
    HOLDING_STATES,
    AfterStop,
    AllocationState,
    PreemptionCause,
    Purpose,
    WorkKind,
    WorkloadState,
)


class SchedulingPolicy(models.Model):
    """The one row of the operators' choices (PLAT-AICFG-18, POOL-12.27).

    `direct_commodity`: what work that no order stands behind is charged as; without one it is refused.
    """

    placing = models.CharField(
        _("resource scheduling"), max_length=16, choices=PLACINGS, default=Placing.SPREAD.value
    )
    ordering = models.CharField(
        _("job scheduling"), max_length=16, choices=ORDERINGS, default=Ordering.FIRST_COME.value
    )
    has_backfill = models.BooleanField(_("smaller work may pass a waiting head"), default=True)
    patience_s = models.PositiveIntegerField(
        _("a head waits at most (s)"), null=True, blank=True, default=3600
    )
    reserved_starts = models.PositiveSmallIntegerField(_("starts reserved in each queue"), default=1)
    aging_s = models.PositiveIntegerField(_("one priority more each (s)"), null=True, blank=True)
    has_preemption = models.BooleanField(_("more important work preempts"), default=False)
    has_reclaim = models.BooleanField(_("guarantees are taken back"), default=True)
    grace_s = models.PositiveIntegerField(_("notice before it is stopped (s)"), default=30)
    min_run_s = models.PositiveIntegerField(_("runs at least before it is preempted (s)"), default=0)
    max_preemptions = models.PositiveSmallIntegerField(_("preempted at most (times)"), default=3)
    fair_share_preempts = models.BooleanField(_("work of fair queues preempts"), default=True)
    consolidates = models.BooleanField(_("sessions are moved to free whole cards"), default=False)
    max_moves = models.PositiveSmallIntegerField(_("moves in one pass at most"), default=4)
    grows_elastic = models.BooleanField(_("elastic work grows into spare room"), default=True)
    hysteresis_s = models.PositiveIntegerField(_("between two scalings at least (s)"), default=300)
    half_life_s = models.PositiveIntegerField(
        _("past use counts half after (s)"), null=True, blank=True, default=7 * 86400
    )
    ahead_s = models.PositiveIntegerField(_("a card in use counts as past use of (s)"), default=600)
    max_open_per_user = models.PositiveIntegerField(_("open work per user at most"), default=20_000)
    max_open_per_tenant = models.PositiveIntegerField(_("open work per tenant at most"), default=100_000)
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
    come from; `attempt` counts how often it was placed after a loss. Elastic work starts with `min_shares` or more
    and has `active_shares` now (ELA-901); all of these are whole replicas of `shares_per_replica` on a node
    (ELA-505). `client_key`: what who submitted it calls it; asked twice by him it is one. `not_before_at` is the
    scheduler's own earliest start, of a retry that backs off (ELA-509). `after_stop`, only while it stops, says what it
    will become; of preempted work `preempted_by` names the work that gets its room, `preemption_cause` by which right.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    no = models.CharField(_("number"), max_length=40)
    kind = models.CharField(_("kind"), max_length=8, choices=WorkKind, default=WorkKind.PROGRAM)
    order_uid = models.UUIDField(_("order"), null=True, blank=True)
    submitted_by = models.ForeignKey(
        "identity.User", on_delete=models.PROTECT, null=True, related_name="+", verbose_name=_("submitted by")
    )
    business_system_uid = models.UUIDField(_("business system"), null=True, blank=True)
    organization = models.ForeignKey(
        "scheduling.QuotaOrganization",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="workloads",
        verbose_name=_("organization"),
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
    min_shares = models.PositiveSmallIntegerField(_("shares at least"), null=True, blank=True)
    shares_per_replica = models.PositiveSmallIntegerField(_("shares of a replica"), default=1)
    active_shares = models.PositiveSmallIntegerField(_("shares now"), null=True, blank=True)
    wanted_shares = models.PositiveSmallIntegerField(_("shares by its rules"), null=True, blank=True)
    preemptible = models.BooleanField(_("preemptible"), default=False)
    urgent = models.BooleanField(_("urgent"), default=False)
    oversubscribe = models.BooleanField(_("shares its devices"), default=False)
    mig_profile = models.CharField(_("MIG profile"), max_length=32, blank=True)
    host_cpu_milli = models.PositiveIntegerField(_("processor per share (thousandths)"), default=0)
    host_memory_mib = models.PositiveIntegerField(_("main memory per share (MiB)"), default=0)
    scratch_disk_mib = models.PositiveIntegerField(_("scratch disk per share (MiB)"), default=0)
    any_models = models.JSONField(_("models, any of"), default=list, blank=True)
    earliest_start_at = models.DateTimeField(_("starts at the earliest"), null=True, blank=True)
    not_before_at = models.DateTimeField(_("tried again from"), null=True, blank=True)
    deadline_at = models.DateTimeField(_("deadline"), null=True, blank=True)
    purpose = models.CharField(_("purpose"), max_length=16, choices=Purpose, blank=True)
    reservation = models.ForeignKey(
        "scheduling.Reservation", on_delete=models.PROTECT, null=True, blank=True, related_name="workloads",
        verbose_name=_("reservation"),
    )  # fmt: skip
    client_key = models.CharField(_("key of who submitted it"), max_length=64, blank=True)
    # The digest of the sent folder that it begins in.
    folder = models.CharField(_("sent folder"), max_length=64, blank=True)
    # The volume that keeps what it leaves as its outputs.
    outputs = models.UUIDField(_("volume of its outputs"), null=True, blank=True)
    checkpoint_at = models.DateTimeField(_("last checkpoint"), null=True, blank=True)
    preemptions = models.PositiveSmallIntegerField(_("preempted (times)"), default=0)
    max_attempts = models.PositiveSmallIntegerField(_("tried at most (times)"), default=1)
    retry_delay_s = models.PositiveIntegerField(_("before it is tried again (s)"), default=30)
    scaled_at = models.DateTimeField(_("scaled at"), null=True, blank=True)
    requeue_on_loss = models.BooleanField(_("queued again when it is lost"), default=False)
    waits_for_quota = models.BooleanField(_("waits for quota"), default=False)
    # It waits again, and is not placed before its account was asked for more money.
    waits_for_funds = models.BooleanField(_("waits for funds"), default=False)
    # Other work comes first, and of an array others of its tasks: until then nobody places it.
    waits_for_work = models.BooleanField(_("waits for other work"), default=False)
    waits_for_turn = models.BooleanField(_("waits for others of its array"), default=False)
    array = models.ForeignKey(
        "scheduling.WorkloadArray", on_delete=models.PROTECT, null=True, blank=True, related_name="tasks",
        verbose_name=_("array"),
    )  # fmt: skip
    array_index = models.PositiveIntegerField(_("number in its array"), null=True, blank=True)
    attempt = models.PositiveSmallIntegerField(_("attempt"), default=1)
    pins = models.JSONField(_("pins"), default=dict)
    work = models.JSONField(_("work"), default=dict)
    # By name the keys of the secrets that its programs are given; no value of one stands here.
    secrets = models.JSONField(_("secrets"), default=dict, blank=True)
    run_timeout_s = models.PositiveIntegerField(_("runs at most (s)"), null=True, blank=True)
    labels = models.JSONField(_("labels"), default=dict)
    state = models.CharField(_("state"), max_length=12, choices=WorkloadState, default=WorkloadState.PENDING)
    after_stop = models.CharField(_("becomes after its stop"), max_length=8, choices=AfterStop, blank=True)
    preempted_by = models.UUIDField(_("makes room for"), null=True, blank=True)
    preemption_cause = models.CharField(
        _("makes room because of"), max_length=12, choices=PreemptionCause, blank=True
    )
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
                # Without a share of a device it runs on the host alone, and asks for its processor.
                condition=Q(
                    shares__gte=1, compute_percent__gte=1, compute_percent__lte=100, memory_mib__gte=1
                )
                | Q(shares__gte=1, compute_percent=0, memory_mib=0, host_cpu_milli__gte=1),
            ),
            models.CheckConstraint(name="workload_state", condition=Q(state__in=WorkloadState.values)),
            models.CheckConstraint(
                name="workload_after_stop",
                condition=(Q(state=WorkloadState.STOPPING) & Q(after_stop__in=AfterStop.values))
                | (~Q(state=WorkloadState.STOPPING) & Q(after_stop="")),
            ),
            models.CheckConstraint(
                name="workload_preempted_by",
                condition=Q(after_stop=AfterStop.PREEMPT, preempted_by__isnull=False)
                & Q(preemption_cause__in=PreemptionCause.values)
                | ~Q(after_stop=AfterStop.PREEMPT) & Q(preempted_by=None, preemption_cause=""),
            ),
            models.UniqueConstraint(
                fields=["tenant", "submitted_by", "client_key"],
                name="workload_once_per_key",
                condition=~Q(client_key=""),
                nulls_distinct=False,
            ),
            models.CheckConstraint(
                name="workload_elastic",
                condition=Q(min_shares__isnull=True) | Q(min_shares__gte=1, min_shares__lte=F("shares")),
            ),
            models.CheckConstraint(
                name="workload_of_array_numbered",
                condition=Q(array__isnull=True, array_index__isnull=True, waits_for_turn=False)
                | Q(array__isnull=False, array_index__isnull=False),
            ),
            models.CheckConstraint(
                name="workload_replicas",
                condition=Q(shares_per_replica__gte=1, shares_per_replica__lte=F("shares")),
            ),
        ]
        indexes = [
            models.Index(fields=["state", "id"], name="workload_waiting"),
            models.Index(fields=["submitted_by"], name="workload_open_of_user", condition=Q(ended_at=None)),
            models.Index(fields=["tenant", "-created_at"], name="workload_of_tenant"),
            models.Index(fields=["-created_at", "-id"], name="workload_newest"),
            models.Index(fields=["no"], name="workload_no"),
            # What started or ended in a period, for statistics. What has not yet stands in neither.
            models.Index(
                fields=["started_at"], name="workload_started", condition=Q(started_at__isnull=False)
            ),
            models.Index(fields=["ended_at"], name="workload_ended", condition=Q(ended_at__isnull=False)),
            models.Index(
                fields=["array", "array_index"], name="workload_of_array", condition=Q(array__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return self.no

    @property
    def name(self) -> str:
        """The name in the language of the reader."""
        return self.name_zh if (get_language() or "").startswith("zh") else self.name_en

    @property
    def is_held_back(self) -> bool:
        """Whether, while it waits, something besides room has to come first."""
        return self.waits_for_funds or self.waits_for_work or self.waits_for_turn

    @property
    def replicas(self) -> int:
        """How many replicas its shares are (ELA-505)."""
        return self.shares // self.shares_per_replica

    @property
    def min_replicas(self) -> int | None:
        """Of elastic work, how many it has at the least."""
        return None if self.min_shares is None else self.min_shares // self.shares_per_replica

    @property
    def current_replicas(self) -> int:
        """How many it has now: none while it holds nothing (ELA-811)."""
        held = self.shares if self.active_shares is None else self.active_shares
        return held // self.shares_per_replica if self.state in HOLDING_STATES else 0

    @property
    def is_final(self) -> bool:
        return self.state in (WorkloadState.FINISHED, WorkloadState.FAILED, WorkloadState.LOST)

    @property
    def is_on_host(self) -> bool:
        """Without a share of a device: it runs on the processor and main memory of its nodes alone."""
        return not self.compute_percent

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
        # Only what is held: a running pool has ten thousand of these among millions of past ones.
        indexes = [
            models.Index(fields=["workload"], name="allocation_held", condition=Q(state="active")),
            models.Index(
                fields=["released_at"], name="allocation_released", condition=Q(released_at__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return str(self.slice_uid)
