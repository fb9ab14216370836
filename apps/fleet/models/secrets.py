"""Secrets that programs are given in their environment."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.kernel.planes import TenantOwned

SECRET_NAME = r"^[A-Za-z_][A-Za-z0-9_]{0,127}$"


class Secret(TenantOwned):
    """A value under the name of the variable in which programs find it: of one person, or of all people of a tenant.

    The value is kept sealed and goes to nodes alone, with work that names it; nothing shows it again.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    owner = models.ForeignKey(
        "identity.User",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("of"),
    )
    name = models.CharField(_("name"), max_length=128)
    sealed = models.TextField(editable=False)
    changed_by = models.ForeignKey(
        "identity.User", on_delete=models.PROTECT, null=True, related_name="+", verbose_name=_("set by")
    )
    changed_at = models.DateTimeField(_("set at"))
    used_at = models.DateTimeField(_("last used"), null=True, blank=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("secret")
        verbose_name_plural = _("secrets")
        ordering = ["name", "owner", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "owner", "name"], name="secret_once", nulls_distinct=False
            ),
            models.CheckConstraint(name="secret_named", condition=Q(name__regex=SECRET_NAME)),
        ]

    def __str__(self) -> str:
        return self.name
