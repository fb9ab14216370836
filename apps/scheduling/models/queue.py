"""The queues, and whom they admit."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.kernel.planes import TenantOwned
from apps.scheduling.engine.model.types import Ordering, Placing, QueueState
from apps.scheduling.models.oversubscription import mode_text
from apps.scheduling.models.user_groups import UserGroup
from apps.scheduling.states import Oversubscribe

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
    ("fragmentation", _("Fragmentation: where the least room becomes useless to others")),
]
ORDERINGS = [
    (Ordering.FIRST_COME.value, _("First in, first out")),
    (Ordering.PRIORITY.value, _("Priority")),
    ("fair_share", _("Fair share by past use")),
    ("dominant_share", _("Fair share of the dominant resource")),
]


class Queue(models.Model):
    """Where workloads wait (PLAT-AICFG-23). An empty ordering or placing is the policy's; with `QueueTenant` rows
    only those tenants are admitted (ELA-608), with `QueueWindow` rows work starts only inside them.

    `max_*` is nominal: the hard bound is that and `borrow_*`. `guaranteed_*` is kept for it, lent to its siblings up
    to `lend_*` (None: all of it) (ELA-603, ELA-604, ELA-612). One with only ended work is retired, never deleted.
    """

    STATES = [
        (QueueState.UP.value, _("UP")),
        (QueueState.DOWN.value, _("DOWN")),
        (QueueState.DRAIN.value, _("DRAIN")),
        (QueueState.INACTIVE.value, _("INACTIVE")),
    ]

    code = models.SlugField(_("code"), max_length=48)
    parent = models.ForeignKey(
        "self", on_delete=models.PROTECT, related_name="children", null=True, blank=True, verbose_name=_("part of")
    )  # fmt: skip
    name_en = models.CharField(_("name in English"), max_length=80)
    name_zh = models.CharField(_("name in Chinese"), max_length=80)
    state = models.CharField(_("state"), max_length=12, choices=STATES, default=QueueState.UP.value)
    priority = models.IntegerField(_("priority"), default=0)
    weight = models.PositiveIntegerField(_("weight"), default=1)
    ordering = models.CharField(_("job scheduling"), max_length=16, choices=ORDERINGS, blank=True)
    placing = models.CharField(_("resource scheduling"), max_length=16, choices=PLACINGS, blank=True)
    resource_group = models.CharField(_("resource group"), max_length=48, blank=True)
    max_compute_percent = models.PositiveIntegerField(_("most compute (%)"), null=True, blank=True)
    max_memory_mib = models.PositiveIntegerField(_("most accelerator memory (MiB)"), null=True, blank=True)
    guaranteed_compute_percent = models.PositiveIntegerField(_("guaranteed compute (%)"), default=0)
    guaranteed_memory_mib = models.PositiveIntegerField(_("guaranteed accelerator memory (MiB)"), default=0)
    borrow_compute_percent = models.PositiveIntegerField(_("may borrow compute (%)"), default=0)
    borrow_memory_mib = models.PositiveIntegerField(_("may borrow accelerator memory (MiB)"), default=0)
    lend_compute_percent = models.PositiveIntegerField(_("lends compute (%)"), null=True, blank=True)
    lend_memory_mib = models.PositiveIntegerField(_("lends accelerator memory (MiB)"), null=True, blank=True)
    preempts = models.BooleanField(_("its work preempts"), default=True)
    reclaims = models.BooleanField(_("it takes its guarantee back"), default=True)
    is_default = models.BooleanField(_("default queue"), default=False)
    max_run_s = models.PositiveIntegerField(_("runs at most (s)"), null=True, blank=True)
    oversubscribe = models.CharField(
        _("oversubscribe"), max_length=12, choices=Oversubscribe, default=Oversubscribe.FORCE
    )
    max_jobs = models.PositiveSmallIntegerField(_("jobs on one device at most"), null=True, blank=True)
    user_groups = models.ManyToManyField(
        UserGroup, related_name="queues", blank=True, verbose_name=_("user groups")
    )
    retired_at = models.DateTimeField(_("retired at"), null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("queue")
        verbose_name_plural = _("queues")
        ordering = ["code"]
        constraints = [
            models.UniqueConstraint(
                fields=["code"], name="queue_code_once", condition=Q(retired_at__isnull=True)
            ),
            models.CheckConstraint(name="queue_weight", condition=Q(weight__gte=1)),
            models.UniqueConstraint(
                fields=["is_default"], name="queue_default_once", condition=Q(is_default=True)
            ),
            models.CheckConstraint(
                name="queue_default_stands", condition=Q(is_default=False) | Q(retired_at=None)
            ),
            models.CheckConstraint(name="queue_run", condition=Q(max_run_s=None) | Q(max_run_s__gte=1)),
            models.CheckConstraint(
                name="queue_jobs",
                condition=Q(max_jobs=None)
                | Q(max_jobs__gte=1, oversubscribe__in=[Oversubscribe.YES, Oversubscribe.FORCE]),
            ),
        ]

    def __str__(self) -> str:
        return self.code

    @property
    def sharing_text(self) -> str:
        """The oversubscribe mode with its number: FORCE:4."""
        return mode_text(self.oversubscribe, self.max_jobs)


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
