"""What a new centre lacks is said in sentences with links, until nothing is missing."""

import pytest
from django.test import Client

from apps.billing.services.ledger import account_open
from apps.catalog.errors import Undecidable
from apps.catalog.services.commodities import commodity_list_
from apps.catalog.services.processes import process_app_publish, process_app_unpublish
from apps.centre.services import centre_seller_set
from apps.console.centre.checklist import LACKS, lacks
from apps.identity.models import User
from apps.identity.services.operators import operator_disable, operator_role_bind
from apps.identity.services.users import user_disable
from apps.kernel.actor import SYSTEM
from apps.scheduling.services.environment_templates import environment_template_make
from apps.scheduling.services.queues.queue_settings import direct_commodity_set
from apps.tenancy.models import Tenant
from portal.demo.seed import TEMPLATE, seed_all
from tests.apps.catalog.market import commodity_make
from tests.conftest import PASSWORD
from tests.factories.node import SpokenNode

pytestmark = pytest.mark.django_db


def codes() -> list[str]:
    return [lack.code for lack in lacks()]


def text_of(page: Client, path: str) -> str:
    answer = page.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def test_an_empty_centre_lacks_everything_but_what_depends_on_it(operator):
    Tenant.objects.update(state="closed")
    kinds = ["form", "process"] * 2
    assert codes() == ["node", "category", *kinds, "environment", "commodity", "tenant", "seller"]
    page = operator("system_administrator").page()
    found = text_of(page, "/checklist/")
    for code in codes():
        assert f'data-test="lack-{code}"' in found
    for lack in lacks():
        assert f'href="{lack.link}"' in found
        assert page.get(lack.link).status_code == 200
    assert 'hx-get="/checklist/"' in text_of(page, "/")


def test_each_goes_when_it_is_there_and_the_list_with_the_last(operator, member):
    admin = operator("system_administrator").page()
    lacking = {"node", "category", "form", "process", "environment", "commodity", "account", "seller"}
    assert set(codes()) == lacking
    environment_template_make(actor=SYSTEM, draft=TEMPLATE)
    SpokenNode()
    row = commodity_make(is_listed=False)
    assert next(lack.link for lack in lacks() if lack.code == "direct") == "/scheduling/policy/#direct"
    assert codes() == ["listing", "direct", "account", "account", *["decider"] * 4, "seller"]
    commodity_list_(actor=SYSTEM, commodity_uid=row.uid)
    direct_commodity_set(actor=SYSTEM, commodity=row)
    for tenant in Tenant.objects.all():
        account_open(actor=SYSTEM, tenant=tenant)
    centre_seller_set(actor=SYSTEM, legal_name="Weir Ltd.", address="", tax_number="", bank="")
    assert set(codes()) == {"decider"}
    found = text_of(admin, "/checklist/")
    assert "Nobody of Acme Research can decide the step Tenant decision maker decides" in found
    assert 'href="/t/acme/people/"' in found
    for schema in ("acme", "globex"):
        member(schema, "tenant_decision_maker")
    assert lacks() == []
    assert 'data-test="checklist"' not in text_of(admin, "/checklist/")


def test_a_commodity_without_a_price_is_named_with_the_page_that_prices_it():
    row = commodity_make("GPU-9", is_listed=False, prices=None)
    (lack,) = [lack for lack in lacks() if lack.code == "price"]
    assert str(row) in lack.sentence
    assert lack.link == f"/catalogue/commodities/{row.uid}/price/"


def test_the_demo_lacks_nothing_but_its_nodes():
    seed_all(PASSWORD)
    assert codes() == ["node"]


def test_an_operator_who_leaves_takes_the_last_decision_along(operator, member):
    row = commodity_make()
    for schema in ("acme", "globex"):
        member(schema, "tenant_decision_maker")
    assert "decider" not in codes()
    operator_disable(actor=SYSTEM, user=User.objects.get(username="market.approver"))
    (lack,) = {lack for lack in lacks() if lack.code == "decider" and lack.permission == "identity.manage"}
    assert "Operations manager decides" in lack.sentence
    assert lack.link == "/operators/"
    assert row.process_app.state == "published"


def test_who_may_not_put_it_right_reads_it_without_a_link(operator):
    found = text_of(operator("executive").page(), "/checklist/")
    assert 'data-test="lack-node"' in found
    assert 'data-test="cure-' not in found


def test_who_may_put_it_right_in_another_role_is_led_there_in_that_role(operator):
    person = operator("system_administrator")
    page = person.page()
    assert 'data-test="cure-account"' not in text_of(page, "/checklist/")
    operator_role_bind(actor=SYSTEM, user=person.user, role_code="operations_manager")
    assert "Put it right as Operations manager" in text_of(page, "/checklist/")
    page.post("/role/", {"role": "system_administrator"})
    given = {"role": "operations_manager", "next": "/tenants/acme/"}
    assert page.post("/role/", given).url == "/tenants/acme/"
    assert 'data-test="account-open"' in text_of(page, "/tenants/acme/")
    assert page.post("/role/", given | {"next": "https://elsewhere.example/"}).url == "/"


def test_who_has_made_something_is_told_what_is_next(operator):
    page = operator("system_administrator").page()
    SpokenNode()
    assert 'hx-get="/checklist/next/"' not in text_of(page, "/catalogue/categories/")
    answer = page.post("/catalogue/categories/new/", {"name_en": "Compute", "name_zh": "算力"})
    assert 'hx-get="/checklist/next/"' in text_of(page, answer.url)
    assert "There is no form template of the kind New" in text_of(page, "/checklist/next/")
    answer = page.post("/catalogue/forms/new/", {"name_en": "New", "name_zh": "新", "kind": "new"})
    assert 'hx-get="/checklist/next/"' in text_of(page, answer.url)
    found = text_of(page, "/checklist/next/")
    assert "No process application for the kind New" in found
    assert 'href="/catalogue/processes/new/"' in found
    assert 'data-test="still-lacking"' not in text_of(operator("executive").page(), "/checklist/next/")


def test_a_process_that_is_made_only_has_to_be_published(operator):
    row = commodity_make()
    assert not {"form", "process"} & set(codes())
    process_app_unpublish(actor=SYSTEM, process_app_uid=row.termination_app.uid)
    assert [lack.link for lack in lacks() if lack.code == "process"] == ["/catalogue/processes/"]


def test_the_api_says_the_same(operator):
    found = operator("executive").api().get("/api/v1/overview").json()["lacks"]
    assert [row["code"] for row in found] == codes()
    assert {row["code"] for row in found} <= set(LACKS)


# --- refused, not left to wait -------------------------------------------------------------------------------------


@pytest.mark.req("PLAT-CFG-14")
def test_a_process_that_nobody_can_decide_is_not_published_and_what_is_sold_by_it_not_listed(operator):
    api = operator("system_administrator").api()
    row = commodity_make(is_listed=False)
    approver = User.objects.get(username="market.approver")
    user_disable(actor=SYSTEM, user=approver)
    refused = api.post(f"/api/v1/commodities/{row.uid}/list")
    error = refused.json()["error"]
    assert (refused.status_code, error["code"]) == (409, "undecidable")
    assert "Operations manager decides" in error["message"]
    assert "Operations manager" in error["cure"]
    process_app_unpublish(actor=SYSTEM, process_app_uid=row.process_app.uid)
    with pytest.raises(Undecidable, match="Nobody can decide the step Operations manager decides of Process"):
        process_app_publish(actor=SYSTEM, process_app_uid=row.process_app.uid)
    operator("operations_manager")
    assert process_app_publish(actor=SYSTEM, process_app_uid=row.process_app.uid).state == "published"
    assert api.post(f"/api/v1/commodities/{row.uid}/list").status_code == 200
