"""Rating: exact to the second, and safe against every death and every twin."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, InternalError, OperationalError, connection, transaction

from apps.billing.models import LedgerLeg, LedgerTransaction, RatedItem, UsageRecord
from apps.billing.selectors.accounts import ledger_sum
from apps.billing.selectors.bills import bill_lines, bill_list
from apps.billing.selectors.charges import usage_list
from apps.billing.selectors.costs import cost_by, cost_by_day, cost_total, workload_cost
from apps.billing.services.bills import bill_make
from apps.billing.services.charges import charge_close
from apps.billing.services.rating import usage_rate
from apps.catalog.services.prices import price_publish
from apps.catalog.types import PriceInput
from apps.identity.models import User
from apps.kernel.actor import SYSTEM, Actor
from apps.kernel.errors import Forbidden, InvalidInput
from apps.kernel.reach import DataPermission, Reach, Scope
from apps.tenancy.models import Tenant
from tests.apps.billing.scene import books_balance, charge_make, rated_once, record
from tests.apps.catalog.market import PER_HOUR, PRICES
from tests.apps.catalog.racing import race


def rate(limit: int = 500) -> int:
    return usage_rate(actor=SYSTEM, limit=limit)


@pytest.mark.django_db
class TestCost:
    @pytest.mark.req("PLAT-OPS-38", "PLAT-OPS-46", "PLAT-OPS-49", "ELA-1806")
    def test_a_cost_is_price_times_seconds(self, acme: object) -> None:
        charge = charge_make(acme)
        record(charge, [100, 80, 45])
        assert rate() == 3
        assert rate() == 0
        # 7.16 an hour for 225 s
        assert workload_cost(tenant=acme, workload_uid=charge.workload_uid) == PER_HOUR * 225 / 3600
        item = RatedItem.objects.get(usage__seq=1, component="gpu_memory")
        assert (item.quantity, item.unit_amount, item.seconds) == (10, Decimal("5.60"), 100)
        assert item.exact == Decimal("0.1555555556")
        assert item.transaction.idempotency_key == f"rate:{item.usage.uid}"
        assert ledger_sum("accrued", acme) == PER_HOUR * 225 / 3600
        assert books_balance()

    @pytest.mark.req("ELA-1809")
    def test_use_that_is_not_rated_yet_shows_as_such_not_as_free(self, acme: object) -> None:
        charge = charge_make(acme)
        record(charge, [10, 10])
        rate(limit=1)
        amounts = [row.exact for row in usage_list(tenant=acme).order_by("pk")]
        assert amounts[0] > 0
        assert amounts[1] is None

    @pytest.mark.req("PLAT-OPS-38")
    def test_shares_add_up_through_their_slices(self, acme: object) -> None:
        charge = charge_make(acme, count=2)
        record(charge, [100], slice_uid="a")
        record(charge, [80], slice_uid="b")
        rate()
        assert workload_cost(tenant=acme, workload_uid=charge.workload_uid) == PER_HOUR * 180 / 3600

    @pytest.mark.req("ELA-1908")
    def test_the_frozen_price_decides_not_todays(self, acme: object) -> None:
        charge = charge_make(acme)
        dearer = [PriceInput(line.component, [[None, "99"]]) for line in PRICES]
        price_publish(actor=SYSTEM, commodity_uid=charge.price_version.commodity.uid, lines=dearer)
        record(charge, [225])
        rate()
        assert workload_cost(tenant=acme, workload_uid=charge.workload_uid) == PER_HOUR * 225 / 3600

    def test_a_free_component_leaves_no_leg(self, acme: object) -> None:
        charge = charge_make(acme)
        free = [PriceInput(line.component, [[None, "0"]]) for line in PRICES]
        price_publish(actor=SYSTEM, commodity_uid=charge.price_version.commodity.uid, lines=free)
        record(charge_make(acme), [60])
        assert rate() == 1
        assert RatedItem.objects.count() == 4
        assert not LedgerTransaction.objects.exists()

    def test_rated_items_keep_their_facts(self, acme: object) -> None:
        record(charge_make(acme), [60])
        rate()
        for write in (
            lambda: RatedItem.objects.update(exact=0),
            lambda: RatedItem.objects.all().delete(),
            lambda: connection.cursor().execute("UPDATE billing_rateditem SET seconds = 1"),
        ):
            with (
                pytest.raises((InternalError, IntegrityError), match="keeps its facts"),
                transaction.atomic(),
            ):
                write()


@pytest.mark.django_db
class TestDimensions:
    @pytest.mark.req("PLAT-OPS-38", "PLAT-OPS-53", "PLAT-OPS-55")
    def test_every_dimension_regroups_the_same_total(self, acme: object, globex: object) -> None:
        record(charge_make(acme), [60, 30])
        record(charge_make(acme, business_system="Speech", person="Bob"), [120])
        record(charge_make(globex), [300])
        rate()
        total = cost_total(actor=SYSTEM, tenant=acme)
        assert total == cost_total(actor=SYSTEM, tenant=None) - cost_total(actor=SYSTEM, tenant=globex)
        for dimension in (
            "supplier",
            "tenant",
            "organization",
            "business_system",
            "resource_type",
            "person",
            "workload",
        ):
            assert sum(row.exact for row in cost_by(actor=SYSTEM, tenant=acme, dimension=dimension)) == total
        systems = cost_by(actor=SYSTEM, tenant=acme, dimension="business_system")
        assert [(row.key, row.share_seconds) for row in systems] == [("Speech", 480), ("Vision", 360)]
        assert [row.key for row in cost_by(actor=SYSTEM, tenant=None, dimension="tenant")] == [
            "globex",
            "acme",
        ]
        assert sum(day["exact"] for day in cost_by_day(actor=SYSTEM, tenant=acme)) == total

    @pytest.mark.req("PLAT-OPS-38")
    def test_costs_are_grouped_by_identifiers_and_called_what_they_were_called_last(
        self, acme: object
    ) -> None:
        one, other, user = uuid4(), uuid4(), User.objects.create(username="ada", display_name="Ada")
        record(charge_make(acme, business_system="Vision", business_system_uid=one, user_id=user.pk), [60])
        renamed = {
            "business_system": "Sight",
            "business_system_uid": one,
            "person": "Ada L.",
            "user_id": user.pk,
        }
        record(charge_make(acme, **renamed), [60])
        record(
            charge_make(acme, business_system="Vision", business_system_uid=other, organization_uid=one), [60]
        )
        record(charge_make(acme, business_system="Vision"), [120])
        rate()
        rows = cost_by(actor=SYSTEM, tenant=acme, dimension="business_system")
        assert {(row.key, row.label_en, row.share_seconds) for row in rows} == {
            (str(one), "Sight", 480), (str(other), "Vision", 240), ("Vision", "Vision", 480),
        }  # fmt: skip
        assert sum(row.exact for row in rows) == cost_total(actor=SYSTEM, tenant=acme)
        people = cost_by(actor=SYSTEM, tenant=acme, dimension="person")
        assert {(row.key, row.label_en) for row in people} == {(str(user.uid), "Ada L."), ("Ada", "Ada")}
        places = cost_by(actor=SYSTEM, tenant=acme, dimension="organization")
        assert {row.key for row in places} == {str(one), "Research"}

    @pytest.mark.req("PLAT-SEC-4", "PLAT-OPS-53")
    @pytest.mark.parametrize(
        ("scope", "reached"),
        [("own", {"own"}), ("organization", {"own", "up"}), ("below", {"own", "up", "low"}),
         ("systems", {"own", "shared"}), ("all", {"own", "up", "low", "shared", "far"})],
    )  # fmt: skip
    def test_costs_are_those_that_are_reached_and_the_books_are_for_who_reaches_all(
        self, acme: Tenant, scope: str, reached: set[str]
    ) -> None:
        user = User.objects.create(username="ada", display_name="Ada")
        up, low, far, system = (uuid4() for _ in range(4))
        charges = {
            "own": charge_make(acme, user_id=user.pk),
            "up": charge_make(acme, organization_uid=up),
            "low": charge_make(acme, organization_uid=low),
            "shared": charge_make(acme, organization_uid=far, business_system_uid=system),
            "far": charge_make(acme, organization_uid=far),
        }
        for charge in charges.values():
            record(charge, [60])
        rate()
        reach = Reach(DataPermission(costs=Scope(scope)), up, frozenset({up, low}), frozenset({system}))
        rights = frozenset({"billing.view", "billing.pay"})
        actor = Actor("user", "ada", user.pk, "acme", permissions=rights, reach=reach)
        found = cost_by(actor=actor, tenant=acme, dimension="workload")
        names = {str(charge.workload_uid): name for name, charge in charges.items()}
        assert {names[row.key] for row in found} == reached
        total = cost_total(actor=actor, tenant=acme)
        assert total == sum(row.exact for row in found)
        assert sum(day["exact"] for day in cost_by_day(actor=actor, tenant=acme)) == total
        if scope != "all":
            with pytest.raises(Forbidden, match="of the whole tenant"):
                bill_make(actor=actor, tenant=acme)
            bill_make(actor=SYSTEM, tenant=acme)
            # Of the tenant's bill its part alone.
            bill = bill_list(actor=actor).get()
            assert not bill.is_whole
            assert bill.shown_total == sum(line.amount for line in bill_lines(bill, actor)) < bill.total
        else:
            assert bill_make(actor=actor, tenant=acme) == bill_list(actor=actor).get()

    def test_a_period_holds_what_ended_in_it(self, acme: object) -> None:
        charge = charge_make(acme)
        record(charge, [60, 30])
        rate()
        edge = UsageRecord.plain.get(seq=1).end_at
        before = cost_total(actor=SYSTEM, tenant=acme, until=edge)
        after = cost_total(actor=SYSTEM, tenant=acme, since=edge)
        assert abs(before - 2 * after) < Decimal("1e-8")
        assert cost_total(actor=SYSTEM, tenant=acme, since=edge + timedelta(hours=1)) == 0

    def test_an_unknown_dimension_is_refused(self, acme: object) -> None:
        with pytest.raises(InvalidInput):
            cost_by(actor=SYSTEM, tenant=acme, dimension="colour")


class Killed(BaseException):
    """The process dies: no `except Exception` sees it."""


# Every write of a batch, in its order; the death comes right after it.
WRITES = [LedgerTransaction.objects, RatedItem.objects, LedgerLeg.objects]


@pytest.mark.req("ELA-1910", "PLAT-OPS-38")
@pytest.mark.parametrize("number", range(len(WRITES)))
def test_a_rater_killed_after_any_write_loses_and_doubles_nothing(
    committed: None, acme: object, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    record(charge_make(acme), [10] * 12)
    manager = WRITES[number]
    write: Callable[..., Any] = manager.bulk_create

    def dies(rows: Any) -> None:
        write(rows)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(manager, "bulk_create", dies)
        with pytest.raises(Killed):
            rate(limit=5)
    assert not RatedItem.objects.exists()
    assert not LedgerLeg.objects.exists()
    assert rate() == 12
    assert rated_once()
    assert books_balance()


def _rate_and_die() -> None:
    rate(limit=5)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")


@pytest.mark.req("ELA-1910", "ELA-108")
def test_a_rater_whose_server_process_is_killed_loses_and_doubles_nothing(
    committed: None, acme: object
) -> None:
    """The connection of the middle of a batch is cut by the server: the strongest death there is."""
    record(charge_make(acme), [10] * 12)
    with pytest.raises(OperationalError), transaction.atomic():
        _rate_and_die()
    connection.close()
    assert UsageRecord.plain.filter(rated_at__isnull=True).count() == 12
    assert rate() == 12
    assert rated_once()
    assert books_balance()


@pytest.mark.req("ELA-1910")
def test_raters_side_by_side_rate_each_record_once(committed: None, acme: object, globex: object) -> None:
    for tenant in (acme, globex, acme):
        record(charge_make(tenant), [5] * 40)

    def rater() -> int:
        return sum(iter(lambda: rate(limit=7), 0))

    results = race(rater, rater, rater)
    assert sum(results) == 120
    assert rated_once()
    assert books_balance()


@pytest.mark.req("ELA-1910")
def test_a_rater_skips_what_another_holds(committed: None, acme: object) -> None:
    record(charge_make(acme), [5] * 10)
    record(charge_make(acme), [5] * 6)
    with transaction.atomic():
        assert rate(limit=4) == 4
        # Of the first charge, whose funds it draws, the other takes none: it comes to it later.
        assert race(lambda: rate()) == [6]
    assert rate() == 6
    assert rated_once()
    assert books_balance()


@pytest.mark.django_db
def test_a_record_cannot_be_rated_twice_even_by_hand(acme: object) -> None:
    record(charge_make(acme), [60])
    rate()
    with connection.cursor() as cursor, pytest.raises((InternalError, IntegrityError)), transaction.atomic():
        cursor.execute("UPDATE billing_usagerecord SET rated_at = NULL")


@pytest.mark.django_db
def test_a_part_of_the_past_has_the_use_of_what_was_closed_in_it(acme: Tenant) -> None:
    """A charge that was closed before has none in it, but for what was counted while it closed."""
    charge = charge_make(acme)
    record(charge, [60, 60, 60])
    usage_rate(actor=SYSTEM)
    first, second, last = UsageRecord.plain.filter(charge=charge).order_by("end_at")
    charge_close(actor=SYSTEM, workload_uid=charge.workload_uid, at=second.end_at)
    whole = cost_total(actor=SYSTEM, tenant=acme)
    assert cost_total(actor=SYSTEM, tenant=acme, since=first.start_at) == whole
    later = cost_total(actor=SYSTEM, tenant=acme, since=first.end_at)
    assert 0 < later < whole
    assert 0 < cost_total(actor=SYSTEM, tenant=acme, since=second.end_at) < later
    assert cost_total(actor=SYSTEM, tenant=acme, since=last.end_at) == 0
    assert cost_total(actor=SYSTEM, tenant=acme, since=last.end_at + timedelta(days=40)) == 0
