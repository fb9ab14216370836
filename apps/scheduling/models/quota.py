"""Tables of quotas: what a tenant may hold, and who holds what of it."""

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from apps.kernel.planes import TenantOwned
from apps.scheduling.states import HoldState, QuotaItem


class TenantQuota(TenantOwned):
    """The most a tenant may hold of one item; `allocated` of it is given on to its organizations.

    With a `model` only what lies on devices of that model counts, and it bounds beside the item's own (ELA-308).
    """

    item = models.CharField(_("item"), max_length=24, choices=QuotaItem)
    model = models.CharField(_("accelerator model"), max_length=200, blank=True)
    total = models.PositiveBigIntegerField(_("total"))
    allocated = models.PositiveBigIntegerField(_("allocated"), default=0)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("tenant quota")
        verbose_name_plural = _("tenant quotas")
        ordering = ["tenant", "item", "model"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "item", "model"], name="tenant_quota_once"),
            models.CheckConstraint(name="tenant_quota_allocated", condition=Q(allocated__lte=F("total"))),
        ]

    def __str__(self) -> str:
        return " ".join(filter(None, (str(self.tenant), self.item, self.model)))


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
        # Only what is held: of each workload that ever was, released holds stay.
        indexes = [
            models.Index(
                fields=["tenant", "item", "state"], name="quota_hold_sums", condition=~Q(state="released")
            )
        ]

    def __str__(self) -> str:
        return f"{self.item} {self.amount}"
