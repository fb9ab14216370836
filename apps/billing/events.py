"""What happens to money. Tenants by schema, rows by uid."""

from dataclasses import dataclass

from apps.kernel.events import Event


@dataclass(frozen=True, slots=True)
class UsageRated(Event):
    tenant: str
    workload_uids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UsageRefused(Event):
    """A usage report was not believed: nothing is billed for it, somebody should look."""

    workload_uid: str
    slice_uid: str
    seq: str
    reason_code: str


@dataclass(frozen=True, slots=True)
class BillMade(Event):
    tenant: str
    bill_uid: str
    bill_no: str


@dataclass(frozen=True, slots=True)
class BillConfirmed(Event):
    tenant: str
    bill_uid: str


@dataclass(frozen=True, slots=True)
class BillPaid(Event):
    tenant: str
    bill_uid: str
    bill_no: str


@dataclass(frozen=True, slots=True)
class BalanceChanged(Event):
    tenant: str


@dataclass(frozen=True, slots=True)
class FundsFell(Event):
    """What the tenant can spend has fallen to another level: its people are told, once (ELA-1911)."""

    tenant: str
    level: str
    spendable: str
