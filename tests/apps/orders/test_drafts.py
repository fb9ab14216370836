"""Carts and drafts: what is refused names its field and changes nothing; who sees what."""

from dataclasses import replace
from uuid import uuid4

import pytest

from apps.catalog.models import FormTemplate
from apps.catalog.services.processes import process_app_unpublish
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from apps.kernel.planes import in_tenant
from apps.orders.models import ApplicationForm, CartLine
from apps.orders.selectors import cart_list, form_get, form_list, order_get, order_list
from apps.orders.services.carts import cart_add, cart_remove
from apps.orders.services.drafts import form_delete, form_draft, form_update
from apps.orders.services.submissions import form_submit
from apps.orders.types import LineInput
from apps.orgs.services.business_systems import (
    business_system_create,
    business_system_member_add,
    business_system_member_remove,
)
from apps.orgs.services.organizations import member_add, organization_create
from tests.apps.orders.scene import AMOUNTS, Scene

pytestmark = pytest.mark.django_db


@pytest.mark.req("PLAT-APPLY-1", "PLAT-APPLY-3")
def test_from_the_cart_into_one_form(scene: Scene):
    actor = scene.ann.actor
    first = cart_add(actor=actor, commodity_uid=scene.commodity.uid)
    second = cart_add(actor=actor, commodity_uid=scene.commodity.uid, amounts=AMOUNTS, count=2)
    assert first.amounts == AMOUNTS
    lines = [LineInput(one.commodity.uid, one.amounts, one.count) for one in (first, second)]
    form = form_draft(actor=actor, lines=lines, duration_s=3600, cart_uids=[first.uid])
    assert [line.count for line in form.lines.all()] == [1, 2]
    assert list(cart_list(actor=actor)) == [second]
    cart_remove(actor=actor, line_uid=second.uid)
    assert not CartLine.objects.exists()


def test_a_cart_is_its_users_own(scene: Scene, member):
    line = cart_add(actor=scene.ann.actor, commodity_uid=scene.commodity.uid)
    other = member("acme", "tenant_front_line").actor
    assert not cart_list(actor=other).exists()
    with pytest.raises(NotFound):
        cart_remove(actor=other, line_uid=line.uid)
    with pytest.raises(Forbidden):
        cart_add(actor=scene.boss.actor, commodity_uid=scene.commodity.uid)
    with pytest.raises(NotFound):
        cart_add(actor=scene.ann.actor, commodity_uid=uuid4())
    with pytest.raises(InvalidInput):
        cart_add(actor=scene.ann.actor, commodity_uid=scene.commodity.uid, amounts={"cpu": -1})
    assert CartLine.objects.count() == 1


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"lines": []}, "lines"),
        ({"amounts": {**AMOUNTS, "compute_share": -20}}, "lines.0.amounts.compute_share"),
        ({"amounts": {**AMOUNTS, "compute_share": 7}}, "lines.0.amounts.compute_share"),
        ({"amounts": {**AMOUNTS, "gpu_memory": 10**12}}, "lines.0.amounts.gpu_memory"),
        ({"amounts": {"cpu": 4}}, "lines.0.amounts.memory"),
        ({"amounts": {**AMOUNTS, "gold": 1}}, "lines.0.amounts.gold"),
        ({"count": 0}, "lines.0.count"),
        ({"count": 10**6}, "lines.0.count"),
        ({"duration_s": 1}, "duration_s"),
        ({"duration_s": 10**9}, "duration_s"),
        ({"remark": "x" * 1001}, "remark"),
        ({"data": {"colour": "red"}}, "data.colour"),
    ],
)
def test_bad_input_names_its_field_and_makes_no_draft(scene: Scene, changes, field):
    line = LineInput(scene.commodity.uid, changes.pop("amounts", AMOUNTS), changes.pop("count", 1))
    given = {"lines": [line], "duration_s": 3600, **changes}
    with pytest.raises(InvalidInput) as refused:
        form_draft(actor=scene.ann.actor, **given)
    assert field in refused.value.fields
    assert not ApplicationForm.objects.exists()


def test_unknown_services_systems_and_coupons(scene: Scene):
    line = LineInput(scene.commodity.uid, AMOUNTS)
    for changes in (
        {"lines": [LineInput(uuid4(), AMOUNTS)]},
        {"business_system_uid": uuid4()},
        {"coupon_uid": uuid4()},
    ):
        given = {"lines": [line], "duration_s": 3600, **changes}
        with pytest.raises(NotFound):
            form_draft(actor=scene.ann.actor, **given)
    assert not ApplicationForm.objects.exists()


@pytest.mark.req("PLAT-TEN-20")
def test_an_application_without_a_business_system_is_for_the_default(scene: Scene):
    physics = organization_create(actor=SYSTEM, name="Physics")
    system = business_system_create(actor=SYSTEM, name="Spectra", number="S-1", organization=physics)
    business_system_member_add(actor=SYSTEM, business_system=system, user=scene.ann.user)
    scene.ann = replace(scene.ann, actor=replace(scene.ann.actor, default_system=system.uid))
    assert scene.draft().business_system_name == "Spectra"
    business_system_member_remove(actor=SYSTEM, business_system=system, user=scene.ann.user)
    with pytest.raises(InvalidInput, match="no longer take part"):
        scene.draft()


@pytest.mark.req("PLAT-TEN-20", "PLAT-APPLY-9")
def test_only_for_a_business_system_one_takes_part_in(scene: Scene):
    physics = organization_create(actor=SYSTEM, name="Physics")
    member_add(actor=SYSTEM, user=scene.ann.user, organization=physics)
    system = business_system_create(actor=SYSTEM, name="Spectra", number="S-1", organization=physics)
    with pytest.raises(NotFound):
        scene.draft(business_system_uid=system.uid)
    business_system_member_add(actor=SYSTEM, business_system=system, user=scene.ann.user)
    form = scene.draft(business_system_uid=system.uid)
    assert (form.organization_name, form.business_system_name) == ("Physics", "Spectra")
    order = scene.ordered(business_system_uid=system.uid)
    assert (order.organization_name, order.business_system) == ("Physics", system)


@pytest.mark.req("PLAT-APPLY-4")
def test_the_templates_own_fields(scene: Scene):
    fields = [
        {"name": "why", "kind": "text", "is_required": True},
        {"name": "class", "kind": "choice", "choices": ["a", "b"]},
        {"name": "price", "kind": "number", "state": "read_only"},
        {"name": "people", "kind": "number"},
    ]
    FormTemplate.objects.filter(pk=scene.commodity.process_app.form_template_id).update(fields=fields)
    for data in ({"class": "c"}, {"people": "many"}, {"price": 1}, {"why": "x" * 2001}, {"people": True}):
        with pytest.raises(InvalidInput) as refused:
            scene.draft(data=data)
        assert f"data.{next(iter(data))}" in refused.value.fields
    form = scene.draft(data={"class": "a", "people": 3})
    with pytest.raises(InvalidInput) as refused:
        form_submit(actor=scene.ann.actor, form_uid=form.uid)
    assert set(refused.value.fields) == {"data.why"}
    line = LineInput(scene.commodity.uid, AMOUNTS)
    form_update(
        actor=scene.ann.actor, form_uid=form.uid, lines=[line], duration_s=3600, data={"why": "because"}
    )
    assert form_submit(actor=scene.ann.actor, form_uid=form.uid).state == "submitted"


@pytest.mark.req("PLAT-APPLY-11")
def test_a_draft_is_changed_and_only_a_draft(scene: Scene):
    form = scene.draft()
    line = LineInput(scene.commodity.uid, {**AMOUNTS, "cpu": 8}, 3)
    form_update(actor=scene.ann.actor, form_uid=form.uid, lines=[line], duration_s=7200, remark=" new ")
    form.refresh_from_db()
    assert (form.duration_s, form.remark) == (7200, "new")
    assert (form.lines.get().count, form.lines.get().amounts["cpu"]) == (3, 8)
    form_submit(actor=scene.ann.actor, form_uid=form.uid)
    for call in (
        lambda: form_update(actor=scene.ann.actor, form_uid=form.uid, lines=[line], duration_s=3600),
        lambda: form_delete(actor=scene.ann.actor, form_uid=form.uid),
    ):
        with pytest.raises(Conflict):
            call()
    form.refresh_from_db()
    assert form.duration_s == 7200


@pytest.mark.req("PLAT-APPLY-7")
def test_a_draft_is_deleted_by_its_owner(scene: Scene, member):
    form = scene.draft()
    with pytest.raises(NotFound):
        form_delete(actor=member("acme", "tenant_front_line").actor, form_uid=form.uid)
    form_delete(actor=scene.ann.actor, form_uid=form.uid)
    assert not ApplicationForm.objects.exists()


def test_no_form_for_what_is_closed_for_applications(scene: Scene):
    draft = scene.draft()
    process_app_unpublish(actor=SYSTEM, process_app_uid=scene.commodity.process_app.uid)
    with pytest.raises(InvalidInput):
        scene.draft()
    with pytest.raises(InvalidInput):
        form_submit(actor=scene.ann.actor, form_uid=draft.uid)
    assert list(ApplicationForm.objects.values_list("state", flat=True)) == ["draft"]


# --- who sees what ---------------------------------------------------------------------------------------------


@pytest.mark.req("PLAT-APPLY-2", "PLAT-APPLY-8", "PLAT-APPLY-18")
def test_own_ones_and_the_tenants(scene: Scene, member):
    draft, order = scene.draft(), scene.ordered()
    other = member("acme", "tenant_front_line").actor
    assert set(form_list(actor=scene.ann.actor)) == {draft, order.form}
    assert list(order_list(actor=scene.ann.actor)) == [order]
    for actor in (scene.boss.actor, scene.manager.actor):
        # Somebody's draft is nobody else's business yet.
        assert list(form_list(actor=actor)) == [order.form]
        assert order_get(actor=actor, uid=order.uid) == order
        with pytest.raises(NotFound):
            form_get(actor=actor, uid=draft.uid)
    assert not form_list(actor=other).exists()
    for actor in (other, member("acme", "tenant_front_line").actor):
        with pytest.raises(NotFound):
            form_get(actor=actor, uid=order.form.uid)
        with pytest.raises(NotFound):
            order_get(actor=actor, uid=order.uid)


def test_another_tenant_sees_nothing(scene: Scene, member):
    order = scene.ordered()
    stranger = member("globex", "tenant_decision_maker").actor
    with in_tenant("globex"):
        assert not form_list(actor=stranger).exists()
        for call in (
            lambda: form_get(actor=stranger, uid=order.form.uid),
            lambda: order_get(actor=stranger, uid=order.uid),
            lambda: form_submit(actor=member("globex", "tenant_front_line").actor, form_uid=order.form.uid),
        ):
            with pytest.raises(NotFound):
                call()


@pytest.mark.req("PLAT-APPLY-10", "PLAT-APPLY-13")
def test_tabs_and_filters_of_forms(scene: Scene):
    draft, running = scene.draft(), scene.submitted()
    refused = scene.decide(scene.submitted(), "refuse")
    actor = scene.ann.actor
    assert set(form_list(actor=actor)) == {draft, running, refused}
    assert list(form_list(actor=actor, tab="in_progress")) == [running]
    assert list(form_list(actor=actor, tab="completed")) == [refused]
    assert list(form_list(actor=actor, search=running.no[-4:])) == [running]
    assert list(form_list(actor=actor, state="draft")) == [draft]
    with pytest.raises(InvalidInput):
        form_list(actor=actor, tab="mine")


@pytest.mark.req("PLAT-APPLY-21")
def test_filters_of_orders(scene: Scene):
    order = scene.ordered()
    actor = scene.ann.actor
    assert list(order_list(actor=actor, search=order.no, state="pending", supplier="weir")) == [order]
    assert list(order_list(actor=actor, search=order.form.no)) == [order]
    for filters in ({"state": "failed"}, {"supplier": "other"}, {"search": "zzz"}):
        assert not order_list(actor=actor, **filters).exists()
