"""Keys by which programs reach a service."""

import uuid

from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.kernel.planes import TenantOwned


class ServiceKey(TenantOwned):
    """A key that programs send with what they ask of a service. The key itself is shown once and kept nowhere.

    It opens that one service, as long as who made it may, in the `role` in which he made it.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    workload = models.ForeignKey("scheduling.Workload", on_delete=models.PROTECT, related_name="service_keys")
    name = models.CharField(_("name"), max_length=80)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    made_by = models.ForeignKey(
        "identity.User", on_delete=models.PROTECT, related_name="+", verbose_name=_("made by")
    )
    role = models.CharField(max_length=64)
    created_at = models.DateTimeField(_("made at"), auto_now_add=True)
    used_at = models.DateTimeField(_("last used"), null=True, blank=True)
    revoked_at = models.DateTimeField(_("revoked at"), null=True, blank=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("key of a service")
        verbose_name_plural = _("keys of services")
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return self.name
