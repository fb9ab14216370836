"""What crosses billing's border: usage reports, receipts, figures of an account."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

_LABEL_MAX = 120


@dataclass(frozen=True, slots=True)
class CostLabels:
    """By what the cost of a workload is told apart (PLAT-OPS-38): what it is called now, and the identifiers that costs
    are grouped by, which outlive a new name. `work`: what work without an order is called."""

    business_system: str = ""
    organization: str = ""
    person: str = ""
    business_system_uid: UUID | None = None
    organization_uid: UUID | None = None
    user_id: int | None = None
    work: str = ""

    def columns(self) -> dict[str, Any]:
        """As a charge keeps them."""
        return {
            "business_system": self.business_system[:_LABEL_MAX],
            "organization": self.organization[:_LABEL_MAX],
            "person": self.person[:_LABEL_MAX],
            "business_system_uid": self.business_system_uid,
            "organization_uid": self.organization_uid,
            "user_id": self.user_id,
            "work_name": self.work[:_LABEL_MAX],
        }


@dataclass(frozen=True, slots=True)
class JobPrice:
    """What a replica of a job over centres costs at one of them: `hourly` CNY for each hour, whatever else is sold.

    `network_spec`: the code of its specification, and `spec_name` what that is called; `supplier`: the centre's name.
    """

    job_id: str
    network_spec: str
    spec_name: str
    supplier: str
    hourly: Decimal


@dataclass(frozen=True, slots=True)
class Usage:
    """An interval that a slice ran, as its agent vouches, or that a volume was there. `seq` counts from 1 within it."""

    slice_uid: str
    seq: int
    start_at: datetime
    end_at: datetime
    compute_percent: int
    memory_mib: int
    node_uid: str
    device_uid: str
    report_id: str
    cpu_seconds: Decimal = Decimal(0)
    memory_peak_mib: int = 0
    storage_gib: int = 0

    @classmethod
    def read(
        cls, report: Mapping[str, Any], *, node_uid: str, device_uid: str, report_id: str = ""
    ) -> "Usage":
        """From an agent's usage report as plain values; instants as text in ISO 8601 or as datetimes.

        KeyError, TypeError or ValueError for something that is no report.
        """
        slice_uid, seq = str(report["slice_uid"]), int(report["seq"])
        return cls(
            slice_uid=slice_uid,
            seq=seq,
            start_at=_instant(report["start_at"]),
            end_at=_instant(report["end_at"]),
            compute_percent=int(report["compute_percent"]),
            memory_mib=int(report["memory_mib"]),
            node_uid=node_uid,
            device_uid=device_uid,
            report_id=report_id or str(report.get("report_id") or f"{slice_uid}/{seq}"),
            cpu_seconds=Decimal(str(report.get("cpu_seconds", 0))).quantize(Decimal("0.001")),
            memory_peak_mib=int(report.get("memory_peak_mib", 0)),
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "slice_uid": self.slice_uid,
            "seq": self.seq,
            "start_at": self.start_at.isoformat(),
            "end_at": self.end_at.isoformat(),
            "compute_percent": self.compute_percent,
            "memory_mib": self.memory_mib,
            "node_uid": self.node_uid,
            "device_uid": self.device_uid,
            "report_id": self.report_id,
            "cpu_seconds": str(self.cpu_seconds),
            "memory_peak_mib": self.memory_peak_mib,
            "storage_gib": self.storage_gib,
        }


@dataclass(frozen=True, slots=True)
class UsageReceipt:
    """What became of reports: newly recorded, known already, and refused as (slice, seq, code)."""

    recorded: int = 0
    repeated: int = 0
    refused: tuple[tuple[str, int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Funds:
    """What bounds what may start, in CNY: balance, credit and what coupons can pay, less what is owed and set aside.

    `unbilled` is rated use not on a bill yet, `unpaid` the total of bills not paid yet; `reserved` is set aside for
    work that has not used it.
    """

    balance: Decimal
    credit_limit: Decimal
    coupons: Decimal
    unbilled: Decimal
    unpaid: Decimal
    reserved: Decimal

    @property
    def owed(self) -> Decimal:
        return self.unbilled + self.unpaid

    @property
    def spendable(self) -> Decimal:
        """What may still be set aside; below zero only where credit or coupons were taken back, or use came late."""
        return self.balance + self.credit_limit + self.coupons - self.owed - self.reserved


@dataclass(frozen=True, slots=True)
class AccountOverview:
    """A tenant's money at a glance (PLAT-OPS-7), in CNY.

    `unbilled` is rated use not on a bill yet, `unpaid` the total of bills not paid yet; `month_cost` and `year_cost`
    are rated use of the present month and year of the tenant's zone. `reserved` is set aside for work, `spendable` what
    may still be, `coupons_worth` the part of it that coupons bear (see `Funds`); `funds_level` is what the tenant's
    people were told last.
    """

    is_open: bool
    opened_at: datetime | None
    balance: Decimal
    credit_limit: Decimal
    coupons_worth: Decimal
    owed: Decimal
    reserved: Decimal
    spendable: Decimal
    funds_level: str
    unbilled: Decimal
    unpaid: Decimal
    coupon_count: int
    coupon_remaining: Decimal
    month_cost: Decimal
    year_cost: Decimal


@dataclass(frozen=True, slots=True)
class CostRow:
    """The cost of one value of a dimension: exact CNY and share-seconds."""

    key: str
    label_zh: str
    label_en: str
    exact: Decimal
    share_seconds: int


def _instant(value: object) -> datetime:
    instant = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    if instant.tzinfo is None:
        raise ValueError("an instant needs its zone")
    return instant


@dataclass(frozen=True, slots=True)
class Party:
    """Seller or buyer as a bill names it; empty lines are left out."""

    name: str
    address: str = ""
    tax_number: str = ""
    bank: str = ""

    def as_json(self) -> dict[str, str]:
        """As a bill keeps it."""
        return {"name": self.name, "address": self.address, "tax_number": self.tax_number, "bank": self.bank}


@dataclass(frozen=True, slots=True)
class PartLine:
    """One component of a part of a bill: `quantity` in its unit and `unit_amount` in CNY, per share and `price_unit`;
    `exact` unrounded, `amount` as it is charged."""

    uid: UUID
    name: str
    quantity: Decimal
    unit: str
    unit_amount: Decimal
    price_unit: str
    seconds: int
    exact: Decimal
    amount: Decimal


@dataclass(frozen=True, slots=True)
class BillPart:
    """What one order, one piece of work without an order, or a job at one price at a centre put on a bill, with its
    lines by component. `job_id`: of a job over centres."""

    number: str
    name: str
    person: str
    project: str
    order_uid: UUID | None
    workload_uid: UUID
    lines: tuple[PartLine, ...]
    subtotal: Decimal
    job_id: str = ""


@dataclass(frozen=True, slots=True)
class LaterBooking:
    """What was booked about a bill after it was made: given back of it, or written off."""

    at: datetime
    kind: str
    reference: str
    reason: str
    amount: Decimal


@dataclass(frozen=True, slots=True)
class BillDocument:
    """A bill as a document, without its parts. `rounding` is what rounding each line moved; `covered` and `paid` what
    coupon and balance paid, None while it is not paid; amounts in `currency`."""

    no: str
    state: str
    state_label: str
    seller: Party
    buyer: Party
    made_at: datetime
    period_from: datetime
    period_until: datetime
    currency: str
    total: Decimal
    rounding: Decimal
    is_whole: bool
    covered: Decimal | None = None
    coupon_code: str = ""
    paid: Decimal | None = None
    paid_at: datetime | None = None
    later: tuple[LaterBooking, ...] = ()

    @property
    def exact(self) -> Decimal:
        """What its lines come to before each is rounded."""
        return self.total - self.rounding
