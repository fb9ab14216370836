"""The catalogue: what a tenant sees, what an operator may do."""

from datetime import timedelta

import pytest
from django.db import InternalError, transaction
from django.db.utils import IntegrityError
from django.utils import timezone

from apps.catalog.models import Commodity, PriceLine, PriceVersion, ProcessTemplate
from apps.catalog.selectors.commodities import commodity_get, commodity_list
from apps.catalog.selectors.prices import price_lines
from apps.catalog.services.categories import category_create
from apps.catalog.services.commodities import (
    commodity_change,
    commodity_delist,
    commodity_disable,
    commodity_enable,
    commodity_list_,
    commodity_tenants_set,
)
from apps.catalog.services.prices import price_publish
from apps.catalog.services.processes import (
    process_app_publish,
    process_app_rebind,
    process_app_unpublish,
    process_template_import,
)
from apps.catalog.types import PriceInput
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from tests.apps.catalog.market import PRICES, commodity_make, template_make

pytestmark = pytest.mark.django_db


@pytest.mark.req("PLAT-OPS-9", "PLAT-OPS-13", "PLAT-SVC-1")
def test_listing_and_enabling_decide_what_is_seen(acme: object) -> None:
    commodity = commodity_make(is_listed=False)
    assert not commodity_list(tenant=acme)
    commodity_list_(actor=SYSTEM, commodity_uid=commodity.uid)
    assert [row.number for row in commodity_list(tenant=acme)] == ["GPU-1"]
    commodity_disable(actor=SYSTEM, commodity_uid=commodity.uid)
    with pytest.raises(NotFound):
        commodity_get(tenant=acme, uid=commodity.uid)
    commodity_enable(actor=SYSTEM, commodity_uid=commodity.uid)
    assert commodity_get(tenant=acme, uid=str(commodity.uid)) == commodity
    commodity_delist(actor=SYSTEM, commodity_uid=commodity.uid)
    with pytest.raises(NotFound):
        commodity_get(tenant=acme, uid=commodity.uid)


@pytest.mark.req("PLAT-OPS-14")
def test_a_commodity_of_one_tenant_is_hidden_from_another(acme: object, globex: object) -> None:
    commodity = commodity_make()
    commodity_tenants_set(actor=SYSTEM, commodity_uid=commodity.uid, is_for_all=False, tenants=[acme])
    assert commodity_get(tenant=acme, uid=commodity.uid) == commodity
    assert not commodity_list(tenant=globex)
    with pytest.raises(NotFound):
        commodity_get(tenant=globex, uid=commodity.uid)
    commodity_tenants_set(actor=SYSTEM, commodity_uid=commodity.uid, is_for_all=False, tenants=[globex])
    assert not commodity_list(tenant=acme)


@pytest.mark.req("PLAT-SVC-3", "PLAT-SVC-5")
def test_search_and_category_narrow(acme: object) -> None:
    commodity_make()
    commodity_make("CPU-1", name_zh="处理器", name_en="Processor")
    assert [row.number for row in commodity_list(tenant=acme, search="develop")] == ["GPU-1"]
    assert [row.number for row in commodity_list(tenant=acme, search="处理")] == ["CPU-1"]
    assert commodity_list(tenant=acme, category="compute").count() == 2
    assert commodity_list(tenant=acme, category="gpu").count() == 2
    assert not commodity_list(tenant=acme, category="storage")


@pytest.mark.parametrize("uid", ["", "1", "nonsense", "00000000-0000-0000-0000-000000000000"])
def test_an_unknown_commodity_is_not_found(acme: object, uid: str) -> None:
    with pytest.raises(NotFound):
        commodity_get(tenant=acme, uid=uid)


def test_only_catalogue_managers_change_it(member, operator) -> None:
    commodity = commodity_make()
    for person in (member("acme", "tenant_operations_manager"), operator("front_line")):
        with pytest.raises(Forbidden):
            commodity_delist(actor=person.actor, commodity_uid=commodity.uid)
    commodity_delist(actor=operator("operations_manager").actor, commodity_uid=commodity.uid)


@pytest.mark.req("PLAT-OPS-10")
def test_a_commodity_cannot_be_listed_before_it_can_be_applied_for() -> None:
    commodity = commodity_make(is_listed=False)
    process_app_unpublish(actor=SYSTEM, process_app_uid=commodity.process_app.uid)
    with pytest.raises(Conflict, match="process application"):
        commodity_list_(actor=SYSTEM, commodity_uid=commodity.uid)


@pytest.mark.req("PLAT-OPS-15")
def test_a_change_on_an_old_version_is_refused() -> None:
    commodity = commodity_make()
    changes = {"max_duration_s": 7200}
    changed = commodity_change(
        actor=SYSTEM, commodity_uid=commodity.uid, version=commodity.version, changes=changes
    )
    assert (changed.max_duration_s, changed.version) == (7200, commodity.version + 1)
    with pytest.raises(Conflict):
        commodity_change(
            actor=SYSTEM, commodity_uid=commodity.uid, version=commodity.version, changes=changes
        )


@pytest.mark.parametrize(
    "changes",
    [
        {"number": "X"},
        {"max_duration_s": 1},
        {"max_count": 0},
        {"work": {"argv": []}},
        {"work": {"argv": "rm"}},
        {"work": {"argv": ["a"], "env": {"A": 1}}},
        {"work": {"argv": ["a"], "shell": True}},
        {"name_zh": ""},
        {"icon": "no-such-icon"},
    ],
)
def test_unsound_changes_change_nothing(changes: dict) -> None:
    commodity = commodity_make()
    with pytest.raises(InvalidInput):
        commodity_change(
            actor=SYSTEM, commodity_uid=commodity.uid, version=commodity.version, changes=changes
        )
    assert Commodity.objects.get(pk=commodity.pk).version == commodity.version


@pytest.mark.req("PLAT-CFG-22")
def test_the_process_of_terminations_is_not_taken_for_new_orders() -> None:
    commodity = commodity_make()
    for name, other in (("process_app", "termination_app"), ("termination_app", "process_app")):
        with pytest.raises(InvalidInput) as refused:
            commodity_change(
                actor=SYSTEM,
                commodity_uid=commodity.uid,
                version=commodity.version,
                changes={name: getattr(commodity, other)},
            )
        assert "another kind" in str(refused.value.fields[name])
    commodity.refresh_from_db()
    assert commodity.process_app != commodity.termination_app


@pytest.mark.req("PLAT-SVC-3")
def test_categories_have_two_levels() -> None:
    commodity = commodity_make()
    with pytest.raises(InvalidInput):
        category_create(actor=SYSTEM, code="third", name_zh="三", name_en="Third", parent=commodity.category)


@pytest.mark.req("PLAT-OPS-50")
@pytest.mark.parametrize(
    "changed",
    [
        PriceInput("gpu_memory", [["8", "0.50"], ["8", "0.80"], [None, "1"]], tier_method="progressive"),
        PriceInput("gpu_memory", [["8", "0.50"]], tier_method="progressive"),
        PriceInput("gpu_memory", [["8", "0.50"], [None, "1"]], tier_method="flat"),
        PriceInput("gpu_memory", [[None, "-1"]]),
        PriceInput("gpu_memory", [[None, 0.5]]),
        PriceInput("gpu_memory", [[None, "1"]], tier_method="dear"),
        PriceInput("gpu_memory", [[None, "1"]], unit="month"),
        PriceInput("gpu_memory", []),
        PriceInput("cpu", [[None, "1"]]),
        PriceInput("licence", [[None, "1"]]),
    ],
)
def test_unsound_prices_are_refused(changed: PriceInput) -> None:
    commodity = commodity_make()
    lines = [changed if line.component == "gpu_memory" else line for line in PRICES]
    with pytest.raises(InvalidInput) as caught:
        price_publish(actor=SYSTEM, commodity_uid=commodity.uid, lines=lines)
    assert caught.value.fields
    assert PriceVersion.objects.count() == 1


@pytest.mark.req("ELA-1908")
def test_a_price_does_not_begin_in_the_past() -> None:
    commodity = commodity_make()
    with pytest.raises(InvalidInput):
        price_publish(
            actor=SYSTEM,
            commodity_uid=commodity.uid,
            lines=PRICES,
            effective_from=timezone.now() - timedelta(seconds=1),
        )


@pytest.mark.req("ELA-1908")
def test_published_prices_are_never_rewritten() -> None:
    commodity = commodity_make()
    version = commodity.price_versions.get()
    assert set(price_lines(version.pk)) == {"compute_share", "gpu_memory", "cpu", "memory"}
    for write in (
        lambda: PriceLine.objects.filter(price_version=version).update(tiers=[[None, "0"]]),
        lambda: PriceLine.objects.filter(price_version=version).delete(),
        lambda: PriceVersion.objects.filter(pk=version.pk).update(number=9),
    ):
        with pytest.raises((InternalError, IntegrityError), match="append-only"), transaction.atomic():
            write()


@pytest.mark.req("PLAT-CFG-21")
def test_the_same_file_is_the_same_version() -> None:
    first, again = template_make(), template_make()
    assert first == again
    assert ProcessTemplate.objects.count() == 1


@pytest.mark.req("PLAT-CFG-21", "PLAT-CFG-20")
def test_a_process_with_code_is_refused_naming_the_element() -> None:
    xml = template_make().xml
    start = xml.index("<bpmn:startEvent") if "<bpmn:startEvent" in xml else xml.index("<startEvent")
    prefix = "bpmn:" if "<bpmn:startEvent" in xml else ""
    script = (
        f'<{prefix}scriptTask id="Evil_1"><{prefix}script>import os</{prefix}script></{prefix}scriptTask>'
    )
    with pytest.raises(InvalidInput) as caught:
        process_template_import(actor=SYSTEM, key="evil", xml=xml[:start] + script + xml[start:])
    assert any("Evil_1" in str(text) for text in caught.value.fields.values())
    assert not ProcessTemplate.objects.filter(key="evil").exists()


def test_a_key_that_is_no_name_is_refused() -> None:
    with pytest.raises(InvalidInput) as caught:
        process_template_import(actor=SYSTEM, key="no key!", xml=template_make().xml)
    assert set(caught.value.fields) == {"key"}


@pytest.mark.parametrize("xml", [b"", b"not xml", b"\xff\xfe", b"<a/>" + b" " * 600_000])
def test_a_file_that_is_no_process_is_refused(xml: bytes) -> None:
    with pytest.raises(InvalidInput):
        process_template_import(actor=SYSTEM, key="none", xml=xml)


@pytest.mark.req("PLAT-CFG-14")
def test_a_published_process_application_must_be_unpublished_first() -> None:
    app = commodity_make().process_app
    with pytest.raises(Conflict):
        process_app_rebind(actor=SYSTEM, process_app_uid=app.uid, process_template=template_make())
    with pytest.raises(Conflict):
        process_app_publish(actor=SYSTEM, process_app_uid=app.uid)
    process_app_unpublish(actor=SYSTEM, process_app_uid=app.uid)
    process_app_rebind(actor=SYSTEM, process_app_uid=app.uid, process_template=template_make())
    assert process_app_publish(actor=SYSTEM, process_app_uid=app.uid).state == "published"
