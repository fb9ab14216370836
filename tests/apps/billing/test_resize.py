"""A share that is resized is charged by what was held at the time."""

from datetime import timedelta
from decimal import Decimal
from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction

from apps.billing.models import ChargeResize, RatedItem
from apps.billing.selectors.bills import bill_line_items, bill_lines
from apps.billing.services.bills import bill_make
from apps.billing.services.charges import charge_resize
from apps.billing.services.rating import usage_rate
from apps.billing.services.usage import usage_record
from apps.kernel.actor import SYSTEM
from tests.apps.billing.scene import AGENT, books_balance, charge_make, usage


def used(charge, *parts):
    """Adjoining intervals of (seconds, percent, MiB) held."""
    start, reports = charge.opened_at + timedelta(seconds=60), []
    for seq, (seconds, percent, mib) in enumerate(parts, start=1):
        reports.append(usage(start, seconds, seq=seq, compute_percent=percent, memory_mib=mib))
        start += timedelta(seconds=seconds)
    receipt = usage_record(actor=AGENT, workload_uid=charge.workload_uid, reports=reports)
    assert not receipt.refused


def resize(charge, percent, mib):
    charge_resize(actor=SYSTEM, workload_uid=charge.workload_uid, compute_percent=percent, memory_mib=mib)


@pytest.mark.req("POOL-12.2")
def test_use_is_rated_and_billed_by_what_was_held(db, acme):
    charge = charge_make(acme)
    resize(charge, 40, 2048)
    resize(charge, 10, 1024)
    used(charge, (360, 20, 10240), (720, 40, 2048), (36, 10, 1024))
    bill = bill_make(actor=SYSTEM, tenant=acme)
    lines = {(line.component, int(line.quantity)): line for line in bill_lines(bill, SYSTEM)}
    compute = {quantity: line.exact for (code, quantity), line in lines.items() if code == "compute_share"}
    # 0.05 an hour and percent: 20 % for 360 s, 40 % for 720 s, 10 % for 36 s.
    assert compute == {20: Decimal("0.1"), 40: Decimal("0.4"), 10: Decimal("0.005")}
    memory = {quantity: line.exact for (code, quantity), line in lines.items() if code == "gpu_memory"}
    # 10 GiB at 8 × 0.50 + 2 × 0.80, then 2 GiB and 1 GiB at 0.50 each.
    assert memory == {10: Decimal("0.56"), 2: Decimal("0.2"), 1: Decimal("0.005")}
    cpu = [line for line in bill_lines(bill, SYSTEM) if line.component == "cpu"]
    assert [(line.share_seconds, line.quantity) for line in cpu] == [(1116, 4)]
    assert [item.seconds for item in bill_line_items(lines["compute_share", 40])] == [720]
    assert books_balance()


@pytest.mark.req("POOL-12.2")
def test_the_same_amounts_again_leave_nothing(db, acme):
    charge = charge_make(acme)
    for percent in (20, 40, 40, 20, 20):
        resize(charge, percent, 10240)
    assert [row.amounts["compute_share"] for row in ChargeResize.objects.order_by("pk")] == [40, 20]


@pytest.mark.req("POOL-12.2")
def test_figures_that_were_never_held_are_rated_by_the_newest_amounts(db, acme):
    charge = charge_make(acme)
    resize(charge, 40, 2048)
    used(charge, (360, 33, 2048))
    usage_rate(actor=SYSTEM)
    assert RatedItem.objects.get(component="compute_share").quantity == 40


def test_what_was_resized_stays_on_record(db, acme):
    resize(charge_make(acme), 40, 2048)
    with pytest.raises(IntegrityError), transaction.atomic():
        ChargeResize.objects.update(amounts={})
    assert charge_resize(actor=SYSTEM, workload_uid=uuid4(), compute_percent=1, memory_mib=1) is None
