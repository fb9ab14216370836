from enum import StrEnum

from django.db.models import Q
from django.utils.translation import gettext as _

from apps.kernel.actor import Actor
from apps.kernel.errors import Forbidden
from apps.kernel.reach import Records


class BillingPermission(StrEnum):
    VIEW = "billing.view"
    PAY = "billing.pay"
    MANAGE = "billing.manage"


def charges_reached(actor: Actor, charge: str = "charge") -> Q:
    """The rows whose charge is of costs that the actor reaches; `charge` is their way to it, "" for charges."""
    way = f"{charge}__" if charge else ""
    return actor.reaches(
        Records.COSTS,
        own=Q(**{f"{way}user_id": actor.user_id}),
        organization=f"{way}organization_uid",
        system=f"{way}business_system_uid",
    )


def books_check(actor: Actor) -> None:
    """Forbidden where the actor reaches a part of the tenant's costs alone: the account is of the whole, and bills are
    confirmed and paid whole."""
    if not actor.reaches_all(Records.COSTS):
        raise Forbidden(
            _("The account is of the whole tenant, and your role reaches a part of its costs."),
            cure=_(
                "Look at your part of the bills, or ask for a role that reaches the costs of the whole tenant."
            ),
        )
