"""Settling at once, killed in the middle, and beside whoever bills: nothing is charged twice, and nothing lost."""

from decimal import Decimal

import pytest
from django.db import connection, transaction

from apps.billing.models import LedgerLeg, LedgerTransaction, RatedItem, UsageRecord
from apps.billing.services.bills import bill_make
from apps.billing.services.rating import usage_rate
from apps.centers.models import CenterUsage
from apps.jointcloud.models import Replica, Settlement
from apps.jointcloud.services import accounting
from apps.jointcloud.services.accounting import attempt_settle, money_sweep
from apps.kernel.actor import SYSTEM
from tests.apps.billing.scene import books_balance
from tests.apps.catalog.racing import race
from tests.apps.jointcloud.jobs import attempts, other
from tests.apps.jointcloud.money import owed, ran, sent, tell

pytestmark = pytest.mark.req("ELA-1910", "PLAT-OPS-38")


@pytest.fixture
def job(committed, acme, member, spec, centre):
    """A job of three replicas at two centres that have run for 600 s each, of which the centres have told."""
    gpu = spec()
    for code in ("lake", "sea"):
        centre(code, gpu, offer={"cost_minor": 300})
    tasks = other("train", replicas=2, centers=("sea",)), other("check", centers=("lake",))
    made = sent(member("acme", "tenant_front_line"), acme, *tasks)
    for row in attempts(made):
        assert tell(ran(row, 600)) == ""
    return made


def is_settled_once(job) -> bool:
    whole = Decimal(5) * 601 / 3600
    rated = list(RatedItem.objects.values_list("exact", flat=True))
    return (
        Settlement.plain.count() == UsageRecord.plain.count() == len(rated) == 3
        and all(abs(each - whole) <= Decimal("0.0014") for each in rated)
        and LedgerTransaction.objects.filter(kind="cost").count() == 3
        and abs(owed("lake") + owed("sea") - 3 * Decimal(3) * 601 / 3600) < Decimal("0.003")
        and not Replica.objects.filter(is_settled=False).exists()
        and books_balance()
    )


def test_settled_by_several_at_once_it_is_settled_once(job):
    keys = [row.key for row in attempts(job)]

    def one():
        for key in keys:
            attempt_settle(actor=SYSTEM, key=key)

    assert race(one, one, lambda: money_sweep(actor=SYSTEM), lambda: usage_rate(actor=SYSTEM)) == [
        None, None, None, 0,
    ]  # fmt: skip
    assert is_settled_once(job)


def test_told_by_several_at_once_it_is_kept_once(committed, acme, member, spec, centre):
    centre("lake", spec())
    made = sent(member("acme", "tenant_front_line"), acme)
    task = ran(attempts(made)[0], 600)
    assert race(*[lambda: tell(task, seconds=600)] * 3) == ["", "", ""]
    assert CenterUsage.objects.get().fault == ""


def test_billed_and_settled_at_once_nothing_is_lost(job, acme):
    keys = [row.key for row in attempts(job)]
    attempt_settle(actor=SYSTEM, key=keys[0])

    def rest():
        for key in keys[1:]:
            attempt_settle(actor=SYSTEM, key=key)

    first, _none = race(lambda: bill_make(actor=SYSTEM, tenant=acme), rest)
    if RatedItem.objects.filter(bill__isnull=True).exists():
        second = bill_make(actor=SYSTEM, tenant=acme)
        assert first.no != second.no
    assert RatedItem.objects.filter(bill__isnull=False).count() == 3
    assert is_settled_once(job)


class Killed(BaseException):
    """Its process is gone."""


@pytest.mark.parametrize("place", ["job_usage_settle", "payable_post", "_keep", "charges_follow"])
def test_killed_in_the_middle_nothing_of_it_is_kept_and_it_is_settled_later(job, monkeypatch, place):
    done = getattr(accounting, place)

    def dies(*args, **kwargs):
        done(*args, **kwargs)
        raise Killed

    key = attempts(job)[0].key
    with monkeypatch.context() as patch:
        patch.setattr(accounting, place, dies)
        with pytest.raises(Killed):
            attempt_settle(actor=SYSTEM, key=key)
    assert not UsageRecord.plain.exists()
    assert not Settlement.plain.exists()
    assert not LedgerLeg.objects.exists()
    money_sweep(actor=SYSTEM)
    assert is_settled_once(job)


def test_one_that_cannot_be_settled_holds_up_no_other(job, monkeypatch):
    broken, keep = attempts(job)[0].key, accounting._keep

    def fails(job, row, *rest):
        if row.key == broken:
            raise RuntimeError("no room on the disk")
        keep(job, row, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(accounting, "_keep", fails)
        money_sweep(actor=SYSTEM)
    assert Settlement.plain.count() == 2
    money_sweep(actor=SYSTEM)
    assert is_settled_once(job)
    assert not transaction.get_connection().needs_rollback
    assert connection.is_usable()
