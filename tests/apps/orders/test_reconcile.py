"""The nightly comparison of cases with their rows finds every kind of drift and is silent without any."""

import logging

import pytest

from apps.cases.models import Case
from apps.cases.selectors import case_drift_list
from apps.orders.models import Order
from apps.orders.selectors import rows_shown
from apps.orders.services.submissions import form_withdraw
from apps.orders.services.terminations import order_terminate
from apps.orders.tasks import cases_reconcile_tenant
from tests.apps.orders.scene import Scene

pytestmark = pytest.mark.django_db


def test_no_drift_along_the_whole_way(scene: Scene, caplog):
    order = scene.delivered()
    order_terminate(actor=scene.ann.actor, order_uid=order.uid, reason="done")
    form_withdraw(actor=scene.ann.actor, form_uid=scene.submitted().uid)
    scene.decide(scene.submitted(), "refuse")
    scene.draft()
    assert Case.objects.of("acme").count() > 8
    with caplog.at_level(logging.ERROR, logger="apps.orders.tasks"):
        cases_reconcile_tenant("acme")
    assert not caplog.records


def test_drift_is_reported(scene: Scene, caplog):
    order = scene.delivered()
    Order.objects.update(state="failed")
    Case.objects.across().filter(kind="ticket").delete()
    assert {kind for kind, _uid in case_drift_list(rows_shown())} == {"order", "ticket"}
    with caplog.at_level(logging.ERROR, logger="apps.orders.tasks"):
        cases_reconcile_tenant("acme")
    assert str(order.uid) in caplog.text


def test_a_case_without_a_row_is_drift(scene: Scene):
    order = scene.delivered()
    case = Case.objects.across().get(uid=order.uid)
    Case.objects.across().filter(pk=case.pk).update(kind="form")
    assert set(case_drift_list(rows_shown())) == {("order", order.uid), ("form", order.uid)}
