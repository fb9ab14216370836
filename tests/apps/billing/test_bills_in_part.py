"""Bills by data permission: who reaches a part of the tenant's costs sees that part of each bill, and settles none."""

from decimal import Decimal

import pytest
from django.test import Client
from rest_framework.test import APIClient

from apps.billing.models import Bill
from apps.billing.services.bills import bill_make
from apps.identity.models import User
from apps.identity.rules.role_functions import RoleDraft
from apps.identity.services.tokens import api_token_make
from apps.identity.services.users import membership_add, user_create
from apps.kernel.actor import SYSTEM
from apps.kernel.planes import in_tenant
from apps.kernel.reach import DataPermission, Scope
from apps.orgs.models import Organization
from apps.orgs.services.organizations import member_add
from apps.orgs.services.own_roles import role_make
from apps.orgs.services.roles import role_bind
from tests.apps.billing.scene import charge_make, deposit, record

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-SEC-4", "PLAT-TEN-32", "PLAT-OPS-32")]


class Payer:
    """Somebody of acme who may pay bills, and reaches costs so far."""

    def __init__(self, acme: object, scope: Scope, name: str) -> None:
        self.user = user_create(actor=SYSTEM, username=name, display_name=name, password="correct-horse-9")
        membership_add(actor=SYSTEM, user=self.user, tenant=acme)
        with in_tenant("acme"):
            draft = RoleDraft(name, ["billing.view", "billing.pay"], data=DataPermission(costs=scope))
            role_bind(actor=SYSTEM, user=self.user, role=role_make(actor=SYSTEM, draft=draft))
            self.place = Organization.objects.create(name=f"Office of {name}")
            member_add(actor=SYSTEM, user=self.user, organization=self.place)
        self.page = Client(headers={"host": "acme.localhost"})
        self.page.force_login(User.objects.get(pk=self.user.pk))
        self.api = APIClient(headers={"host": "localhost"})
        _token, secret = api_token_make(actor=SYSTEM, user=self.user, name="test", tenant=acme)
        self.api.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")

    def read(self, path: str):
        return self.api.get(path)


@pytest.fixture
def own(acme) -> Payer:
    return Payer(acme, Scope.OWN, "own")


@pytest.fixture
def office(acme) -> Payer:
    return Payer(acme, Scope.ORGANIZATION, "office")


@pytest.fixture
def bill(acme, own: Payer, office: Payer) -> Bill:
    """Of three charges: one of `own`, one of `office`'s organization, one of nobody of them."""
    record(charge_make(acme, user_id=own.user.pk), [100])
    record(charge_make(acme, organization_uid=office.place.uid), [200])
    record(charge_make(acme), [400])
    deposit(acme, "5")
    return bill_make(actor=SYSTEM, tenant=acme)


def test_each_sees_the_lines_and_the_sum_that_he_reaches(bill: Bill, own: Payer, office: Payer) -> None:
    for payer, seconds in ((own, 100), (office, 200)):
        (row,) = payer.read("/api/v1/bills").json()["results"]
        whole = payer.read(f"/api/v1/bills/{bill.uid}").json()
        assert {line["share_seconds"] for line in whole["lines"]} == {seconds}
        total = sum(Decimal(line["amount"]) for line in whole["lines"])
        assert Decimal(row["total"]) == Decimal(whole["total"]) == total < bill.total
        assert (whole["is_whole"], whole["payment"]) == (False, None)
        page = payer.page.get(f"/billing/bills/{bill.uid}/").content.decode()
        assert f"{bill.total}" not in page
        assert 'data-test="bill-confirm"' not in page
        assert 'data-test="bills-in-part"' in payer.page.get("/billing/bills/").content.decode()


def test_nobody_opens_a_line_or_settles_a_bill_that_he_reaches_in_part(bill: Bill, own: Payer) -> None:
    (line,) = bill.lines.filter(share_seconds=400, price_line__component__code="cpu")
    assert own.read(f"/api/v1/bills/{bill.uid}/lines/{line.uid}").status_code == 404
    assert own.page.get(f"/billing/bills/{bill.uid}/lines/{line.uid}/").status_code == 404
    for act in ("confirm", "pay"):
        assert own.page.post(f"/billing/bills/{bill.uid}/{act}/").status_code == 403
    bill.refresh_from_db()
    assert bill.state == "made"


def test_a_bill_without_any_of_ones_own_is_not_there(acme, own: Payer) -> None:
    record(charge_make(acme), [400])
    other = bill_make(actor=SYSTEM, tenant=acme)
    assert own.read("/api/v1/bills").json()["results"] == []
    assert own.read(f"/api/v1/bills/{other.uid}").status_code == 404
    assert own.page.get("/billing/account/").status_code == 403


def test_who_reaches_all_sees_and_settles_the_whole(acme, bill: Bill) -> None:
    everybody = Payer(acme, Scope.ALL, "everybody")
    whole = everybody.read(f"/api/v1/bills/{bill.uid}").json()
    assert (Decimal(whole["total"]), whole["is_whole"]) == (bill.total, True)
    everybody.page.post(f"/billing/bills/{bill.uid}/confirm/")
    bill.refresh_from_db()
    assert bill.state == "confirmed"
