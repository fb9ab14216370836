"""Usage reports: once each, and none that cannot be true."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError, InternalError, transaction
from django.utils import timezone

from apps.billing.errors import AccountNotOpened
from apps.billing.models import Charge, UsageRecord, UsageRefusal
from apps.billing.selectors.charges import charge_get, usage_list
from apps.billing.services.charges import charge_close, charge_open
from apps.billing.services.usage import usage_record
from apps.billing.types import CostLabels, Usage, UsageReceipt
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from tests.apps.billing.scene import AGENT, charge_make, intervals, record, unknown, usage
from tests.apps.catalog.racing import race


def take(charge: Charge, *reports: Usage) -> UsageReceipt:
    return usage_record(actor=AGENT, workload_uid=charge.workload_uid, reports=reports)


@pytest.fixture
def charge(db: None, acme: object) -> Charge:
    return charge_make(acme)


@pytest.mark.req("PLAT-OPS-38", "ELA-1801")
def test_a_report_counts_once(charge: Charge) -> None:
    reports = intervals(charge, [10, 10, 7])
    assert take(charge, *reports) == UsageReceipt(recorded=3)
    assert take(charge, *reports[1:]) == UsageReceipt(repeated=2)
    assert take(charge, reports[0], reports[0]) == UsageReceipt(repeated=2)
    rows = usage_list(tenant=charge.tenant, workload_uid=charge.workload_uid)
    assert [row.seconds for row in rows] == [7, 10, 10]
    assert [row.exact for row in rows] == [None] * 3
    first = rows[2]
    assert (first.node_uid, first.device_uid, first.report_id) == ("node-1", "dev-1", f"{first.slice_uid}/1")
    assert (first.cpu_seconds, first.memory_peak_mib) == (Decimal("1.500"), 512)


@pytest.mark.req("ELA-1802")
def test_late_and_out_of_order_reports_are_taken(charge: Charge) -> None:
    one, two, three = intervals(charge, [10, 10, 10])
    assert take(charge, three).recorded == 1
    assert take(charge, two, one).recorded == 2


@pytest.mark.req("PLAT-OPS-38")
@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"seconds": -5}, "backwards"),
        ({"seconds": 0}, "backwards"),
        ({"seconds": 1.5}, "not_whole"),
        ({"seconds": 86401}, "too_long"),
        ({"seconds": 7200}, "future"),
        ({"back": timedelta(hours=2)}, "before_open"),
        ({"compute_percent": 0}, "absurd"),
        ({"compute_percent": 101}, "absurd"),
        ({"memory_mib": -1}, "absurd"),
        ({"cpu_seconds": Decimal(-1)}, "absurd"),
        ({"cpu_seconds": Decimal(10**9)}, "absurd"),
        ({"seq": 0}, "absurd"),
        ({"node_uid": "node-2"}, "foreign_node"),
    ],
)
def test_what_cannot_be_true_is_refused_and_kept(charge: Charge, changes: dict, code: str) -> None:
    start = charge.opened_at - changes.pop("back", timedelta(0))
    bad = usage(start, changes.pop("seconds", 10), slice_uid="bad", **changes)
    good = usage(charge.opened_at, 10, slice_uid="good")
    receipt = take(charge, bad, good)
    assert receipt == UsageReceipt(recorded=1, refused=(("bad", bad.seq, code),))
    assert take(charge, bad).refused
    assert UsageRefusal.objects.get().code == code
    assert UsageRecord.plain.get().slice_uid == "good"


def test_a_workload_without_a_charge_is_refused(db: None) -> None:
    receipt = usage_record(actor=AGENT, workload_uid=unknown(), reports=[usage(timezone.now(), 10)])
    assert receipt.refused == (("s-1", 1, "no_charge"),)


def test_an_interval_that_overlaps_is_refused(charge: Charge) -> None:
    start = charge.opened_at
    take(charge, usage(start, 10))
    overlapping = usage(start + timedelta(seconds=9), 10, seq=2)
    within = [
        usage(start + timedelta(seconds=20), 10, seq=3),
        usage(start + timedelta(seconds=25), 10, seq=4),
    ]
    assert take(charge, overlapping).refused == (("s-1", 2, "overlap"),)
    assert take(charge, *within) == UsageReceipt(recorded=1, refused=(("s-1", 4, "overlap"),))
    assert take(charge, usage(start, 10, slice_uid="other")).recorded == 1


def test_another_interval_under_a_known_number_is_refused(charge: Charge) -> None:
    take(charge, usage(charge.opened_at, 10))
    assert take(charge, usage(charge.opened_at, 20)).refused == (("s-1", 1, "rewritten"),)
    assert UsageRecord.plain.get().seconds == 10


def test_the_database_itself_refuses_an_overlap(charge: Charge) -> None:
    take(charge, usage(charge.opened_at, 10))
    row = UsageRecord.plain.get()
    row.pk, row.uid, row.seq = None, unknown(), 2
    with pytest.raises(IntegrityError, match="overlaps"), transaction.atomic():
        row.save(force_insert=True)


@pytest.mark.req("ELA-1804", "PLAT-APPLY-20")
def test_nothing_counts_after_the_charge_is_closed(charge: Charge) -> None:
    start = charge.opened_at
    end = start + timedelta(seconds=15, milliseconds=400)
    charge_close(actor=SYSTEM, workload_uid=charge.workload_uid, at=end)
    crossing = usage(start + timedelta(seconds=10), 10, seq=2)
    assert take(charge, usage(start, 10), crossing).recorded == 2
    assert take(charge, crossing).repeated == 1
    after = usage(start + timedelta(seconds=20), 10, seq=3)
    assert take(charge, after).refused == (("s-1", 3, "after_close"),)
    assert sum(row.seconds for row in UsageRecord.plain.all()) == 15


def test_only_agents_report(charge: Charge, member) -> None:
    actor = member("acme", "tenant_operations_manager").actor
    with pytest.raises(Forbidden):
        usage_record(actor=actor, workload_uid=charge.workload_uid, reports=[usage(charge.opened_at, 1)])


def test_records_keep_their_facts(charge: Charge) -> None:
    take(charge, usage(charge.opened_at, 10))
    for write in (
        lambda: UsageRecord.plain.update(seconds=1),
        lambda: UsageRecord.plain.all().delete(),
        lambda: Charge.plain.update(amounts={}),
        lambda: Charge.plain.update(price_version=None),
    ):
        with pytest.raises((InternalError, IntegrityError)), transaction.atomic():
            write()
    UsageRecord.plain.update(rated_at=timezone.now())
    with pytest.raises((InternalError, IntegrityError), match="set once"), transaction.atomic():
        UsageRecord.plain.update(rated_at=None)


class TestCharge:
    @pytest.mark.req("ELA-1803")
    def test_it_is_opened_and_closed_once(self, charge: Charge) -> None:
        again = charge_open(
            actor=SYSTEM,
            tenant=charge.tenant,
            order_uid=charge.order_uid,
            order_no=charge.order_no,
            workload_uid=charge.workload_uid,
            quote={"price_version": str(charge.price_version.uid), "amounts": charge.amounts, "count": 1},
            labels=CostLabels(),
        )
        assert again == charge
        assert (again.business_system, again.organization, again.person) == ("Vision", "Research", "Ada")
        at = timezone.now()
        charge_close(actor=SYSTEM, workload_uid=charge.workload_uid, at=at)
        closed = charge_close(actor=SYSTEM, workload_uid=charge.workload_uid, at=at + timedelta(days=1))
        assert (closed.state, closed.closed_at) == ("closed", at)

    def test_another_order_cannot_take_a_charged_workload(self, charge: Charge) -> None:
        with pytest.raises(Conflict):
            charge_open(
                actor=SYSTEM,
                tenant=charge.tenant,
                order_uid=unknown(),
                order_no="O-2",
                workload_uid=charge.workload_uid,
                quote={"price_version": str(charge.price_version.uid), "amounts": charge.amounts, "count": 1},
                labels=CostLabels(),
            )

    @pytest.mark.req("ELA-1907")
    @pytest.mark.parametrize(
        "changes",
        [
            {"price_version": "00000000-0000-0000-0000-000000000000"},
            {"price_version": "none"},
            {"price_version": None},
            {"amounts": {}},
            {"amounts": {"licence": 1}},
            {"amounts": {"cpu": "x"}},
            {"amounts": {"cpu": -1}},
            {"count": 0},
        ],
    )
    def test_a_quote_that_cannot_be_rated_is_refused(self, charge: Charge, changes: dict) -> None:
        quote = {"price_version": str(charge.price_version.uid), "amounts": charge.amounts, "count": 1}
        with pytest.raises(InvalidInput):
            charge_open(
                actor=SYSTEM,
                tenant=charge.tenant,
                order_uid=unknown(),
                order_no="O-2",
                workload_uid=unknown(),
                quote=quote | changes,
                labels=CostLabels(),
            )

    def test_a_tenant_without_an_account_is_not_charged(self, charge: Charge, globex: object) -> None:
        with pytest.raises(AccountNotOpened):
            charge_open(
                actor=SYSTEM,
                tenant=globex,
                order_uid=unknown(),
                order_no="O-3",
                workload_uid=unknown(),
                quote={"price_version": str(charge.price_version.uid), "amounts": charge.amounts, "count": 1},
                labels=CostLabels(),
            )

    @pytest.mark.req("PLAT-TEN-2")
    def test_another_tenants_charge_is_not_found(self, charge: Charge, globex: object) -> None:
        with pytest.raises(NotFound):
            charge_get(tenant=globex, workload_uid=charge.workload_uid)
        assert not usage_list(tenant=globex)


@pytest.mark.parametrize(
    "broken", [{}, {"slice_uid": "s"}, {"seq": "x"}, {"start_at": "2026-01-01T00:00:00"}]
)
def test_a_report_is_read_strictly(broken: dict) -> None:
    sound = {
        "slice_uid": "s",
        "seq": 1,
        "start_at": "2026-01-01T00:00:00Z",
        "end_at": "2026-01-01T00:00:10+00:00",
        "compute_percent": 20,
        "memory_mib": 1024,
        "cpu_seconds": 1.25,
    }
    read = Usage.read(sound, node_uid="n", device_uid="d")
    assert (read.cpu_seconds, read.report_id, (read.end_at - read.start_at).seconds) == (
        Decimal("1.25"),
        "s/1",
        10,
    )
    with pytest.raises((KeyError, ValueError)):
        Usage.read(
            sound | broken if len(broken) == 1 and "slice_uid" not in broken else broken,
            node_uid="n",
            device_uid="d",
        )


@pytest.mark.req("PLAT-OPS-38")
def test_parallel_deliveries_of_the_same_reports_count_once(committed: None, acme: object) -> None:
    charge = charge_make(acme)
    reports = intervals(charge, [10] * 12)
    results = race(*[lambda: take(charge, *reports) for _ in range(4)])
    assert sorted((result.recorded, result.repeated) for result in results) == [(0, 12)] * 3 + [(12, 0)]
    assert UsageRecord.plain.count() == 12


def test_parallel_overlapping_reports_leave_one(committed: None, acme: object) -> None:
    charge = charge_make(acme)
    reports = [usage(charge.opened_at + timedelta(seconds=n), 10, seq=n + 1) for n in range(4)]
    results = race(*[lambda report=report: take(charge, report) for report in reports])
    assert sum(result.recorded for result in results) == 1
    assert UsageRecord.plain.count() == 1
    assert not record(charge, [5], slice_uid="other").refused
