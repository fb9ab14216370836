"""What each attempt of a replica came to: for its tenant, and for the centre that ran it."""

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from apps.jointcloud.models.jobs import JOB_ID_LENGTH, KEY_MOST, SHORT_BYTES
from apps.jointcloud.states import ReplicaState, SettledBy
from apps.kernel.money import MoneyField
from apps.kernel.planes import TenantOwned


class Settlement(TenantOwned):
    """One attempt settled, once: append-only by trigger, and there for good, whatever becomes of job and centre.

    `told_*` is what the centre's own accounts say, `seen_*` what the portal saw by its own clock; either may lack.
    `seconds` are charged to the tenant at `price_minor` an hour and came to `amount`; `owed_seconds` are owed to the
    centre at `cost_minor` an hour and come to `owed`, both in CNY. They differ where the attempt was lost: what it ran
    after that is paid by the network.
    """

    key = models.CharField(_("key"), max_length=KEY_MOST, unique=True)
    job_id = models.CharField(_("job"), max_length=JOB_ID_LENGTH)
    task = models.PositiveIntegerField(_("task"))
    replica = models.PositiveIntegerField(_("replica"))
    attempt = models.PositiveIntegerField(_("attempt"))
    state = models.CharField(_("state"), max_length=12, choices=ReplicaState)
    ai_center_id = models.CharField(_("AI computing centre"), max_length=SHORT_BYTES)
    center_name = models.CharField(_("name of the centre"), max_length=SHORT_BYTES)
    resourcespec = models.CharField(_("network specification"), max_length=SHORT_BYTES)
    charge_uid = models.UUIDField()
    price_minor = models.BigIntegerField(_("price of an hour"))
    cost_minor = models.BigIntegerField(_("cost of an hour"), null=True, blank=True)
    seen_from = models.DateTimeField(_("seen from"), null=True, blank=True)
    seen_until = models.DateTimeField(_("seen until"), null=True, blank=True)
    told_from = models.DateTimeField(_("told from"), null=True, blank=True)
    told_until = models.DateTimeField(_("told until"), null=True, blank=True)
    lost_at = models.DateTimeField(_("lost at"), null=True, blank=True)
    settled_by = models.CharField(_("settled by"), max_length=8, choices=SettledBy)
    seconds = models.PositiveIntegerField(_("seconds charged"), default=0)
    amount = MoneyField(_("charged"), default=0)
    owed_seconds = models.PositiveIntegerField(_("seconds owed"), default=0)
    owed = MoneyField(_("owed to the centre"), default=0)
    ended_at = models.DateTimeField(_("ended at"))
    settled_at = models.DateTimeField(_("settled at"))

    class Meta(TenantOwned.Meta):
        verbose_name = _("settlement of an attempt")
        verbose_name_plural = _("settlements of attempts")
        ordering = ["ended_at", "pk"]
        indexes = [
            models.Index(fields=["ai_center_id", "ended_at"], name="jointcloud_settled_at_center"),
            models.Index(fields=["job_id"], name="jointcloud_settled_of_job"),
        ]
        constraints = [
            models.CheckConstraint(
                name="jointcloud_settled_by", condition=Q(settled_by__in=SettledBy.values)
            ),
            models.CheckConstraint(
                name="jointcloud_settled_figures",
                condition=Q(seconds__lte=F("owed_seconds"), amount__gte=0, owed__gte=0),
            ),
            models.CheckConstraint(
                name="jointcloud_settled_nothing",
                condition=Q(settled_by__in=[SettledBy.TOLD.value, SettledBy.SEEN.value]) | Q(owed_seconds=0),
            ),
        ]

    def __str__(self) -> str:
        return self.key
