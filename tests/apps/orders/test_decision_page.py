"""What somebody sees who decides on an application, and how a refused one is applied for again."""

from decimal import Decimal

import pytest

from apps.catalog.services.commodities import commodity_delist
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict
from apps.orders.services.again import form_again
from apps.orders.services.terminations import order_terminate
from apps.orders.weighing import form_weighed
from apps.scheduling.services.quota.quotas import quota_set
from tests.apps.catalog.market import AMOUNTS
from tests.apps.orders.scene import HOUR_TOTAL

pytestmark = pytest.mark.django_db


def texts(answer):
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


@pytest.mark.req("PLAT-TODO-4")
def test_price_quota_and_money_after_it_stand_beside_the_decision(scene):
    scene.ordered()
    form = scene.submitted(2)
    weighed = form_weighed(scene.boss.actor, form)
    assert (weighed.price, weighed.per_hour) == (2 * HOUR_TOTAL, 2 * HOUR_TOTAL)
    quotas = {quota.item: (quota.before, quota.adds, quota.after, quota.total) for quota in weighed.quotas}
    assert quotas["instances"] == (1, 2, 3, 4)
    share = AMOUNTS["compute_share"]
    assert quotas["compute_percent"] == (share, 2 * share, 3 * share, 200)
    assert weighed.money.after == weighed.money.spendable - 2 * HOUR_TOTAL
    assert not any(quota.is_over for quota in weighed.quotas)
    shown = texts(scene.boss.page().get(f"/forms/{form.uid}/parts/"))
    for mark in ("weighed-price", "weighed-hour", "weighed-balance", "weighed-after", "weighed-quota"):
        assert f'data-test="{mark}"' in shown, mark


@pytest.mark.req("PLAT-TODO-4", "PLAT-SEC-4")
def test_who_sees_no_costs_sees_no_account_beside_the_decision(scene, member):
    form = scene.submitted()
    assert form_weighed(scene.ann.actor, form).money is None
    assert form_weighed(scene.manager.actor, form).money is not None
    scene.decide(form, "refuse")
    assert form_weighed(scene.boss.actor, form) is None


@pytest.mark.req("PLAT-TODO-4", "PLAT-APPLY-20")
def test_an_end_gives_back_what_its_order_holds(scene):
    order = scene.delivered()
    form = order_terminate(actor=scene.ann.actor, order_uid=order.uid, reason="done")
    weighed = form_weighed(scene.boss.actor, form)
    assert weighed.price is None
    quotas = {quota.item: (quota.before, quota.adds, quota.returned, quota.after) for quota in weighed.quotas}
    assert quotas["instances"] == (1, -1, 1, 0)
    assert "weighed-quota" in texts(scene.boss.page().get(f"/forms/{form.uid}/parts/"))


@pytest.mark.req("PLAT-TODO-4", "PLAT-APPLY-19")
def test_the_task_and_the_form_have_the_drawing_and_the_refusal_asks_first(scene):
    form = scene.submitted()
    page = scene.boss.page()
    task = texts(page.get(f"/tasks/{scene.task(form).uid}/"))
    assert 'data-test="drawing"' in task
    assert "It ends here" in task
    assert "drawing.js" in task
    own = texts(scene.ann.page().get(f"/forms/{form.uid}/"))
    assert 'data-test="drawing"' in own
    assert 'data-state="coming"' in own
    assert "drawing.js" not in texts(scene.ann.page().get("/forms/"))


# --- again -----------------------------------------------------------------------------------------------------


@pytest.mark.req("PLAT-APPLY-11")
def test_a_refused_application_is_applied_for_again_with_its_values(scene):
    form = scene.decide(scene.submitted(2, remark="for the paper"), "refuse")
    made = form_again(actor=scene.ann.actor, form_uid=form.uid)
    line = made.form.lines.get()
    assert (line.amounts, line.count, made.form.remark) == (AMOUNTS, 2, "for the paper")
    assert (made.form.is_draft, made.changed) == (True, [])
    page = scene.ann.page()
    assert 'data-test="apply-again"' in texts(page.get(f"/forms/{form.uid}/"))
    answer = page.post(f"/forms/{form.uid}/again/")
    assert answer.status_code == 302
    again = scene.ann.api().post(f"/api/v1/application-forms/{form.uid}/again")
    assert again.status_code == 201
    assert again.json()["changed"] == []


@pytest.mark.req("PLAT-APPLY-11")
def test_what_is_not_as_it_was_is_named(scene):
    form = scene.decide(scene.submitted(2), "refuse")
    part = scene.commodity.components.get(component__code="compute_share")
    type(part).objects.filter(pk=part.pk).update(minimum=50, default=50)
    type(scene.commodity).objects.filter(pk=scene.commodity.pk).update(max_count=1)
    quota_set(actor=SYSTEM, tenant=scene.tenant, item="compute_percent", total=10)
    made = form_again(actor=scene.ann.actor, form_uid=form.uid)
    line = made.form.lines.get()
    assert (line.amounts["compute_share"], line.count) == (50, 1)
    said = " ".join(made.changed)
    for words in ("other amounts", "at most 1 shares", "It costs", f"it was ¥{2 * HOUR_TOTAL}", "no room"):
        assert words in said, (words, said)
    assert Decimal(form.total) == 2 * HOUR_TOTAL


@pytest.mark.req("PLAT-APPLY-11")
def test_nothing_is_drafted_of_what_is_sold_no_more_or_not_over(scene):
    running = scene.submitted()
    with pytest.raises(Conflict, match="cannot be applied for again"):
        form_again(actor=scene.ann.actor, form_uid=running.uid)
    form = scene.decide(running, "refuse")
    commodity_delist(actor=SYSTEM, commodity_uid=scene.commodity.uid)
    with pytest.raises(Conflict, match="Nothing of"):
        form_again(actor=scene.ann.actor, form_uid=form.uid)
    assert scene.boss.page().post(f"/forms/{form.uid}/again/").status_code == 403
