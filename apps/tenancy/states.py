"""A tenant's life: provisioned active, suspended and back, closed for good, its data deleted."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.kernel.flow import Flow
from apps.tenancy.permissions import TenancyPermission as P


class TenantState(models.TextChoices):
    ACTIVE = "active", _("Active")
    SUSPENDED = "suspended", _("Suspended")
    CLOSED = "closed", _("Closed")
    DELETED = "deleted", _("Data deleted")


# Nobody comes in any more.
ENDED = (TenantState.CLOSED, TenantState.DELETED)


FLOW = Flow(
    {
        (TenantState.ACTIVE, TenantState.SUSPENDED): P.MANAGE,
        (TenantState.SUSPENDED, TenantState.ACTIVE): P.MANAGE,
        (TenantState.SUSPENDED, TenantState.CLOSED): P.MANAGE,
        (TenantState.CLOSED, TenantState.DELETED): P.MANAGE,
    }
)
