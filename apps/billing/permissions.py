from enum import StrEnum

from django.utils.translation import gettext as _

from apps.kernel.actor import Actor
from apps.kernel.errors import Forbidden
from apps.kernel.reach import Records


class BillingPermission(StrEnum):
    VIEW = "billing.view"
    PAY = "billing.pay"
    MANAGE = "billing.manage"


def books_check(actor: Actor) -> None:
    """Forbidden where the actor reaches the costs of a part of the tenant alone: account and bills are of the whole."""
    if not actor.reaches_all(Records.COSTS):
        raise Forbidden(
            _(
                "The account and its bills are of the whole tenant, and your role reaches a part of its costs."
            ),
            cure=_(
                "Look at the cost analysis, or ask for a role that reaches the costs of the whole tenant."
            ),
        )
