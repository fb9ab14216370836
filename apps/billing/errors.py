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
        text = _("The balance is ¥%(balance)s and ¥%(wanted)s is to be paid: ¥%(lacking)s is lacking.")
        figures = {"balance": balance, "wanted": wanted, "lacking": wanted - balance}
        super().__init__(text % {name: bill_round(amount) for name, amount in figures.items()})


class NothingToBill(Conflict):
    code = "nothing_to_bill"
    default_message = gettext_lazy("There is no rated use that is not on a bill yet.")
    default_cure = gettext_lazy("Wait until something has run, then make the bill.")


class FundsTooLow(Conflict):
    """What can still be spent does not cover what is set aside before a start; the sentence names what is lacking."""

    code = "funds_too_low"
    default_cure = gettext_lazy("Top up the account, or ask the computing centre for credit.")

    def __init__(self, *, wanted: Decimal, spendable: Decimal) -> None:
        self.wanted, self.spendable = wanted, spendable
        text = _(
            "The account lacks ¥%(lacking)s: ¥%(wanted)s is set aside before a start, and ¥%(spendable)s"
            " can be spent."
        )
        figures = {"wanted": wanted, "spendable": spendable, "lacking": wanted - spendable}
        super().__init__(text % {name: bill_round(amount) for name, amount in figures.items()})


class RefundTooHigh(Conflict):
    """More than the tenant paid in and has not spent."""

    code = "refund_too_high"
    default_cure = gettext_lazy("Refund at most that, or end what its money is set aside for.")

    def __init__(self, *, wanted: Decimal, most: Decimal) -> None:
        text = _("¥%(wanted)s is more than can be refunded: ¥%(most)s was paid in and is not spent.")
        super().__init__(text % {"wanted": bill_round(wanted), "most": bill_round(most)})


class CorrectionTooHigh(Conflict):
    """More than was paid of the bill, less what was corrected before."""

    code = "correction_too_high"
    default_cure = gettext_lazy("Correct it by at most that.")

    def __init__(self, *, bill_no: str, wanted: Decimal, most: Decimal) -> None:
        text = _(
            "¥%(wanted)s is more than can be given back of %(bill)s: ¥%(most)s of it is paid and not corrected."
        )
        super().__init__(text % {"wanted": bill_round(wanted), "most": bill_round(most), "bill": bill_no})
