"""Use, its cost, and the ledger. Facts are append-only by trigger (see the guards migration)."""

import uuid
from decimal import Decimal

from django.db import models
from django.db.models import F, Q
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from apps.billing.states import BillState, ChargeState, FundsLevel, RefusalCode
from apps.kernel.money import MoneyField
from apps.kernel.planes import TenantOwned


class Account(TenantOwned):
    """A tenant's opened account (PLAT-OPS-28). Its row is the lock under which balance, bills and holds of funds move.

    `credit_limit`: what may be owed beyond the balance. `funds_level`: what its people were told last.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    bill_count = models.PositiveIntegerField(default=0)
    credit_limit = MoneyField(_("credit limit"), default=0)
    funds_level = models.CharField(
        _("funds"), max_length=8, choices=FundsLevel, default=FundsLevel.ENOUGH, editable=False
    )
    opened_at = models.DateTimeField(_("opened at"))
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("account")
        verbose_name_plural = _("accounts")
        constraints = [
            models.UniqueConstraint(fields=["tenant"], name="account_once"),
            models.CheckConstraint(name="account_credit", condition=Q(credit_limit__gte=0)),
            models.CheckConstraint(name="account_funds", condition=Q(funds_level__in=FundsLevel.values)),
        ]

    def __str__(self) -> str:
        return str(self.tenant)


class LedgerAccount(models.Model):
    """A ledger account: the platform's own, or one of a tenant's. Debits are positive, credits negative."""

    class Kind(models.TextChoices):
        CASH = "cash", _("Cash")
        BALANCE = "balance", _("Balance")
        ACCRUED = "accrued", _("Used, not billed")
        RECEIVABLE = "receivable", _("Billed, not paid")
        REVENUE = "revenue", _("Revenue")
        PROMOTION = "promotion", _("Coupons")
        ROUNDING = "rounding", _("Rounding")
        WRITE_OFF = "write_off", _("Written off")
        COST = "cost", _("Cost of other centres")
        PAYABLE = "payable", _("Owed to a centre")

    code = models.CharField(_("code"), max_length=96, unique=True)
    tenant = models.ForeignKey(
        "tenancy.Tenant", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    kind = models.CharField(_("kind"), max_length=16, choices=Kind)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("ledger account")
        verbose_name_plural = _("ledger accounts")
        ordering = ["code"]

    def __str__(self) -> str:
        return self.code


class LedgerTransaction(models.Model):
    """A movement of money: legs that sum to zero. `idempotency_key` makes each happen once."""

    class Kind(models.TextChoices):
        DEPOSIT = "deposit", _("Deposit")
        RATE = "rate", _("Use")
        BILL = "bill", _("Bill made")
        PAYMENT = "payment", _("Bill paid")
        REFUND = "refund", _("Refund")
        CORRECTION = "correction", _("Correction")
        WRITE_OFF = "write_off", _("Bill written off")
        COST = "cost", _("Use at another centre")

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    idempotency_key = models.CharField(max_length=160, unique=True)
    tenant = models.ForeignKey(
        "tenancy.Tenant", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    kind = models.CharField(_("kind"), max_length=16, choices=Kind)
    reference = models.CharField(_("reference"), max_length=160, blank=True)
    reason = models.CharField(_("reason"), max_length=200, blank=True)
    created_at = models.DateTimeField(_("time"), auto_now_add=True)

    class Meta:
        verbose_name = _("transaction")
        verbose_name_plural = _("transactions")
        ordering = ["-created_at", "-pk"]
        indexes = [models.Index(fields=["tenant", "kind", "-created_at"], name="ledger_tx_of_tenant")]

    def __str__(self) -> str:
        return self.idempotency_key


class LedgerLeg(models.Model):
    """One side of a transaction. Never changed, never deleted."""

    transaction = models.ForeignKey(LedgerTransaction, on_delete=models.PROTECT, related_name="legs")
    account = models.ForeignKey(LedgerAccount, on_delete=models.PROTECT, related_name="legs")
    amount = MoneyField(_("amount"))

    class Meta:
        verbose_name = _("leg")
        verbose_name_plural = _("legs")
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["transaction", "account"], name="ledger_leg_once"),
            models.CheckConstraint(name="ledger_leg_amount", condition=~Q(amount=0)),
        ]
        indexes = [models.Index(fields=["account", "id"], include=["amount"], name="ledger_leg_of_account")]

    def __str__(self) -> str:
        return f"{self.account_id}: {self.amount}"


class Charge(TenantOwned):
    """What a workload is charged by: the frozen quote of its order, or of its submission, and its cost labels. Of an
    ordered volume `workload_uid` is the volume's.

    Of a job over centres it is of one price at one centre, and `job_id` and `order_no` are the job's.
    `work_name` is what work without an order was called. `amounts` are those it began with, `resizes` the later ones:
    use is rated by what its report says was held (POOL-12.2).
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    order_uid = models.UUIDField(_("order"), db_index=True, null=True, blank=True)
    order_no = models.CharField(_("order number"), max_length=48)
    job_id = models.CharField(_("job"), max_length=48, blank=True, default="")
    workload_uid = models.UUIDField(_("workload"), unique=True)
    commodity_number = models.CharField(_("service number"), max_length=32)
    commodity_name_zh = models.CharField(_("commodity in Chinese"), max_length=120)
    commodity_name_en = models.CharField(_("commodity in English"), max_length=120)
    supplier = models.CharField(_("supplier"), max_length=120, blank=True)
    work_name = models.CharField(_("work"), max_length=120, blank=True)
    price_version = models.ForeignKey("catalog.PriceVersion", on_delete=models.PROTECT, related_name="+")
    amounts = models.JSONField(_("amounts"))
    count = models.PositiveIntegerField(_("shares"))
    business_system = models.CharField(_("business system"), max_length=120, blank=True)
    organization = models.CharField(_("organization"), max_length=120, blank=True)
    person = models.CharField(_("person"), max_length=120, blank=True)
    business_system_uid = models.UUIDField(null=True, blank=True)
    organization_uid = models.UUIDField(null=True, blank=True)
    user = models.ForeignKey(
        "identity.User", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    coupon_uid = models.UUIDField(_("coupon"), null=True, blank=True)
    state = models.CharField(_("state"), max_length=8, choices=ChargeState, default=ChargeState.OPEN)
    opened_at = models.DateTimeField(_("opened at"))
    closed_at = models.DateTimeField(_("closed at"), null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("charge")
        verbose_name_plural = _("charges")
        ordering = ["-created_at", "-pk"]
        constraints = [models.CheckConstraint(name="charge_state", condition=Q(state__in=ChargeState.values))]
        indexes = [
            models.Index(fields=["tenant", "-created_at"], name="charge_of_tenant"),
            models.Index(fields=["job_id"], name="charge_of_job", condition=~Q(job_id="")),
        ]

    def __str__(self) -> str:
        return self.order_no

    @property
    def commodity_name(self) -> str:
        return self.commodity_name_zh if (get_language() or "").startswith("zh") else self.commodity_name_en


class ChargeResize(models.Model):
    """Other amounts of a charge, from an instant on."""

    charge = models.ForeignKey(Charge, on_delete=models.PROTECT, related_name="resizes")
    amounts = models.JSONField(_("amounts"))
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("change of a charge")
        verbose_name_plural = _("changes of charges")
        ordering = ["charge", "pk"]

    def __str__(self) -> str:
        return f"{self.charge_id}: {self.amounts}"


class FundsHold(TenantOwned):
    """What is set aside of an account for one charge, from before its work starts until its last use is rated.

    `amount` is all that was ever set aside, `used` what was rated of it, `billed` what of that came on bills;
    `hourly` is what all its shares cost an hour. When its work ends, or is put aside, `ended_at` is set; when nothing
    more of its use can come, `amount` becomes what was used. `check_at`: when it may need more; `short_since`: since
    when the account refuses it more.
    """

    charge = models.OneToOneField(Charge, on_delete=models.PROTECT, related_name="funds")
    amount = MoneyField(_("set aside"))
    used = MoneyField(_("used"), default=0)
    billed = MoneyField(_("billed"), default=0)
    hourly = MoneyField(_("per hour"))
    shares = models.PositiveIntegerField(_("shares"))
    check_at = models.DateTimeField(_("checked next"), null=True, blank=True)
    short_since = models.DateTimeField(_("short since"), null=True, blank=True)
    ended_at = models.DateTimeField(_("ended at"), null=True, blank=True)
    released_at = models.DateTimeField(_("released at"), null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("hold of funds")
        verbose_name_plural = _("holds of funds")
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(
                name="funds_hold_figures",
                condition=Q(amount__gte=0, billed__gte=0, hourly__gte=0, used__gte=F("billed")),
            ),
        ]
        indexes = [
            models.Index(
                fields=["tenant"],
                include=["amount", "used", "billed", "hourly"],
                condition=Q(billed__lt=F("amount")) | Q(billed__lt=F("used")),
                name="funds_hold_standing",
            ),
            models.Index(fields=["check_at"], condition=Q(ended_at__isnull=True), name="funds_hold_due"),
            models.Index(
                fields=["ended_at"], condition=Q(released_at__isnull=True), name="funds_hold_unsettled"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.charge_id}: {self.amount}"


class UsageRecord(TenantOwned):
    """An interval that an agent vouches a slice ran, with what it measured, or that an ordered volume was there with a
    size (its uid stands for a slice's). Only `rated_at` is set later."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    charge = models.ForeignKey(Charge, on_delete=models.PROTECT, related_name="usage")
    workload_uid = models.UUIDField(_("workload"))
    slice_uid = models.CharField(_("slice"), max_length=64)
    seq = models.PositiveBigIntegerField(_("number"))
    start_at = models.DateTimeField(_("from"))
    end_at = models.DateTimeField(_("until"))
    seconds = models.PositiveIntegerField(_("seconds"))
    compute_percent = models.PositiveSmallIntegerField(_("compute share (%)"))
    memory_mib = models.PositiveBigIntegerField(_("accelerator memory (MiB)"))
    storage_gib = models.PositiveBigIntegerField(_("storage (GiB)"), default=0)
    cpu_seconds = models.DecimalField(_("CPU seconds"), max_digits=18, decimal_places=3, default=0)
    memory_peak_mib = models.PositiveBigIntegerField(_("peak memory (MiB)"), default=0)
    node_uid = models.CharField(_("node"), max_length=64)
    device_uid = models.CharField(_("device"), max_length=128)
    report_id = models.CharField(_("report"), max_length=80)
    received_at = models.DateTimeField(_("received at"), auto_now_add=True)
    rated_at = models.DateTimeField(_("rated at"), null=True, blank=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("usage record")
        verbose_name_plural = _("usage records")
        ordering = ["start_at", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["slice_uid", "seq"], name="usage_once"),
            models.CheckConstraint(name="usage_interval", condition=Q(end_at__gt=F("start_at"))),
        ]
        indexes = [
            models.Index(fields=["slice_uid", "end_at"], name="usage_of_slice"),
            models.Index(fields=["charge", "start_at"], name="usage_of_charge"),
            models.Index(fields=["id"], condition=Q(rated_at__isnull=True), name="usage_unrated"),
        ]

    def __str__(self) -> str:
        return f"{self.slice_uid}#{self.seq}"


class UsageRefusal(models.Model):
    """A usage report that was not believed: kept with the reason, never billed. Append-only by trigger."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    workload_uid = models.CharField(_("workload"), max_length=64)
    slice_uid = models.CharField(_("slice"), max_length=64)
    seq = models.CharField(_("number"), max_length=24)
    code = models.CharField(_("reason"), max_length=32, choices=RefusalCode)
    report = models.JSONField(_("report"))
    created_at = models.DateTimeField(_("time"), auto_now_add=True)

    class Meta:
        verbose_name = _("refused usage report")
        verbose_name_plural = _("refused usage reports")
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["slice_uid", "seq", "code"], name="usage_refusal_once")
        ]

    def __str__(self) -> str:
        return f"{self.slice_uid}#{self.seq}: {self.code}"


class Bill(TenantOwned):
    """What a tenant owes for a period: made, confirmed, paid or written off (PLAT-OPS-32). Its figures never change,
    nor does what it says of seller and buyer (`Party`): that is frozen when it is made."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    no = models.CharField(_("number"), max_length=64, unique=True)
    state = models.CharField(_("state"), max_length=16, choices=BillState, default=BillState.MADE)
    period_from = models.DateTimeField(_("from"))
    period_until = models.DateTimeField(_("until"))
    total = MoneyField(_("total"))
    seller = models.JSONField(_("seller"), default=dict)
    buyer = models.JSONField(_("buyer"), default=dict)
    made_at = models.DateTimeField(_("made at"))
    confirmed_at = models.DateTimeField(_("confirmed at"), null=True, blank=True)
    paid_at = models.DateTimeField(_("paid at"), null=True, blank=True)
    written_off_at = models.DateTimeField(_("written off at"), null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("bill")
        verbose_name_plural = _("bills")
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(name="bill_state", condition=Q(state__in=BillState.values)),
            models.CheckConstraint(name="bill_total", condition=Q(total__gte=0)),
        ]
        indexes = [models.Index(fields=["tenant", "-created_at"], name="bill_of_tenant")]

    def __str__(self) -> str:
        return self.no

    @property
    def is_whole(self) -> bool:
        """Whether its reader reaches all of it, and so may see its settlement."""
        return not hasattr(self, "reached_total")

    @property
    def shown_total(self) -> Decimal:
        """What it comes to, or the part of it that its reader reaches."""
        total: Decimal = getattr(self, "reached_total", self.total)
        return total


class BillLine(models.Model):
    """One component of one charge on a bill: `unit_amount` × `share_seconds` ÷ the unit's seconds = `exact`.

    `amount` is `exact` rounded; `accrued` is the sum of its rated items as the ledger holds it.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    bill = models.ForeignKey(Bill, on_delete=models.PROTECT, related_name="lines")
    charge = models.ForeignKey(Charge, on_delete=models.PROTECT, related_name="+")
    price_line = models.ForeignKey("catalog.PriceLine", on_delete=models.PROTECT, related_name="+")
    component = models.CharField(_("component"), max_length=48)
    quantity = models.DecimalField(_("quantity per share"), max_digits=28, decimal_places=10)
    unit_amount = MoneyField(_("price per share and unit of time"))
    share_seconds = models.PositiveBigIntegerField(_("share seconds"))
    exact = MoneyField(_("exact amount"))
    accrued = MoneyField(_("accrued"))
    amount = MoneyField(_("amount"))

    class Meta:
        verbose_name = _("bill line")
        verbose_name_plural = _("bill lines")
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["bill", "charge", "price_line", "quantity"], name="bill_line_once"
            ),
            models.CheckConstraint(name="bill_line_amount", condition=Q(amount__gte=0)),
        ]

    def __str__(self) -> str:
        return f"{self.bill_id}: {self.component}"


class RatedItem(models.Model):
    """The cost of one component for one usage record. Only `bill` is ever set later, once."""

    usage = models.ForeignKey(UsageRecord, on_delete=models.PROTECT, related_name="items")
    charge = models.ForeignKey(Charge, on_delete=models.PROTECT, related_name="items")
    price_line = models.ForeignKey("catalog.PriceLine", on_delete=models.PROTECT, related_name="+")
    transaction = models.ForeignKey(
        LedgerTransaction, null=True, on_delete=models.PROTECT, related_name="items"
    )
    component = models.CharField(_("component"), max_length=48)
    quantity = models.DecimalField(_("quantity per share"), max_digits=28, decimal_places=10)
    unit_amount = MoneyField(_("price per share and unit of time"))
    seconds = models.PositiveIntegerField(_("seconds"))
    exact = MoneyField(_("exact amount"))
    bill = models.ForeignKey(Bill, null=True, on_delete=models.PROTECT, related_name="items")
    created_at = models.DateTimeField(_("rated at"), auto_now_add=True)

    class Meta:
        verbose_name = _("rated item")
        verbose_name_plural = _("rated items")
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["usage", "component"], name="rated_item_once"),
            models.CheckConstraint(name="rated_item_exact", condition=Q(exact__gte=0)),
        ]
        indexes = [
            models.Index(fields=["charge"], condition=Q(bill__isnull=True), name="rated_item_unbilled"),
            models.Index(fields=["bill", "charge", "component"], name="rated_item_of_bill"),
        ]

    def __str__(self) -> str:
        return f"{self.usage_id}/{self.component}"


class BillPayment(TenantOwned):
    """How a bill was paid: once, from a coupon and the balance. Append-only by trigger."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    bill = models.OneToOneField(Bill, on_delete=models.PROTECT, related_name="payment")
    coupon_uid = models.UUIDField(_("coupon"), null=True, blank=True)
    coupon_code = models.CharField(_("coupon"), max_length=32, blank=True)
    coupon_amount = MoneyField(_("from the coupon"), default=0)
    balance_amount = MoneyField(_("from the balance"), default=0)
    transaction = models.ForeignKey(LedgerTransaction, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(_("time"), auto_now_add=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("payment")
        verbose_name_plural = _("payments")
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(
                name="bill_payment_amounts", condition=Q(coupon_amount__gte=0, balance_amount__gte=0)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.bill_id}"
