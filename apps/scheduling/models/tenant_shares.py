"""What share of the pool each tenant is to have where tenants are served by their shares (ELA-1001)."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.kernel.planes import TenantOwned

MOST_SHARE = 1000


class TenantShare(TenantOwned):
    """Target = capacity × share ÷ the sum of shares of those who have work. A tenant without a row has a share of 1;
    one with 0 is served with what nobody else can use (ELA-1005)."""

    share = models.PositiveSmallIntegerField(_("share"))
    updated_at = models.DateTimeField(auto_now=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("tenant share")
        verbose_name_plural = _("tenant shares")
        constraints = [
            models.UniqueConstraint(fields=["tenant"], name="tenant_share_once"),
            models.CheckConstraint(name="tenant_share_most", condition=models.Q(share__lte=MOST_SHARE)),
        ]

    def __str__(self) -> str:
        return f"{self.tenant} {self.share}"
