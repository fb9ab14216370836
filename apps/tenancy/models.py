"""Tenants and the host names that lead to them."""

from django.db import models
from django.utils.translation import gettext_lazy as _
from django_tenants.models import DomainMixin, TenantMixin

from apps.centre.models import timezone_check
from apps.tenancy.states import TenantState


class Tenant(TenantMixin):
    """An enterprise or individual customer: the unit of isolation (PLAT-TEN-2). Its row stays: bills name it.

    `legal_name`, `address` and `tax_number` are what bills say of their buyer.
    """

    auto_create_schema = False
    auto_drop_schema = False

    name = models.CharField(_("name"), max_length=120, unique=True)
    state = models.CharField(_("state"), max_length=16, choices=TenantState, default=TenantState.ACTIVE)
    timezone = models.CharField(_("time zone"), max_length=64, validators=[timezone_check])
    legal_name = models.CharField(_("legal name"), max_length=160, blank=True)
    address = models.CharField(_("address"), max_length=300, blank=True)
    tax_number = models.CharField(_("tax number"), max_length=40, blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("tenant")
        verbose_name_plural = _("tenants")
        ordering = ["schema_name"]
        constraints = [
            models.CheckConstraint(
                name="tenant_state_known", condition=models.Q(state__in=TenantState.values)
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_active(self) -> bool:
        return self.state == TenantState.ACTIVE


class Domain(DomainMixin):
    """A host name, without port, that opens a tenant's portal."""

    class Meta:
        verbose_name = _("domain")
        verbose_name_plural = _("domains")

    def __str__(self) -> str:
        return self.domain
