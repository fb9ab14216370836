"""Tables of quotas: what a tenant and each of its organizations may hold, and who holds what of it."""

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


class QuotaOrganization(TenantOwned):
    """An organization of a tenant as its quotas know it: what it is called and which one is above it.

    The organization itself is a row of the tenant's; whoever writes that one writes this one with it.
    """

    uid = models.UUIDField(primary_key=True)
    name = models.CharField(_("name"), max_length=120)
    parent = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="children"
    )

    class Meta(TenantOwned.Meta):
        verbose_name = _("organization")
        verbose_name_plural = _("organizations")

    def __str__(self) -> str:
        return self.name


class OrganizationQuota(TenantOwned):
    """The most that an organization and all below it may hold of one item together (PLAT-TEN-18).

    It is given out of what is above: of the upper organization's quota, at the top of the tenant's. `allocated` of it
    is given on to the organizations right below.
    """

    organization = models.ForeignKey(QuotaOrganization, on_delete=models.PROTECT, related_name="quotas")
    item = models.CharField(_("item"), max_length=24, choices=QuotaItem)
    total = models.PositiveBigIntegerField(_("total"))
    allocated = models.PositiveBigIntegerField(_("allocated"), default=0)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("organization quota")
        verbose_name_plural = _("organization quotas")
        ordering = ["organization", "item"]
        constraints = [
            models.UniqueConstraint(fields=["organization", "item"], name="organization_quota_once"),
            models.CheckConstraint(
                name="organization_quota_allocated", condition=Q(allocated__lte=F("total"))
            ),
        ]

    def __str__(self) -> str:
        return f"{self.organization} {self.item}"


class QuotaHold(TenantOwned):
    """What a form or an order holds of one quota item: in process, then used, then given back.

    With an `organization` it counts for that one and all above it.
    """

    organization = models.ForeignKey(
        QuotaOrganization, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
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
