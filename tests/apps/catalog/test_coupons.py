"""Coupons: budget, claims, use; alone and in parallel."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import InternalError, transaction
from django.db.utils import IntegrityError
from django.utils import timezone

from apps.catalog.errors import BudgetExceeded, CouponNotClaimable, CouponNotUsable
from apps.catalog.models import Coupon, CouponActivity, CouponRedemption
from apps.catalog.selectors.coupons import (
    coupon_activity_list,
    coupon_activity_summary,
    coupon_claim_totals,
    coupon_get,
    coupon_list,
    coupon_usable_list,
    coupons_for,
)
from apps.catalog.selectors.prices import quote_get
from apps.catalog.services.coupons import (
    coupon_activity_create,
    coupon_activity_delete,
    coupon_activity_end,
    coupon_activity_issue,
    coupon_budget_set,
    coupon_claim,
    coupon_recall,
    coupon_redeem,
    coupons_expire,
)
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from tests.apps.catalog.market import AMOUNTS, commodity_make
from tests.apps.catalog.racing import race


def activity_make(*, is_issued: bool = True, budget: str = "100000", **changes: object) -> CouponActivity:
    now = timezone.now()
    arguments = {
        "name_zh": "算力券",
        "name_en": "Compute coupon",
        "face_value": Decimal(50),
        "quantity": 3,
        "valid_from": now - timedelta(days=1),
        "valid_until": now + timedelta(days=30),
        **changes,
    }
    activity = coupon_activity_create(actor=SYSTEM, **arguments)
    if not is_issued:
        return activity
    coupon_budget_set(actor=SYSTEM, year=timezone.localtime().year, amount=Decimal(budget))
    return coupon_activity_issue(actor=SYSTEM, activity_uid=activity.uid)


@pytest.fixture
def manager(member):
    return member("acme", "tenant_operations_manager")


@pytest.mark.django_db
class TestClaim:
    @pytest.mark.req("PLAT-OPS-29", "PLAT-OPS-37")
    def test_an_activity_is_seen_once_issued_and_claimed(self, acme: object, manager) -> None:
        activity = activity_make(is_issued=False)
        assert not coupon_activity_list(tenant=acme)
        with pytest.raises(NotFound):
            coupon_claim(actor=manager.actor, activity_uid=activity.uid)
        coupon_budget_set(actor=SYSTEM, year=timezone.localtime().year, amount=Decimal(150))
        coupon_activity_issue(actor=SYSTEM, activity_uid=activity.uid)
        coupon = coupon_claim(actor=manager.actor, activity_uid=activity.uid)
        assert (coupon.remaining, coupon.state, coupon.tenant) == (50, "claimed", acme)
        seen = coupon_activity_list(tenant=acme).get()
        assert (seen.left_count, seen.claimed_by_tenant) == (2, 1)

    @pytest.mark.req("PLAT-OPS-26")
    def test_a_tenants_limit_holds_for_the_tenant(self, member, manager) -> None:
        activity = activity_make()
        coupon_claim(actor=manager.actor, activity_uid=activity.uid)
        with pytest.raises(CouponNotClaimable, match="1 of the 1"):
            coupon_claim(actor=member("acme", "tenant_operations_manager").actor, activity_uid=activity.uid)
        coupon_claim(actor=member("globex", "tenant_operations_manager").actor, activity_uid=activity.uid)

    @pytest.mark.req("PLAT-OPS-29", "PLAT-OPS-30")
    def test_nothing_left_or_ended_is_refused(self, acme: object, member, manager) -> None:
        activity = activity_make(quantity=1, per_tenant_limit=5)
        coupon_claim(actor=manager.actor, activity_uid=activity.uid)
        with pytest.raises(CouponNotClaimable, match="All 1"):
            coupon_claim(actor=manager.actor, activity_uid=activity.uid)
        assert not coupon_activity_list(tenant=acme, claimable=True)
        ended = activity_make()
        assert [row.uid for row in coupon_activity_list(tenant=acme, claimable=True)] == [ended.uid]
        coupon_activity_end(actor=SYSTEM, activity_uid=ended.uid)
        with pytest.raises(CouponNotClaimable, match="ended"):
            coupon_claim(actor=manager.actor, activity_uid=ended.uid)

    def test_only_the_tenants_claimers_claim(self, member, operator) -> None:
        activity = activity_make()
        for person in (member("acme", "tenant_front_line"), operator("operations_manager")):
            with pytest.raises(Forbidden):
                coupon_claim(actor=person.actor, activity_uid=activity.uid)
        with pytest.raises(Forbidden):
            coupon_claim(actor=SYSTEM, activity_uid=activity.uid)


@pytest.mark.django_db
class TestBudget:
    @pytest.mark.req("PLAT-OPS-34")
    def test_issuing_beyond_the_years_budget_is_refused(self) -> None:
        with pytest.raises(BudgetExceeded, match=r"149.99.*150"):
            activity_make(budget="149.99")
        assert CouponActivity.objects.get().state == "draft"

    @pytest.mark.req("PLAT-OPS-34", "PLAT-OPS-35", "PLAT-OPS-36")
    def test_the_summary_is_the_sum_of_the_details(self, acme: object, manager) -> None:
        activity = activity_make(budget="150")
        coupon = coupon_claim(actor=manager.actor, activity_uid=activity.uid)
        redeem(acme, coupon, "20")
        row = coupon_activity_summary().get()
        assert (row.issued_value, row.claimed_value, row.used_value) == (150, 50, 20)
        assert coupon_claim_totals()[0] | {"tenant__name": ""} == {
            "tenant__schema_name": "acme",
            "tenant__name": "",
            "count": 1,
            "face_value": 50,
            "remaining": 30,
        }
        with pytest.raises(BudgetExceeded):
            coupon_budget_set(actor=SYSTEM, year=timezone.localtime().year, amount=Decimal(149))
        coupon_activity_end(actor=SYSTEM, activity_uid=activity.uid)
        coupon_budget_set(actor=SYSTEM, year=timezone.localtime().year, amount=Decimal(50))

    @pytest.mark.parametrize(
        "changes",
        [
            {"face_value": Decimal(0)},
            {"face_value": Decimal("-5")},
            {"face_value": Decimal("1.005")},
            {"quantity": 0},
            {"ratio_percent": 0},
            {"ratio_percent": 101},
            {"minimum_spend": Decimal(-1)},
            {"valid_until": timezone.now() - timedelta(days=2)},
            {"name_zh": ""},
        ],
    )
    def test_absurd_activities_are_refused(self, changes: dict) -> None:
        with pytest.raises(InvalidInput):
            activity_make(is_issued=False, **changes)
        assert not CouponActivity.objects.exists()


def redeem(tenant: object, coupon: Coupon, amount: str, reference: str = "bill:1") -> Decimal:
    return coupon_redeem(
        actor=SYSTEM, tenant=tenant, coupon_uid=coupon.uid, amount=Decimal(amount), reference=reference
    )


@pytest.mark.django_db
class TestRedeem:
    @pytest.fixture
    def coupon(self, manager) -> Coupon:
        return coupon_claim(actor=manager.actor, activity_uid=activity_make().uid)

    @pytest.mark.req("PLAT-OPS-32")
    def test_it_pays_until_nothing_remains(self, acme: object, coupon: Coupon) -> None:
        assert redeem(acme, coupon, "30", "bill:1") == 30
        assert redeem(acme, coupon, "30", "bill:2") == 20
        coupon.refresh_from_db()
        assert (coupon.remaining, coupon.state) == (0, "used")
        assert not coupon_usable_list(tenant=acme)
        with pytest.raises(CouponNotUsable, match="used"):
            redeem(acme, coupon, "30", "bill:3")

    @pytest.mark.req("PLAT-OPS-26")
    def test_ratio_and_minimum_spend(self, acme: object, manager) -> None:
        rules = {"ratio_percent": 30, "minimum_spend": Decimal(10), "per_tenant_limit": 2}
        coupon = coupon_claim(actor=manager.actor, activity_uid=activity_make(**rules).uid)
        with pytest.raises(CouponNotUsable, match="at least ¥10"):
            redeem(acme, coupon, "9.99")
        assert redeem(acme, coupon, "10.01") == Decimal("3.00")

    @pytest.mark.req("PLAT-OPS-27")
    def test_a_recalled_coupon_pays_nothing(self, acme: object, coupon: Coupon, manager) -> None:
        with pytest.raises(Forbidden):
            coupon_recall(actor=manager.actor, coupon_uid=coupon.uid)
        coupon_recall(actor=SYSTEM, coupon_uid=coupon.uid)
        with pytest.raises(CouponNotUsable, match="recalled"):
            redeem(acme, coupon, "1")
        with pytest.raises(Conflict):
            coupon_recall(actor=SYSTEM, coupon_uid=coupon.uid)

    @pytest.mark.req("PLAT-OPS-26")
    def test_an_expired_coupon_pays_nothing(self, acme: object, coupon: Coupon) -> None:
        CouponActivity.objects.update(valid_until=timezone.now())
        with pytest.raises(CouponNotUsable, match="valid until"):
            redeem(acme, coupon, "1")
        assert coupons_expire(actor=SYSTEM) == 1
        assert coupons_expire(actor=SYSTEM) == 0
        assert coupon_list(tenant=acme).get().state == "expired"

    @pytest.mark.req("PLAT-TEN-2")
    def test_another_tenants_coupon_is_not_found(self, globex: object, coupon: Coupon) -> None:
        with pytest.raises(NotFound):
            redeem(globex, coupon, "1")
        with pytest.raises(NotFound):
            coupon_get(tenant=globex, uid=coupon.uid)
        commodity = commodity_make()
        with pytest.raises(NotFound):
            quote_get(
                tenant=globex,
                commodity=commodity,
                amounts=AMOUNTS,
                count=1,
                duration_s=60,
                at=timezone.now(),
                coupon=coupon.uid,
            )

    @pytest.mark.req("PLAT-OPS-5")
    def test_a_quote_shows_what_the_coupon_takes(self, acme: object, coupon: Coupon) -> None:
        found = quote_get(
            tenant=acme,
            commodity=commodity_make(),
            amounts=AMOUNTS,
            count=1,
            duration_s=36000,
            at=timezone.now(),
            coupon=coupon.uid,
        )
        assert (found.total, found.coupon.amount, found.payable) == (Decimal("71.60"), 50, Decimal("21.60"))

    @pytest.mark.req("PLAT-OPS-32")
    def test_what_pays_most_of_a_bill_is_proposed_first(self, acme: object, manager, coupon: Coupon) -> None:
        soon = timezone.now() + timedelta(days=2)

        def claim(**changes: object) -> Coupon:
            return coupon_claim(actor=manager.actor, activity_uid=activity_make(**changes).uid)

        half, ends, dear = claim(ratio_percent=50), claim(valid_until=soon), claim(minimum_spend=Decimal(60))
        found = coupons_for(tenant=acme, total=Decimal(40))
        assert [(row.pk, takes) for row, takes in found] == [(ends.pk, 40), (coupon.pk, 40), (half.pk, 20)]
        assert dear.pk not in {row.pk for row, _takes in found}
        assert redeem(acme, found[0][0], "40") == 40
        assert coupons_for(tenant=acme, total=Decimal(40))[0][0].pk == coupon.pk
        assert coupons_for(tenant=acme, total=Decimal(0)) == []

    def test_redemptions_are_never_rewritten(self, acme: object, coupon: Coupon) -> None:
        redeem(acme, coupon, "5")
        for write in (
            lambda: CouponRedemption.plain.update(amount=1),
            lambda: CouponRedemption.plain.all().delete(),
        ):
            with pytest.raises((InternalError, IntegrityError), match="append-only"), transaction.atomic():
                write()


@pytest.mark.req("PLAT-OPS-26", "ELA-109")
def test_of_parallel_claims_on_the_last_coupon_one_wins(committed: None, member) -> None:
    activity = activity_make(quantity=1, per_tenant_limit=9)
    actors = [
        member(schema, "tenant_operations_manager").actor for schema in ("acme", "globex", "acme", "globex")
    ]
    results = race(
        *[lambda actor=actor: coupon_claim(actor=actor, activity_uid=activity.uid) for actor in actors]
    )
    assert sum(isinstance(result, Coupon) for result in results) == 1
    assert sum(isinstance(result, CouponNotClaimable) for result in results) == 3
    assert CouponActivity.objects.get().claimed_count == Coupon.plain.count() == 1


@pytest.mark.req("PLAT-OPS-26")
def test_parallel_redemptions_never_take_more_than_there_is(committed: None, acme: object, member) -> None:
    actor = member("acme", "tenant_operations_manager").actor
    coupon = coupon_claim(actor=actor, activity_uid=activity_make().uid)
    results = race(*[lambda n=n: redeem(acme, coupon, "30", f"bill:{n}") for n in range(4)])
    taken = sorted(result for result in results if isinstance(result, Decimal))
    assert taken == [20, 30]
    assert sum(isinstance(result, CouponNotUsable) for result in results) == 2
    coupon.refresh_from_db()
    assert (coupon.remaining, coupon.state) == (0, "used")


def test_of_deleting_a_draft_and_issuing_it_at_once_one_wins(committed: None) -> None:
    coupon_budget_set(actor=SYSTEM, year=timezone.localtime().year, amount=Decimal(100_000))
    draft = activity_make(is_issued=False)
    deleted, issued = race(
        lambda: coupon_activity_delete(actor=SYSTEM, activity_uid=draft.uid),
        lambda: coupon_activity_issue(actor=SYSTEM, activity_uid=draft.uid),
    )
    if row := CouponActivity.objects.first():
        assert row.state == "issued"
        assert isinstance(deleted, Conflict)
    else:
        assert isinstance(issued, NotFound)
