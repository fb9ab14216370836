"""The frame of every page: one menu on both sides, its figures, and pages that are not there."""

import re

import pytest
from django.test import override_settings

from apps.billing.services.rating import usage_rate
from apps.console.navigation.operators import OPERATORS
from apps.console.navigation.tenant import TENANT
from apps.kernel.actor import SYSTEM
from apps.telemetry.services.alarms import alarm_raise
from tests.apps.billing.scene import charge_make, record

pytestmark = pytest.mark.django_db
MOST_GROUPS = 7


def text_of(answer):
    return answer.content.decode()


def count_of(text, key):
    """The figure beside an entry of the menu; None where it is hidden."""
    found = re.search(rf'data-test="count-{key}"\s*(hidden)?\s*>(\d*)<', text)
    return None if found[1] else int(found[2])


def test_both_menus_have_seven_groups_and_each_page_stands_in_one_of_them():
    """D19: 29 entries in ten groups, of which seven were below the fold."""
    for groups in (OPERATORS, TENANT):
        assert len(groups) == MOST_GROUPS
        assert len({group.code for group in groups}) == MOST_GROUPS
        views = [entry.view for group in groups for entry in group.entries]
        assert len(set(views)) == len(views)
        beside = [view for group in groups for entry in group.entries for view in entry.beside]
        assert not set(beside) & set(views)


def test_the_group_of_the_page_stands_open_and_others_as_the_reader_left_them(operator):
    page = operator("system_administrator").page()

    def open_groups(path):
        return set(re.findall(r'is-open" data-menu-group="(\w+)"', text_of(page.get(path))))

    assert open_groups("/") == {"home"}
    assert open_groups("/pool/nodes/") == {"home", "fleet"}
    page.cookies["weir_menu"] = "business.system"
    assert open_groups("/pool/nodes/") == {"business", "system", "fleet"}


def test_what_waits_stands_in_the_menu_and_on_the_head_of_its_group(operator):
    page = operator("system_administrator").page()
    assert count_of(text_of(page.get("/")), "operator-alarms") is None
    for key in ("a", "b"):
        alarm_raise(actor=SYSTEM, key=key, level="major", msgid="Node %(name)s is gone", params={"name": key})
    text = text_of(page.get("/"))
    assert count_of(text, "operator-alarms") == 2
    part = text_of(page.get("/menu/counts/", headers={"HX-Request": "true"}))
    assert count_of(part.replace('hx-swap-oob="true" ', ""), "operator-alarms") == 2
    assert "<html" not in part


def test_no_figure_of_what_one_may_not_see_is_told(member, operator):
    alarm_raise(actor=SYSTEM, key="a", level="major", msgid="Node %(name)s is gone", params={"name": "a"})
    person = member("acme", "tenant_front_line").page()
    for path in ("/", "/menu/counts/"):
        assert "operator-alarms" not in text_of(person.get(path))
    assert "operator-alarms" in text_of(operator("system_administrator").page().get("/menu/counts/"))


@override_settings(DEBUG=False)
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_a_page_that_is_not_there_keeps_the_menu_and_speaks_plainly(operator, member, client, language):
    for page in (operator("executive").page(), member("acme", "tenant_front_line").page()):
        page.cookies["django_language"] = language
        answer = page.get("/no/such/page/")
        text = text_of(answer)
        assert answer.status_code == 404
        assert 'id="sidebar"' in text
        assert ("页面不存在" if language == "zh-hans" else "There is no such page") in text
    answer = client.get("/no/such/page/", headers={"host": "acme.localhost"})
    assert answer.status_code == 404
    assert 'id="sidebar"' not in text_of(answer)


@pytest.mark.parametrize("path", ["/centre/", "/admin/audit/record/", "/admin/fleet/node/1/change/"])
def test_what_a_role_may_not_see_is_said_in_words_with_the_menu(operator, path):
    """A 403 printed `permission: billing.view` under the title "Not possible"."""
    page = operator("front_line").page()
    page.cookies["django_language"] = "en"
    answer = page.get(path)
    text = text_of(answer)
    if answer.status_code != 404:
        assert answer.status_code == 403
        assert "Not allowed" in text
        assert not re.search(r"<strong>[a-z]+\.[a-z]+</strong>", text)
    assert 'id="sidebar"' in text


@override_settings(DEBUG=False)
def test_a_failure_of_ours_keeps_the_menu(operator, monkeypatch):
    monkeypatch.setattr("apps.console.operations.views.read.pool_named", lambda: 1 / 0)
    page = operator("system_administrator").page()
    page.raise_request_exception = False
    answer = page.get("/pool/")
    assert answer.status_code == 500
    assert 'id="sidebar"' in text_of(answer)


def test_a_member_sees_what_his_own_work_has_cost_and_nobody_elses(acme, member):
    """Whoever spends saw no cost on his first page."""
    person, colleague = member("acme", "tenant_front_line"), member("acme", "tenant_decision_maker")
    record(charge_make(acme, user_id=person.user.pk), [600])
    usage_rate(actor=SYSTEM)
    own = re.search(r'data-test="own-cost">([^<]+)<', text_of(person.page().get("/")))[1]
    others = re.search(r'data-test="own-cost">([^<]+)<', text_of(colleague.page().get("/")))[1]
    assert others == "¥0.00"
    assert own != others
