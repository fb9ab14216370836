"""Refusals of billing that carry their own code."""

from decimal import Decimal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.kernel.errors import Conflict
from apps.kernel.money import bill_round


class AccountNotOpened(Conflict):
    """The tenant has no money account yet (PLAT-OPS-28)."""

    code = "account_not_opened"
    default_message = gettext_lazy("The tenant's account is not opened.")
    default_cure = gettext_lazy("Ask the operator to open it.")


class BalanceTooLow(Conflict):
    """The balance does not cover what is to be paid from it; the sentence names what is lacking."""

    code = "balance_too_low"
    default_cure = gettext_lazy("Deposit the amount that is lacking, or pay with a coupon.")

    def __init__(self, *, balance: Decimal, wanted: Decimal) -> None:
        text = _(
            "The balance is %(balance)s CNY and %(wanted)s CNY are to be paid: %(lacking)s CNY are lacking."
        )
        figures = {"balance": balance, "wanted": wanted, "lacking": wanted - balance}
        super().__init__(text % {name: bill_round(amount) for name, amount in figures.items()})


class NothingToBill(Conflict):
    code = "nothing_to_bill"
    default_message = gettext_lazy("There is no rated use that is not on a bill yet.")
    default_cure = gettext_lazy("Wait until something has run, then make the bill.")
