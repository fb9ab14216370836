"""The operators' pages of coupons: budgeted, drafted, changed, issued, ended, recalled, and what each one paid."""

import csv
import io
from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib import admin
from django.urls import reverse
from django.utils import timezone

from apps.audit.models import Record
from apps.billing.services.bills import bill_confirm, bill_make, bill_pay
from apps.billing.services.ledger import account_deposit
from apps.catalog.models import Coupon, CouponActivity, CouponBudget
from apps.catalog.services.coupons import (
    coupon_activity_change,
    coupon_activity_create,
    coupon_activity_issue,
    coupon_budget_set,
    coupon_claim,
)
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, InvalidInput
from tests.apps.billing.scene import charge_make, record

pytestmark = pytest.mark.django_db
ROOT = "/coupons/"
GIVEN = {
    "name_zh": "开业", "name_en": "Opening", "face_value": "50.00", "quantity": "10", "per_tenant_limit": "2",
    "minimum_spend": "0", "ratio_percent": "100", "valid_from": "2026-01-01T00:00", "valid_until": "2126-01-01T00:00",
}  # fmt: skip


@pytest.fixture
def page(operator):
    made = operator("operations_manager").page()
    made.cookies["django_language"] = "en"
    return made


def text(answer, status=200):
    assert answer.status_code == status, answer.content.decode()[-2000:]
    return " ".join(answer.content.decode().split())


def went(answer):
    assert answer.status_code == 302, answer.content.decode()[-2000:]
    return answer["Location"]


def drafted(name="Draft", **more):
    now = timezone.now()
    given = {
        "name_zh": "券", "name_en": name, "face_value": Decimal(10), "quantity": 5,
        "valid_from": now - timedelta(days=1), "valid_until": now + timedelta(days=9),
    }  # fmt: skip
    return coupon_activity_create(actor=SYSTEM, **given | more)


def issued(name="Coupon", **more):
    coupon_budget_set(actor=SYSTEM, year=timezone.localtime().year, amount=Decimal(1000))
    return coupon_activity_issue(actor=SYSTEM, activity_uid=drafted(name, **more).uid)


@pytest.mark.req("PLAT-OPS-24", "PLAT-OPS-34", "PLAT-OPS-35", "PLAT-OPS-25")
def test_coupons_are_budgeted_drafted_changed_issued_and_ended_by_page(page):
    one = went(page.post(f"{ROOT}new/", GIVEN))
    row = CouponActivity.objects.get()
    assert one == f"{ROOT}{row.uid}/"
    assert went(page.post(f"{one}edit/", GIVEN | {"face_value": "40.00", "quantity": "5"})) == one
    row.refresh_from_db()
    assert (row.face_value, row.quantity, row.state) == (40, 5, "draft")
    shown = text(page.get(one))
    assert 'data-test="budget-short"' in shown
    assert "200.00" in shown.partition('data-test="issue-hint"')[2][:300]
    assert page.post(f"{one}do/issue/", headers={"HX-Request": "true"}).status_code == 409
    year = timezone.localtime().year
    went(page.post(f"{ROOT}budgets/", {"year": year, "amount": "1000.00"}))
    went(page.post(f"{one}do/issue/"))
    refused = text(page.post(f"{ROOT}budgets/", {"year": year, "amount": "10.00"}), 409)
    assert "200.00 is issued already" in refused
    assert CouponBudget.objects.get().amount == 1000
    budget = text(page.get(f"{ROOT}budgets/")).partition('data-test="budget-row"')[2]
    assert budget.index("1,000.00") < budget.index("200.00") < budget.index("800.00")
    text(page.post(f"{one}edit/", GIVEN | {"face_value": "90.00"}), 409)
    row.refresh_from_db()
    assert row.face_value == 40, "what is issued keeps its conditions"
    assert 'data-test="activity-end"' in text(page.get(one))
    went(page.post(f"{one}do/end/"))
    row.refresh_from_db()
    assert row.state == "ended"
    assert page.post(f"{one}do/end/", headers={"HX-Request": "true"}).status_code == 409
    told = set(Record.objects.filter(subject_id=str(row.uid)).values_list("name", flat=True))
    assert {"coupon_activity_change", "coupon_activity_issue", "coupon_activity_end"} <= told


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("face_value", "0"),
        ("face_value", "-5"),
        ("face_value", "1.234"),
        ("quantity", "0"),
        ("quantity", "many"),
        ("ratio_percent", "101"),
        ("per_tenant_limit", "0"),
        ("minimum_spend", "-1"),
        ("valid_until", "2025-01-01T00:00"),
        ("valid_from", "tomorrow"),
        ("valid_from", "0001-01-01T00:00"),
        ("valid_until", "9999-12-31T23:00"),
        ("name_en", ""),
        ("name_en", "x" * 10_000),
    ],
)
def test_a_draft_that_cannot_be_says_beside_which_field(page, name, value):
    shown = text(page.post(f"{ROOT}new/", GIVEN | {name: value}), 400)
    assert f'data-test="error-{name}"' in shown
    assert not CouponActivity.objects.exists()


def test_the_service_refuses_what_no_form_stands_before():
    row = drafted()
    for changes in ({"state": "issued"}, {"face_value": Decimal(-1)}, {"valid_until": row.valid_from}):
        with pytest.raises(InvalidInput) as refusal:
            coupon_activity_change(actor=SYSTEM, activity_uid=row.uid, changes=changes)
        assert set(refusal.value.fields) == set(changes)
    with pytest.raises(Conflict):
        coupon_activity_change(actor=SYSTEM, activity_uid=issued().uid, changes={"quantity": 9})
    assert CouponActivity.objects.get(pk=row.pk).face_value == 10


@pytest.mark.req("PLAT-OPS-35")
def test_a_draft_is_deleted_and_what_was_issued_is_not(page):
    draft, issued_one = drafted("Mistaken"), issued("Given out")
    assert 'data-test="activity-delete"' in text(page.get(f"/coupons/{draft.uid}/"))
    assert 'data-test="activity-delete"' not in text(page.get(f"/coupons/{issued_one.uid}/"))
    assert went(page.post(f"/coupons/{draft.uid}/do/delete/")).endswith("/coupons/")
    assert not CouponActivity.objects.filter(pk=draft.pk).exists()
    assert page.get(f"/coupons/{draft.uid}/").status_code == 404
    for act in ("delete", "issue"):
        assert page.post(f"/coupons/{draft.uid}/do/{act}/").status_code == 404
    assert page.post(f"/coupons/{issued_one.uid}/do/delete/").status_code == 409
    issued_one.refresh_from_db()
    assert issued_one.state == "issued"
    assert Record.objects.filter(name="coupon_activity_delete", subject_id=str(draft.uid)).exists()


def test_activities_are_narrowed_sorted_and_exported_as_they_stand(page):
    draft, open_ = drafted("Zebra", face_value=Decimal(7)), issued("Apple")
    shown = text(page.get(ROOT, {"sort": "name"}))
    assert shown.index(f'data-uid="{open_.uid}"') < shown.index(f'data-uid="{draft.uid}"')
    for query in ({"state": "draft"}, {"search": "zeb"}):
        narrowed = text(page.get(ROOT, query))
        assert f'data-uid="{draft.uid}"' in narrowed
        assert f'data-uid="{open_.uid}"' not in narrowed
    assert "Nothing matches" in text(page.get(ROOT, {"search": "nobody"}))
    answer = page.get(ROOT, {"sort": "name", "export": "csv"})
    rows = list(csv.DictReader(io.StringIO(b"".join(answer).decode("utf-8-sig"))))
    assert [row["Name"] for row in rows] == ["Apple", "Zebra"]
    assert [Decimal(row["Issued (CNY)"]) for row in rows] == [50, 0], "nothing is issued of a draft"


@pytest.mark.req("PLAT-OPS-27", "PLAT-OPS-33", "PLAT-OPS-36")
def test_claimed_coupons_are_summed_for_each_tenant_and_one_is_recalled_with_a_reason(page, member):
    activity = issued()
    for schema in ("acme", "globex"):
        coupon_claim(actor=member(schema, "tenant_operations_manager").actor, activity_uid=activity.uid)
    answer = page.get(f"{ROOT}claimed/")
    assert [row["count"] for row in answer.context["totals"]] == [1, 1]
    assert 'data-test="coupon-totals"' in text(answer)
    ours, theirs = (Coupon.plain.get(tenant__schema_name=name) for name in ("acme", "globex"))
    narrowed = text(page.get(f"{ROOT}claimed/", {"tenant": "acme"}))
    assert f'data-code="{ours.code}"' in narrowed
    assert f'data-code="{theirs.code}"' not in narrowed
    one = f"{ROOT}claimed/{ours.uid}/"
    assert page.post(f"{one}recall/", {"reason": ""}).status_code == 400
    assert Coupon.plain.get(pk=ours.pk).state == "claimed"
    assert went(page.post(f"{one}recall/", {"reason": "by mistake"})) == one
    assert Coupon.plain.get(pk=ours.pk).state == "recalled"
    assert 'data-test="recall"' not in text(page.get(one))
    assert page.post(f"{one}recall/", {"reason": "again"}).status_code == 409
    assert "Nothing matches" in text(page.get(f"{ROOT}claimed/", {"state": "used"}))


def test_a_coupon_tells_which_bill_it_paid_and_how_much(page, operator, member, acme):
    activity = issued(face_value=Decimal("0.05"))
    claimed = coupon_claim(actor=member("acme", "tenant_operations_manager").actor, activity_uid=activity.uid)
    record(charge_make(acme), [600])
    bill = bill_confirm(actor=SYSTEM, bill_uid=bill_make(actor=SYSTEM, tenant=acme).uid)
    assert bill.total >= Decimal("0.05")
    one = f"{ROOT}claimed/{claimed.uid}/"
    assert "It has paid nothing yet." in text(page.get(one))
    account_deposit(actor=SYSTEM, tenant=acme, amount=Decimal(100), reference="D-0")
    bill_pay(actor=SYSTEM, bill_uid=bill.uid, coupon_uid=claimed.uid)
    shown = text(page.get(one)).partition('data-test="coupon-use"')[2]
    assert f'href="/bills/{bill.uid}/">{bill.no}' in shown
    assert "0.05" in shown[:600]
    assert "0.05" in text(page.get(f"{ROOT}{activity.uid}/")).partition('data-test="used"')[2][:200]
    front = operator("front_line").page()
    front.cookies["django_language"] = "en"
    assert "A bill of the tenant" in text(front.get(one))


def test_who_may_only_look_is_shown_no_act_and_refused(operator, member):
    draft = drafted()
    coupon = coupon_claim(actor=member("acme", "tenant_operations_manager").actor, activity_uid=issued().uid)
    reader = operator("executive").page()
    for path in ("", f"{draft.uid}/", "claimed/", f"claimed/{coupon.uid}/", "budgets/"):
        shown = text(reader.get(ROOT + path))
        for mark in (
            "activity-new",
            "activity-issue",
            "activity-edit",
            "activity-delete",
            "recall",
            "budget-form",
        ):
            assert f'data-test="{mark}"' not in shown, (path, mark)
    for path in (
        "new/",
        f"{draft.uid}/edit/",
        f"{draft.uid}/do/issue/",
        f"{draft.uid}/do/delete/",
        "budgets/",
    ):
        assert reader.post(ROOT + path, GIVEN).status_code == 403, path
    assert reader.post(f"{ROOT}claimed/{coupon.uid}/recall/", {"reason": "x"}).status_code == 403
    assert CouponActivity.objects.get(pk=draft.pk).state == "draft"
    stranger = member("acme", "tenant_system_administrator").page()
    for path in ("claimed/", "budgets/", f"{draft.uid}/", f"claimed/{coupon.uid}/"):
        assert stranger.get(ROOT + path).status_code == 404
        assert stranger.get(ROOT + path, headers={"host": "localhost"}).status_code in (302, 403)


def test_the_tables_of_the_admin_are_read_only_and_lead_to_the_pages(page, member):
    activity = issued()
    coupon_claim(actor=member("acme", "tenant_operations_manager").actor, activity_uid=activity.uid)
    for model in (CouponActivity, Coupon, CouponBudget):
        row, name = model._base_manager.get(), f"admin:catalog_{model._meta.model_name}"
        shown = text(page.get(reverse(f"{name}_change", args=[row.pk])))
        own = admin.site.get_model_admin(model).page_of(row)
        assert f'href="{own}"' in shown
        assert 'data-test="act-' not in shown
        assert page.get(own).status_code == 200
    assert went(page.get(reverse("admin:catalog_couponactivity_add"))) == f"{ROOT}new/"


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_an_installation_without_coupons_says_what_comes_first(page, language):
    page.cookies["django_language"] = language
    first = {
        "": ("No coupon activity yet", "暂无算力券活动"),
        "budgets/": ("No year has a budget yet", "尚无年度预算"),
    }
    for path, said in first.items():
        assert said[language != "en"] in text(page.get(ROOT + path))
