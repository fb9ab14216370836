"""Spenders of one account: processes of threads that start, use, top up, end, pay and ask for their money back, until
so many operations are done. A process may be killed at any line: another one goes on with what it left.
"""

import os
import random
from collections.abc import Callable
from ctypes import Array, c_long
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from threading import Thread
from uuid import uuid4

from django.db import DatabaseError, InterfaceError, connections
from django.db.models import Sum

from apps.billing.models import Bill, Charge, FundsHold, UsageRecord
from apps.billing.services.bills import bill_confirm, bill_make, bill_pay
from apps.billing.services.charges import charge_close, charge_open, charge_resize
from apps.billing.services.funds import funds_end, funds_renew, funds_settle, funds_top_up
from apps.billing.services.ledger import account_deposit, account_refund
from apps.billing.services.rating import usage_rate
from apps.billing.services.usage import usage_record
from apps.billing.states import BillState
from apps.billing.types import Usage
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import WeirError
from apps.tenancy.models import Tenant
from tests.apps.billing.scene import AGENT, LABELS

STEP_S = 36
"""What a share costs for so long is a whole number of cents at the prices of this test: no bill rounds anything."""


class Spender:
    """One of them, known by its number: what it began is found again by that."""

    def __init__(self, tenant: Tenant, quote: dict, number: int, seed: int) -> None:
        self.tenant, self.quote, self.number = tenant, quote, number
        self.random = random.Random(seed)
        self.acts: list[tuple[int, Callable[[], object]]] = [
            (14, self.start),
            (8, self.use),
            (6, lambda: usage_rate(actor=SYSTEM, limit=20)),
            (6, self.top_up),
            (4, self.resize),
            (6, self.end),
            (3, self.put_aside),
            (3, self.take_up),
            (2, lambda: funds_settle(actor=SYSTEM, limit=20)),
            (1, self.pay_in),
            (1, self.ask_back),
            (1, lambda: bill_make(actor=SYSTEM, tenant=tenant)),
            (1, self.pay),
        ]

    def act(self) -> None:
        """One operation. What is refused was refused; a connection that broke is made anew."""
        weights = [weight for weight, _act in self.acts]
        _weight, act = self.random.choices(self.acts, weights)[0]
        try:
            act()
        except WeirError:
            pass
        except (DatabaseError, InterfaceError):
            connections.close_all()

    def mine(self, **more: object) -> Charge | None:
        found = list(Charge.plain.filter(order_no=f"S-{self.number}", state="open", **more)[:4])
        return self.random.choice(found) if found else None

    def start(self) -> None:
        charge_open(
            actor=SYSTEM,
            tenant=self.tenant,
            order_uid=None,
            order_no=f"S-{self.number}",
            workload_uid=uuid4(),
            quote=self.quote,
            labels=LABELS,
            run_s=self.random.choice([None, 60, 200]),
        )

    def use(self) -> None:
        """It runs for no longer than what is set aside for it bears, as work does that is stopped in time."""
        charge = self.mine(funds__ended_at=None)
        if charge is None:
            return
        hold = FundsHold.plain.get(charge=charge)
        told = UsageRecord.plain.filter(charge=charge).aggregate(sum=Sum("seconds"))["sum"] or 0
        whole = int(hold.amount * 3600 / hold.hourly - told) // STEP_S
        if whole < 1:
            return
        seconds = STEP_S * self.random.randint(1, min(whole, 6))
        begin = charge.opened_at.replace(microsecond=0) - timedelta(seconds=self.random.randint(0, 200))
        report = Usage(
            slice_uid=uuid4().hex,
            seq=1,
            start_at=begin,
            end_at=begin + timedelta(seconds=seconds),
            compute_percent=20,
            memory_mib=1024,
            node_uid="node-1",
            device_uid="dev-1",
            report_id=uuid4().hex,
        )
        usage_record(actor=AGENT, workload_uid=charge.workload_uid, reports=[report])

    def top_up(self) -> None:
        charge = self.mine(funds__ended_at=None)
        if charge is not None:
            rows = UsageRecord.plain.filter(charge=charge, rated_at=None)
            unrated = rows.aggregate(sum=Sum("seconds"))["sum"] or 0
            funds_top_up(
                actor=SYSTEM,
                workload_uid=charge.workload_uid,
                unrated_share_s=unrated + self.random.randint(0, 600),
                left_s=None,
            )

    def resize(self) -> None:
        """More shares, or fewer: for more of them more is set aside."""
        charge = self.mine(funds__ended_at=None)
        if charge is not None:
            shares = self.random.randint(1, 3)
            charge_resize(
                actor=SYSTEM,
                workload_uid=charge.workload_uid,
                compute_percent=20,
                memory_mib=1024,
                shares=shares,
            )

    def end(self) -> None:
        charge = self.mine()
        if charge is not None:
            charge_close(actor=SYSTEM, workload_uid=charge.workload_uid, at=datetime.now(UTC))
            # Its last use was told before its end.
            last = datetime.now(UTC) - timedelta(hours=2)
            FundsHold.plain.filter(charge=charge, released_at=None).update(ended_at=last)

    def put_aside(self) -> None:
        charge = self.mine(usage=None)
        if charge is not None:
            funds_end(actor=SYSTEM, workload_uid=charge.workload_uid, at=datetime.now(UTC), has_run=False)

    def take_up(self) -> None:
        charge = self.mine(funds__ended_at__isnull=False)
        if charge is not None:
            funds_renew(actor=SYSTEM, workload_uid=charge.workload_uid, run_s=60)

    def pay_in(self) -> None:
        amount = Decimal(self.random.randint(1, 9000)) / 100
        account_deposit(actor=SYSTEM, tenant=self.tenant, amount=amount, reference=uuid4().hex)

    def ask_back(self) -> None:
        amount = Decimal(self.random.randint(1, 2000)) / 100
        account_refund(
            actor=SYSTEM, tenant=self.tenant, amount=amount, reference=uuid4().hex, reason="asked for it"
        )

    def pay(self) -> None:
        bill = Bill.objects.of(self.tenant).filter(state__in=[BillState.MADE, BillState.CONFIRMED]).first()
        if bill is not None and bill.state == BillState.MADE:
            bill_confirm(actor=SYSTEM, bill_uid=bill.uid)
        elif bill is not None:
            bill_pay(actor=SYSTEM, bill_uid=bill.uid)


def process_run(tenant: Tenant, quote: dict, numbers: range, done: Array[c_long], most: int) -> None:
    """A process of spenders, until each of them has done its part; `done` counts, and outlives it."""
    for number in numbers:
        Thread(target=_spend, args=(tenant, quote, number, done, most), daemon=False).start()


def _spend(tenant: Tenant, quote: dict, number: int, done: Array[c_long], most: int) -> None:
    spender = Spender(tenant, quote, number, seed=number * 7919 + done[number] + os.getpid())
    try:
        while done[number] < most:
            spender.act()
            done[number] += 1
    finally:
        connections.close_all()
