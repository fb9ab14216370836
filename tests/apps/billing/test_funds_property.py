"""Sixty-four spenders of one account, killed again and again: what is owed and set aside is always covered."""

import multiprocessing
import os
import random
import time
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.db import connection, connections, transaction
from django.db.models import F, Sum

from apps.billing.locks import account_locked
from apps.billing.models import FundsHold, LedgerTransaction, RatedItem
from apps.billing.selectors.accounts import account_get, funds_of, ledger_sum
from apps.billing.services.funds import funds_settle
from apps.billing.services.ledger import account_open, credit_limit_set
from apps.billing.services.rating import usage_rate
from apps.catalog.selectors.prices import quote_get
from apps.catalog.types import PriceInput
from apps.kernel.actor import SYSTEM
from apps.tenancy.models import Tenant
from tests.apps.billing.scene import books_balance, deposit
from tests.apps.billing.spenders import process_run
from tests.apps.catalog.market import commodity_make

PROCESSES, THREADS, KILLS = 8, 8, 12
# All of them take two minutes of two processors: `make test` asks for all.
OPERATIONS = 10_000 if os.environ.get("WEIR_TEST_WHOLE") == "1" else 2_500
AMOUNTS = {"compute_share": 20, "gpu_memory": 1024, "cpu": 1, "memory": 1024}
# 20 × 5.00 an hour: 36 seconds are one CNY.
PRICES = [PriceInput(code, [[None, price]]) for code, price in
          (("compute_share", "5"), ("gpu_memory", "0"), ("cpu", "0"), ("memory", "0"))]  # fmt: skip


@pytest.mark.req("ELA-1911", "ELA-1910")
@pytest.mark.xdist_group("many connections")
def test_nothing_is_ever_spent_beyond_balance_and_credit(committed, settings):
    settings.WEIR_FUNDS_HOLD_S, settings.WEIR_FUNDS_GRACE_S = 600, 0
    tenant = Tenant.objects.get(schema_name="acme")
    account_open(actor=SYSTEM, tenant=tenant)
    credit_limit_set(actor=SYSTEM, tenant=tenant, amount=Decimal(100), reason="contract")
    deposit(tenant, "300")
    commodity = commodity_make(prices=PRICES)
    quote = quote_get(
        tenant=tenant, commodity=commodity, amounts=AMOUNTS, count=1, duration_s=3600, at=datetime.now(UTC)
    ).as_json()
    spendables = _spend(tenant, quote)
    assert min(spendables) >= 0
    assert min(spendables) < 20, "it came near: the bound was tried"
    _settled()
    assert funds_of(account_get(tenant)).spendable >= 0
    assert not FundsHold.plain.filter(used__gt=F("amount")).exists(), "nothing ran on what was not set aside"
    sums = FundsHold.plain.aggregate(used=Sum("used"), billed=Sum("billed"))
    assert sums["used"] == RatedItem.objects.aggregate(sum=Sum("exact"))["sum"]
    assert sums["used"] - sums["billed"] == ledger_sum("accrued", tenant)
    assert books_balance()
    kinds = set(LedgerTransaction.objects.values_list("kind", flat=True))
    assert kinds >= {"deposit", "rate", "bill", "payment", "refund"}


def _spend(tenant, quote):
    """What could still be spent, as it was seen all the while."""
    forks = multiprocessing.get_context("fork")
    done = forks.RawArray("l", PROCESSES * THREADS)
    most = -(-OPERATIONS // len(done))
    connections.close_all()

    def begin(place):
        numbers = range(place * THREADS, (place + 1) * THREADS)
        process = forks.Process(target=process_run, args=(tenant, quote, numbers, done, most))
        process.start()
        return process

    spenders = [begin(place) for place in range(PROCESSES)]
    chance, kills, seen = random.Random(os.getpid()), 0, []
    while any(process.is_alive() for process in spenders):
        with transaction.atomic():
            seen.append(funds_of(account_locked(tenant)).spendable)
        place = chance.randrange(PROCESSES)
        if kills < KILLS and sum(done) > OPERATIONS * (kills + 1) / (2 * KILLS):
            spenders[place].kill()
            spenders[place].join()
            spenders[place] = begin_anew(begin, place)
            kills += 1
        time.sleep(0.05)
    assert all(process.exitcode == 0 for process in spenders)
    assert (min(done), kills) == (most, KILLS)
    return seen


def begin_anew(begin, place):
    """Another process in the place of one that was killed; it gets no connection of ours."""
    connection.close()
    return begin(place)


def _settled():
    while usage_rate(actor=SYSTEM):
        pass
    while funds_settle(actor=SYSTEM):
        pass
