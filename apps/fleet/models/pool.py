"""Nodes, their devices, the slices cut from them, what slices print; resource groups and specs."""

import uuid

from django.db import models
from django.db.models import F, Q
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from apps.fleet.states import FINAL, MOVING, Desired, Health, MoveState, NodeState, SliceKind, SliceState
from apps.kernel.planes import TenantOwned

OVERSUBSCRIBE_MAX_PERMILLE = 10_000


class Node(models.Model):
    """A server with an agent. `last_seen_at` is when we heard from it, by our clock."""

    uid = models.CharField(_("number"), max_length=64, unique=True)
    name = models.CharField(_("name"), max_length=200)
    state = models.CharField(_("state"), max_length=16, choices=NodeState, default=NodeState.READY)
    # Kept beside the state, so that a drained node that was lost comes back drained.
    is_drained = models.BooleanField(_("drained"), default=False)
    last_seen_at = models.DateTimeField(_("last seen at"))
    lost_at = models.DateTimeField(_("lost at"), null=True, blank=True)
    boot_id = models.CharField(max_length=100, blank=True)
    boots_past = models.JSONField(default=list)
    sync_seq = models.PositiveBigIntegerField(default=0)
    clock_offset_s = models.FloatField(_("clock offset (s)"), default=0)
    info = models.JSONField(_("facts"), default=dict)
    agent_version = models.CharField(_("agent version"), max_length=64, blank=True)
    # Where clients reach its sessions, and the version of each part that runs there.
    address = models.CharField(_("address"), max_length=200, blank=True)
    components = models.JSONField(_("components"), default=dict, blank=True)
    config_generation = models.PositiveBigIntegerField(default=0)
    wanted_config = models.JSONField(_("configuration wanted"), null=True, blank=True)
    wanted_release = models.JSONField(_("release wanted"), null=True, blank=True)
    is_leaving = models.BooleanField(_("leaving"), default=False)
    power_w = models.FloatField(_("power (W)"), null=True, blank=True)
    power_source = models.CharField(_("power source"), max_length=16, blank=True)
    # What its times are corrected by: its clock minus ours, once that is too much to pass over.
    clock_shift_s = models.IntegerField(default=0)
    boot_at = models.DateTimeField(null=True, blank=True)
    # When a second agent process last spoke with its credential.
    doubled_at = models.DateTimeField(_("second agent heard at"), null=True, blank=True)
    # The last line of its log of this boot that was taken in.
    event_seq = models.PositiveBigIntegerField(default=0)
    created_at = models.DateTimeField(_("joined at"), auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("node")
        verbose_name_plural = _("nodes")
        ordering = ["name", "pk"]
        constraints = [
            models.CheckConstraint(name="node_state", condition=Q(state__in=NodeState.values)),
            models.UniqueConstraint(
                name="node_name_once", fields=["name"], condition=~Q(state=NodeState.REMOVED)
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_ready(self) -> bool:
        return self.state == NodeState.READY and not self.is_leaving

    @property
    def is_upgrading(self) -> bool:
        """Whether another release than the one that runs is wanted, and the node has not refused it."""
        wanted = (self.wanted_release or {}).get("version", self.agent_version)
        return wanted != self.agent_version and not self.info.get("release_problem")

    @property
    def session_server(self) -> str:
        """The version of its session server: sessions move between equal ones only (POOL-12.23)."""
        return self.components.get("session_server") or self.agent_version


class Named(models.Model):
    """What is called by a code, and shown by a name in the reader's language."""

    code = models.SlugField(_("code"), max_length=48, unique=True)
    name_en = models.CharField(_("name in English"), max_length=80)
    name_zh = models.CharField(_("name in Chinese"), max_length=80)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name_zh if (get_language() or "").startswith("zh") else self.name_en


class ResourceGroup(Named):
    """Devices set apart: used only by those who name the group and were granted it (POOL-12.13)."""

    class Meta:
        verbose_name = _("resource group")
        verbose_name_plural = _("resource groups")
        ordering = ["code"]


class GroupGrant(TenantOwned):
    """A tenant may use a group: all its members (`is_open`), or the clients listed."""

    group = models.ForeignKey(ResourceGroup, on_delete=models.CASCADE, related_name="grants")
    is_open = models.BooleanField(_("all members"), default=True)
    clients = models.ManyToManyField("identity.User", related_name="+", blank=True)
    created_at = models.DateTimeField(_("granted at"), auto_now_add=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("grant")
        verbose_name_plural = _("grants")
        ordering = ["group", "tenant"]
        constraints = [models.UniqueConstraint(fields=["group", "tenant"], name="group_granted_once")]

    def __str__(self) -> str:
        return f"{self.group_id} {self.tenant_id}"


class Spec(Named):
    """A named share: whoever names it gets exactly this, whatever else is asked (POOL-12.14)."""

    compute_percent = models.PositiveSmallIntegerField(_("compute share (%)"))
    memory_mib = models.PositiveBigIntegerField(_("memory (MiB)"))
    # The share is a MIG instance of this profile; "": of any card.
    mig_profile = models.CharField(_("MIG profile"), max_length=32, blank=True)
    is_enabled = models.BooleanField(_("enabled"), default=True)

    class Meta:
        verbose_name = _("resource specification")
        verbose_name_plural = _("resource specifications")
        ordering = ["compute_percent", "memory_mib", "code"]
        constraints = [
            models.CheckConstraint(
                name="spec_share", condition=Q(compute_percent__range=(1, 100), memory_mib__gte=1)
            )
        ]


class Device(models.Model):
    """An accelerator. `held_percent` and `held_mib` are what slices hold; the database keeps them within bounds.

    Oversubscription is in permille: 2000 lets every percent of compute be held twice.
    """

    uid = models.CharField(_("number"), max_length=100, unique=True)
    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="devices", verbose_name=_("node"))
    index = models.PositiveIntegerField(_("index"))
    vendor = models.CharField(_("vendor"), max_length=64)
    model = models.CharField(_("model"), max_length=200)
    memory_mib = models.PositiveBigIntegerField(_("memory (MiB)"))
    # What it says now; `memory_mib` follows only when an operator accepts it.
    reported_mib = models.PositiveBigIntegerField(_("memory reported (MiB)"))
    cores = models.PositiveIntegerField(_("cores"), default=0)
    driver_version = models.CharField(_("driver"), max_length=64, blank=True)
    slice_drivers = models.JSONField(default=list)
    # The only sizes of its shares, where it gives no others: percent, MiB, how many when all are of this size, a name.
    slice_sizes = models.JSONField(_("sizes of shares"), default=list, blank=True)
    is_enabled = models.BooleanField(_("enabled"), default=True)
    is_simulated = models.BooleanField(_("simulated"), default=False)
    # Sliced: a virtual resource, cut into shares. Not sliced: a physical card, given as a whole (POOL-12.15).
    is_sliced = models.BooleanField(_("virtualised"), default=True)
    group = models.ForeignKey(
        ResourceGroup, on_delete=models.SET_NULL, null=True, blank=True, related_name="devices",
        verbose_name=_("resource group"),
    )  # fmt: skip
    is_leaving = models.BooleanField(_("leaving"), default=False)
    left_at = models.DateTimeField(_("left at"), null=True, blank=True)
    # Since when its node says nothing of it.
    missing_at = models.DateTimeField(_("missing since"), null=True, blank=True)
    apis = models.JSONField(_("interfaces"), default=dict, blank=True)
    numa_node = models.SmallIntegerField(_("NUMA node"), null=True, blank=True)
    is_verified = models.BooleanField(_("verified on hardware"), default=True)
    health = models.CharField(_("health"), max_length=16, choices=Health, default=Health.OK)
    health_reason = models.CharField(_("reason"), max_length=500, blank=True)
    oversubscribe_permille = models.PositiveIntegerField(_("compute oversubscription (‰)"), default=1000)
    memory_oversubscribe_permille = models.PositiveIntegerField(
        _("memory oversubscription (‰)"), default=1000
    )
    held_percent = models.PositiveIntegerField(_("compute held (%)"), default=0)
    held_mib = models.PositiveBigIntegerField(_("memory held (MiB)"), default=0)
    whole_held = models.BooleanField(_("held as a whole"), default=False)
    measured = models.JSONField(_("measured"), default=dict)
    measured_at = models.DateTimeField(_("measured at"), null=True, blank=True)
    created_at = models.DateTimeField(_("found at"), auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("device")
        verbose_name_plural = _("devices")
        ordering = ["node__name", "index", "pk"]
        constraints = [
            models.CheckConstraint(name="device_health", condition=Q(health__in=Health.values)),
            models.CheckConstraint(
                name="device_compute_held",
                condition=Q(held_percent__gte=0) & Q(held_percent__lte=F("oversubscribe_permille") / 10),
            ),
            models.CheckConstraint(
                name="device_memory_held",
                condition=Q(held_mib__gte=0)
                & Q(held_mib__lte=F("memory_mib") * F("memory_oversubscribe_permille") / 1000),
            ),
            models.CheckConstraint(
                name="device_oversubscribe",
                condition=Q(
                    oversubscribe_permille__range=(1000, OVERSUBSCRIBE_MAX_PERMILLE),
                    memory_oversubscribe_permille__range=(1000, OVERSUBSCRIBE_MAX_PERMILLE),
                ),
            ),
            # Whole cards and shares are two classes: no device is held in the way of the other.
            models.CheckConstraint(
                name="device_class",
                condition=Q(is_sliced=True, whole_held=False)
                | Q(is_sliced=False, whole_held=True)
                | Q(is_sliced=False, held_percent=0, held_mib=0),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.node_id}/{self.index} {self.model}"

    @property
    def free_percent(self) -> int:
        return 0 if self.whole_held else self.room_percent - self.held_percent

    @property
    def free_mib(self) -> int:
        return 0 if self.whole_held else self.room_mib - self.held_mib

    @property
    def room_percent(self) -> int:
        """How much compute may be held by all slices together: over-subscribed, more than 100 (POOL-12.5)."""
        return self.oversubscribe_permille // 10

    @property
    def room_mib(self) -> int:
        return self.memory_mib * self.memory_oversubscribe_permille // 1000

    @property
    def is_open(self) -> bool:
        """Whether a share of it may be held now, where there is room."""
        return self.is_enabled and not self.is_leaving and self.health == Health.OK and self.node.is_ready


class Slice(TenantOwned):
    """A share of a device with the work that runs in it; of 0 % and 0 MiB, work on the device's node alone.

    `desired` is what we want, `state` what was observed last. Final states give the hold back at once;
    `closed_at` is set when all usage the node owes for it has come too, which is when `SliceEnded` is told.
    `usage_seq` is the highest contiguous usage report taken, `log_next` the next byte of output wanted.
    """

    uid = models.UUIDField(_("number"), default=uuid.uuid4, unique=True, editable=False)
    workload_uid = models.UUIDField(_("workload"), db_index=True)
    device = models.ForeignKey(
        Device, on_delete=models.PROTECT, related_name="slices", verbose_name=_("device")
    )
    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="slices", verbose_name=_("node"))
    compute_percent = models.PositiveSmallIntegerField(_("compute share (%)"))
    memory_mib = models.PositiveBigIntegerField(_("memory (MiB)"))
    # Of its node's processor and main memory, beside the share; 0: nothing was said (PLAT-OPS-22).
    host_cpu_milli = models.PositiveIntegerField(_("processor (thousandths of a core)"), default=0)
    host_memory_mib = models.PositiveBigIntegerField(_("main memory (MiB)"), default=0)
    scratch_disk_mib = models.PositiveIntegerField(_("scratch disk (MiB)"), default=0)
    # What its device keeps for it beyond its share, until its node has said that it shrank (POOL-12.2).
    surplus_percent = models.PositiveSmallIntegerField(default=0)
    surplus_mib = models.PositiveBigIntegerField(default=0)
    # The most it ever held: what was vouched for before it shrank is still believed.
    peak_percent = models.PositiveSmallIntegerField(default=0)
    peak_mib = models.PositiveBigIntegerField(default=0)
    is_exclusive = models.BooleanField(_("whole device"), default=False)
    kind = models.CharField(_("kind"), max_length=16, choices=SliceKind, default=SliceKind.PROGRAM)
    # Which of its workload's shares it is, for what that keeps from one attempt to the next.
    share = models.PositiveIntegerField(default=0)
    attempt = models.PositiveSmallIntegerField(_("attempt"), default=1)
    # By name the keys of the secrets that its program is given; their values stand with the secrets alone, sealed.
    secrets = models.JSONField(_("secrets"), default=dict, blank=True)
    group_code = models.CharField(_("resource group"), max_length=48, blank=True)
    is_requeued = models.BooleanField(_("requeued when lost"), default=False)
    desired = models.CharField(_("desired"), max_length=16, choices=Desired, default=Desired.RUNNING)
    state = models.CharField(_("state"), max_length=16, choices=SliceState, default=SliceState.DESIRED)
    generation = models.PositiveBigIntegerField(default=1)
    reason_code = models.CharField(_("reason code"), max_length=64, blank=True)
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    stop_code = models.CharField(max_length=64, blank=True)
    stop_reason = models.CharField(_("why it was stopped"), max_length=500, blank=True)
    exit_code = models.BigIntegerField(_("exit code"), null=True, blank=True)
    work = models.JSONField(_("work"))
    run_timeout_s = models.PositiveIntegerField(_("run time limit (s)"), null=True, blank=True)
    idle_timeout_s = models.PositiveIntegerField(_("idle time limit (s)"), null=True, blank=True)
    told_at = models.DateTimeField(_("told to the node at"), null=True, blank=True)
    started_at = models.DateTimeField(_("started at"), null=True, blank=True)
    checkpoint_at = models.DateTimeField(_("last checkpoint"), null=True, blank=True)
    ended_at = models.DateTimeField(_("ended at"), null=True, blank=True)
    final_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    usage_seq = models.PositiveBigIntegerField(default=0)
    usage_last_seq = models.PositiveBigIntegerField(default=0)
    usage_until = models.DateTimeField(_("vouched until"), null=True, blank=True)
    usage_doubted = models.PositiveIntegerField(_("intervals doubted"), default=0)
    # Usage counts between these, by the node's clock: a share that moved is never billed on both its devices.
    counted_from_at = models.DateTimeField(null=True, blank=True)
    counted_until_at = models.DateTimeField(null=True, blank=True)
    log_next = models.PositiveBigIntegerField(_("output (bytes)"), default=0)
    memory_enforced_by = models.CharField(_("memory enforced by"), max_length=64, blank=True)
    compute_enforced_by = models.CharField(_("compute enforced by"), max_length=64, blank=True)
    driver = models.CharField(_("driver asked for"), max_length=64, blank=True)
    driver_enforced = models.CharField(_("driver"), max_length=64, blank=True)
    is_mounted = models.BooleanField(_("mounted"), default=False)
    # The last change of its work's size that the work has confirmed; 0: it never confirmed one (ELA-906).
    size_step = models.PositiveBigIntegerField(default=0)
    # What its session's worker reports, and what opens it: both keys are kept encrypted (`vault`).
    session = models.JSONField(_("session"), default=dict, blank=True)
    # What its node observes of a service: its health, how often it was started again, why, and its port.
    service = models.JSONField(_("service"), default=dict, blank=True)
    session_key = models.CharField(max_length=500, blank=True)
    ticket = models.CharField(max_length=500, blank=True)
    # A share that moves is another slice on the target: which one it comes from, and how far that is (POOL-12.23).
    moves_from = models.UUIDField(_("moves from"), null=True, blank=True, db_index=True)
    move_state = models.CharField(_("move"), max_length=16, choices=MoveState, blank=True)
    move_reason = models.CharField(_("why the move failed"), max_length=500, blank=True)
    moved_at = models.DateTimeField(_("moved at"), null=True, blank=True)
    # The share's place among its workload's: kept when it moves. Empty: its own key.
    seat = models.PositiveBigIntegerField(null=True, blank=True)
    delivered_percent = models.FloatField(_("compute delivered (%)"), null=True, blank=True)
    memory_used_mib = models.PositiveBigIntegerField(_("memory used (MiB)"), null=True, blank=True)
    # Of what it asked of its node beside its share; None: nothing was asked for, or it is not measured.
    host_cpu_used_milli = models.PositiveBigIntegerField(
        _("processor used (thousandths of a core)"), null=True, blank=True
    )
    host_memory_used_mib = models.PositiveBigIntegerField(_("main memory used (MiB)"), null=True, blank=True)
    # "": held as one with its share, or nothing was asked for.
    host_enforced_by = models.CharField(_("processor and main memory enforced by"), max_length=64, blank=True)
    # Of its node's scratch disk; None: not watched.
    disk_used_mib = models.PositiveBigIntegerField(_("scratch disk used (MiB)"), null=True, blank=True)
    disk_limit_mib = models.PositiveBigIntegerField(_("scratch disk at most (MiB)"), null=True, blank=True)
    measured_at = models.DateTimeField(_("measured at"), null=True, blank=True)
    created_at = models.DateTimeField(_("desired at"), auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("slice")
        verbose_name_plural = _("slices")
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(name="slice_state", condition=Q(state__in=SliceState.values)),
            models.CheckConstraint(name="slice_desired", condition=Q(desired__in=Desired.values)),
            models.CheckConstraint(
                name="slice_share",
                condition=Q(compute_percent__range=(1, 100), memory_mib__gte=1)
                | Q(compute_percent=0, memory_mib=0, host_cpu_milli__gte=1),
            ),
            models.CheckConstraint(name="slice_kind", condition=Q(kind__in=SliceKind.values)),
            models.CheckConstraint(
                name="slice_move",
                condition=Q(move_state="", moves_from=None)
                | Q(move_state__in=MoveState.values, moves_from__isnull=False),
            ),
            # A share moves to one place at a time.
            models.UniqueConstraint(
                name="slice_moves_once", fields=["moves_from"], condition=Q(move_state__in=sorted(MOVING))
            ),
            # What is final has ended, what is closed is final: the one way to give a hold back exactly once.
            models.CheckConstraint(
                name="slice_final", condition=Q(state__in=sorted(FINAL)) ^ Q(final_at__isnull=True)
            ),
            models.CheckConstraint(
                name="slice_closed", condition=Q(closed_at__isnull=True) | Q(final_at__isnull=False)
            ),
        ]
        indexes = [
            models.Index(fields=["node", "id"], name="slice_open", condition=Q(closed_at__isnull=True)),
            models.Index(fields=["tenant", "-created_at"], name="slice_of_tenant"),
        ]

    def __str__(self) -> str:
        return str(self.uid)

    @property
    def is_final(self) -> bool:
        return self.state in FINAL

    @property
    def is_on_host(self) -> bool:
        """Whether its work runs on the node's host alone, without a share of the device."""
        return not self.compute_percent

    @property
    def holds_more(self) -> bool:
        """Whether its device keeps more for it than its share: it is shrinking, or ended before it had."""
        return bool(self.surplus_percent or self.surplus_mib)

    @property
    def is_moving(self) -> bool:
        """Whether this is the target of a move that has not come to its end."""
        return self.move_state in MOVING

    @property
    def is_vouched(self) -> bool:
        """Whether the node can be asked: on a lost node the state is only what was seen last."""
        return self.is_final or self.node.state in (NodeState.READY, NodeState.DRAINED)
