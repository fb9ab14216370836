"""The operators' pages: whom they open for, what they show, exports, acknowledging."""

import csv
import io
from decimal import Decimal
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from lxml import html

from apps.billing.services.rating import usage_rate
from apps.console.operations.home import Revenue, home_parts
from apps.console.operations.selectors import alarm_days
from apps.fleet.models import Device, Node
from apps.identity.services.users import membership_add
from apps.kernel.actor import SYSTEM
from apps.scheduling.services.queues.queue_settings import queue_ensure
from apps.telemetry.models import Alarm
from apps.telemetry.services.alarms import alarm_raise, alarm_resolve
from tests.apps.billing.scene import charge_make, record
from tests.apps.cases.test_cases import put
from tests.apps.fleet.agent import Agent, desire, report
from tests.apps.scheduling.pool import submit

pytestmark = pytest.mark.django_db
PAGES = {
    "/": "",
    "/revenue/": "billing.view",
    "/inbox/": "cases.view approvals.decide",
    "/cases/": "cases.view",
    "/tickets/": "cases.view tickets.work tickets.open",
    "/pool/": "fleet.view",
    "/alarms/": "alarms.view",
}
ROLES = (
    "executive", "operations_manager", "front_line", "system_administrator", "cluster_administrator",
)  # fmt: skip


def text_of(response):
    assert response.status_code == 200, response.content.decode()[:2000]
    return " ".join(response.content.decode().split())


@pytest.mark.req("PLAT-GEN-11", "PLAT-TEN-32")
@pytest.mark.parametrize("role", ROLES)
def test_pages_open_for_roles_that_may_see_them(operator, role):
    person = operator(role)
    client = person.page()
    for path, opening in PAGES.items():
        expected = 200 if not opening or person.actor.may_any(*opening.split()) else 403
        assert client.get(path).status_code == expected, path


# For each role pages of another's work.
OUTSIDE = {
    "executive": ("/ticket-categories/", "/centre/", "/tenants/new/"),
    "operations_manager": ("/pool/", "/pool/nodes/", "/scheduling/queues/", "/alarms/", "/logs/", "/images/"),
    "front_line": (
        "/tenants/",
        "/statistics/",
        "/scheduling/queues/",
        "/operators/",
        "/bills/",
        "/assets/",
    ),
    "system_administrator": ("/coupons/new/",),
    "cluster_administrator": (
        "/tenants/",
        "/cases/",
        "/catalogue/",
        "/bills/",
        "/operators/",
        "/centre/",
    ),
}


@pytest.mark.req("PLAT-GEN-9", "PLAT-GEN-16", "PLAT-TEN-32", "PLAT-SEC-3")
@pytest.mark.parametrize("role", ROLES)
def test_a_page_of_another_role_is_refused_in_a_sentence(operator, role):
    page = operator(role).page()
    page.cookies["django_language"] = "en"
    for path in OUTSIDE[role]:
        answer = page.get(path)
        text = " ".join(answer.content.decode().split())
        assert answer.status_code == 403, path
        assert "Your role does not allow this." in text
        assert "Switch to a role that does, or ask your administrator." in text


@pytest.mark.req("PLAT-TODO-1", "PLAT-TODO-9")
def test_who_sees_no_cases_finds_what_concerns_him(operator):
    person = operator("cluster_administrator")
    put("acme", kind="task", no="F1", side="operator", roles=("cluster_administrator",), state="waiting")
    put("acme", kind="task", no="F2", side="operator", roles=("operations_manager",), state="waiting")
    put("acme", kind="ticket", no="T1", side="operator", roles=("front_line",), state="waiting")
    put("acme", kind="ticket", no="T2", applicant_id=person.user.pk, roles=("front_line",), state="waiting")
    put("acme", kind="ticket", no="T3", side="operator", assignee_id=person.user.pk, state="delivering")
    page = person.page()
    inbox, tickets = text_of(page.get("/inbox/")), text_of(page.get("/tickets/", {"tab": "all"}))
    assert ('data-no="F1"' in inbox, 'data-no="F2"' in inbox) == (True, False)
    assert [no for no in ("T1", "T2", "T3") if f'data-no="{no}"' in tickets] == ["T2", "T3"]
    line = text_of(operator("front_line").page().get("/tickets/", {"tab": "all"}))
    assert [no for no in ("T1", "T2", "T3") if f'data-no="{no}"' in line] == ["T1", "T2", "T3"]
    exported = page.get("/tickets/", {"tab": "all", "export": "csv"})
    assert b"T1" not in b"".join(exported.streaming_content)
    assert page.get("/cases/", {"kind": "form", "export": "csv"}).status_code == 403


def test_a_role_without_rights_is_refused_everywhere_but_at_home(operator):
    person = operator("executive")
    role = person.user.operator_bindings.get().role
    role.permissions = []
    role.save()
    client = person.page()
    assert client.get("/").status_code == 200
    assert all(client.get(path).status_code == 403 for path, code in PAGES.items() if code)


@pytest.mark.req("PLAT-GEN-11", "PLAT-TEN-2")
def test_a_tenants_people_are_refused_and_led_home(member, globex):
    person = member("acme", "tenant_decision_maker")
    client = person.page()
    for path, code in PAGES.items():
        if code:
            assert client.get(path, headers={"host": "localhost"}).status_code == 403, path
    assert client.get("/", headers={"host": "localhost"}).url == "/t/acme/"
    membership_add(actor=SYSTEM, user=person.user, tenant=globex)
    both = text_of(client.get("/", headers={"host": "localhost"}))
    assert "/t/acme/" in both
    assert "/t/globex/" in both


def test_who_is_not_signed_in_signs_in_first(client):
    for path in PAGES:
        assert client.get(path, headers={"host": "localhost"}).url.startswith("/login/?next="), path


def test_home_shows_what_needs_somebody(operator, acme):
    Agent("n1")
    alarm_raise(actor=SYSTEM, key="k", level="critical", msgid="Node %(name)s is gone", params={"name": "n9"})
    put("acme", kind="task", no="F7", side="operator", roles=("operations_manager",), state="waiting")
    put("globex", kind="order", no="O8", state="processing")
    waiting = submit(acme)
    manager, line = (text_of(operator(role).page().get("/")) for role in ("operations_manager", "front_line"))
    for word in ("F7", waiting.no, 'data-test="count-order-processing"'):
        assert word in manager
    for word in ("Node n9 is gone", 'data-test="node-count">1<', waiting.no):
        assert word in line
    assert "F7" not in line
    assert "Node n9 is gone" not in manager
    part = operator("operations_manager").page().get("/", headers={"hx-request": "true"})
    assert "<html" not in text_of(part)


@pytest.fixture(autouse=True)
def _queue(db):
    queue_ensure(actor=SYSTEM)


@pytest.mark.req("PLAT-TODO-1")
def test_the_inbox_leads_to_the_task_in_its_tenant(operator):
    uid = uuid4()
    given = {"kind": "task", "side": "operator", "state": "waiting", "uid": uid, "link": f"/inbox/{uid}/"}
    put("globex", no="F1", roles=("operations_manager",), **given)
    put("acme", no="F2", kind="task", side="operator", roles=("cluster_administrator",), state="waiting")
    text = text_of(operator("operations_manager").page().get("/inbox/"))
    assert f"/t/globex/inbox/{uid}/" in text
    assert 'data-no="F2"' not in text
    assert 'data-no="F1"' not in text_of(operator("front_line").page().get("/inbox/"))


@pytest.mark.req("PLAT-OPS-17")
def test_two_tenants_numbers_that_are_alike_are_told_apart_whichever_columns_are_chosen(operator):
    put("acme", no="F20261123-0001")
    put("globex", no="F20261123-0001")
    client = operator("executive").page()
    for query in ("", "?columns=no,title"):
        rows = html.fromstring(text_of(client.get(f"/cases/{query}"))).xpath("//*[@data-test='case-row']")
        said = [" ".join(row.xpath("string(./td[1])").split()) for row in rows]
        assert sorted(said) == ["F20261123-0001 Acme Research", "F20261123-0001 Globex Labs"]


FILTERS = {
    "tenant": "globex",
    "organization": "Speech",
    "applicant": "Ada",
    "business_system": "Acoustic",
    "no": "F77",
    "state": "rejected",
}


def two_forms():
    put("acme", no="F1", title_en="One")
    put(
        "globex", no="F77", title_en="=HYPERLINK(1)", organization="Speech lab", applicant_name="Ada L",
        business_system="Acoustic model", state="rejected",
    )  # fmt: skip


@pytest.mark.req("PLAT-OPS-17", "PLAT-OPS-18", "PLAT-OPS-23")
@pytest.mark.parametrize("names", [(name,) for name in FILTERS] + [tuple(FILTERS)])
def test_each_filter_alone_and_all_together_narrow_the_list(operator, names):
    two_forms()
    client = operator("executive").page()
    both = text_of(client.get("/cases/"))
    assert 'data-no="F1"' in both
    assert 'data-no="F77"' in both
    narrowed = text_of(client.get("/cases/", {name: FILTERS[name] for name in names}))
    assert 'data-no="F77"' in narrowed
    assert 'data-no="F1"' not in narrowed


@pytest.mark.req("PLAT-OPS-19")
def test_the_export_holds_exactly_the_filtered_rows_and_no_formula(operator):
    two_forms()
    answer = operator("executive").page().get("/cases/", {"organization": "Speech", "export": "csv"})
    text = b"".join(answer.streaming_content).decode()
    assert text.startswith("\ufeff")
    rows = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"))))
    assert len(rows) == 2
    assert rows[1][0] == "F77"
    assert not any(cell.startswith(("=", "+", "@")) for cell in rows[1])


def test_a_kind_that_is_none_is_refused(operator):
    assert operator("executive").page().get("/cases/", {"kind": "secret"}).status_code == 400


def test_open_tickets_of_all_tenants_and_nothing_else(operator):
    put("acme", kind="ticket", no="T1", state="waiting")
    put("globex", kind="ticket", no="T2", state="done", is_open=False)
    put("globex", kind="form", no="F3")
    text = text_of(operator("front_line").page().get("/tickets/"))
    assert 'data-no="T1"' in text
    assert 'data-no="T2"' not in text
    assert 'data-no="F3"' not in text


def test_the_pool_shows_devices_with_what_is_held_and_delivered(operator, acme):
    agent = Agent("n1")
    row = desire(acme, percent=25, mib=2048)
    agent.sync()
    agent.sync(slices=[report(row)])
    text = text_of(operator("executive").page().get("/pool/"))
    assert "25 / 100 %" in text
    assert "2 GiB / 8 GiB" in text
    assert text.count('data-test="slice"') == 1
    assert acme.name in text


@pytest.mark.parametrize(("path", "most"), [("/pool/", 5), ("/pool/nodes/", 24)])
def test_a_large_pool_is_shown_page_by_page(path, most, operator):
    Agent("n00")
    row = Node.objects.get()
    for number in range(1, most + 2):
        Node.objects.create(
            uid=uuid4(),
            name=f"n{number:02}",
            state="ready",
            last_seen_at=row.last_seen_at,
            boot_id="b",
            info=row.info,
        )
    page = operator("executive").page()
    first, second = (text_of(page.get(path, {"page": number})) for number in (1, 2))
    assert first.count('data-test="node"') == most
    assert 'data-name="n00"' in first
    assert second.count('data-test="node"') == 2
    assert f'data-name="n{most + 1:02}"' in second
    # What is fetched again by itself is the page that is open.
    assert f'hx-get="{path}?page=2"' in second


@pytest.mark.req("PLAT-OBS-12", "PLAT-OBS-13")
def test_alarms_narrow_by_keyword_level_and_state(operator):
    alarm_raise(actor=SYSTEM, key="a", level="critical", msgid="Node %(name)s is gone", params={"name": "n1"})
    alarm_raise(actor=SYSTEM, key="b", level="minor", msgid="Node %(name)s is gone", params={"name": "n2"})
    alarm_raise(actor=SYSTEM, key="c", level="minor", msgid="Node %(name)s is gone", params={"name": "n3"})
    alarm_resolve(actor=SYSTEM, key="c")
    client = operator("executive").page()

    def keys(**given):
        text = text_of(client.get("/alarms/", given))
        return {key for key in "abc" if f'data-key="{key}"' in text}

    assert keys() == {"a", "b"}
    assert keys(level="minor") == {"b"}
    assert keys(search="n1") == {"a"}
    assert keys(state="resolved") == {"c"}
    assert keys(state="all", level="minor", search="n3", days="1") == {"c"}


@pytest.mark.req("PLAT-OBS-12")
def test_a_keyword_is_looked_for_in_the_text_that_the_reader_sees(operator):
    alarm_raise(
        actor=SYSTEM, key="a", level="minor", msgid="Node %(node)s does not answer.", params={"node": "n1"}
    )
    alarm_raise(
        actor=SYSTEM, key="b", level="minor", msgid="Node %(node)s is disabled.", params={"node": "n1"}
    )
    client = operator("executive").page()
    for language, hits, misses in (("zh-hans", "无响应 n1", "answer"), ("en", "ANSWER n1", "无响应")):
        client.cookies["django_language"] = language
        found = text_of(client.get("/alarms/", {"search": hits}))
        assert ('data-key="a"' in found, 'data-key="b"' in found) == (True, False), language
        assert 'data-key="a"' not in text_of(client.get("/alarms/", {"search": misses})), language


@pytest.mark.req("PLAT-OBS-11")
def test_the_alarm_chart_counts_what_the_list_shows(operator):
    for key in "abc":
        alarm_raise(actor=SYSTEM, key=key, level="major", msgid="x")
    answer = operator("executive").page().get("/alarms/", {"state": "all"})
    series = answer.context["option"]["series"]
    assert sum(sum(part["data"]) for part in series) == answer.context["rows"].paginator.count == 3


def test_the_alarm_chart_counts_by_the_days_of_the_centre(operator):
    """15:59 and 16:00 UTC are two days in Shanghai; a day without alarms has no column."""
    for key, level, at in (
        ("a", "major", "2026-11-20T15:59:59Z"),
        ("b", "minor", "2026-11-20T16:00:00Z"),
        ("c", "minor", "2026-11-21T15:59:59Z"),
        ("d", "minor", "2026-11-23T03:00:00Z"),
    ):
        alarm_raise(actor=SYSTEM, key=key, level=level, msgid="x")
        Alarm.objects.filter(key=key).update(fired_at=at)
    with timezone.override("Asia/Shanghai"):
        assert alarm_days(Alarm.objects.all()) == {
            "2026-11-20": {"major": 1},
            "2026-11-21": {"minor": 2},
            "2026-11-23": {"minor": 1},
        }
        assert list(alarm_days(Alarm.objects.all())) == ["2026-11-20", "2026-11-21", "2026-11-23"]
    assert alarm_days(Alarm.objects.none()) == {}


def test_an_alarm_is_acknowledged_by_who_may(operator):
    alarm_raise(actor=SYSTEM, key="k", level="major", msgid="x")
    row = Alarm.objects.get()
    path = f"/alarms/{row.uid}/acknowledge/"
    assert operator("executive").page().post(path).status_code == 403
    assert operator("front_line").page().get(path).status_code == 405
    assert operator("front_line").page().post(path).status_code == 302
    row.refresh_from_db()
    assert row.state == "acknowledged"
    assert operator("front_line").page().post(path).status_code == 409
    assert operator("front_line").page().post(f"/alarms/{uuid4()}/acknowledge/").status_code == 404


def test_revenue_sums_all_tenants_of_this_month(operator, acme, globex):
    for tenant in (acme, globex):
        record(charge_make(tenant), [3600])
    usage_rate(actor=SYSTEM)
    answer = operator("executive").page().get("/revenue/")
    found = answer.context["revenue"]
    assert found.total > 0
    assert sum(day["exact"] for day in found.days) == found.total
    assert sum(row.exact for row in found.tenants) == found.total
    assert {row.key for row in found.tenants} == {"acme", "globex"}


def test_both_languages_show(operator):
    client = operator("executive").page()
    client.cookies["django_language"] = "en"
    assert "Operators" in text_of(client.get("/"))
    client.cookies["django_language"] = "zh-hans"
    assert 'lang="zh-Hans"' in text_of(client.get("/"))


@pytest.mark.req("PLAT-GEN-9")
def test_each_role_begins_with_what_it_is_there_for(operator):
    first = {
        role: home_parts(operator(role).actor)[:2]
        for role in ("executive", "operations_manager", "front_line", "cluster_administrator")
    }
    assert first == {
        "executive": ["money", "sold"],
        "operations_manager": ["todo", "money"],
        "front_line": ["todo", "work"],
        "cluster_administrator": ["pool", "alarms"],
    }


@pytest.mark.req("PLAT-GEN-9")
def test_home_names_what_is_sick_and_counts_all_of_it(operator):
    for number in range(8):
        Agent(f"n{number}")
    Node.objects.filter(name__in=["n1", "n2"]).update(state="lost")
    sick = Device.objects.filter(node__name__in=["n2", "n3"])
    sick.update(health="failed", health_reason="ECC errors")
    answer = operator("cluster_administrator").page().get("/")
    pool = answer.context["pool"]
    assert [node.name for node in pool.sick_nodes] == ["n1", "n2"]
    # Of a lost node nothing is known: its devices are not counted beside it.
    assert {device.node.name for device in pool.sick_devices} == {"n3"}
    assert pool.node_count == 8
    assert (pool.held_percent, pool.limit_percent) == (
        0,
        sum(row.oversubscribe_permille for row in Device.objects.all()) // 10,
    )
    text = text_of(answer)
    assert "ECC errors" in text
    assert "not ready: 2" in " ".join(text.split())


@pytest.mark.req("PLAT-GEN-9")
def test_home_of_a_large_pool_asks_no_more_than_of_a_small_one(operator):
    page = operator("cluster_administrator").page()
    page.get("/")
    counts = []
    for number in range(2):
        Agent(f"q{number}")
        with CaptureQueriesContext(connection) as asked:
            page.get("/")
        counts.append(len(asked))
    assert counts[0] == counts[1]


@pytest.mark.req("PLAT-OVW-12", "PLAT-OVW-13")
def test_what_was_sold_and_used_of_the_pool(operator, acme):
    Agent("n1")
    text = text_of(operator("executive").page().get("/sold/"))
    assert 'data-test="sold-percent"' in text
    assert operator("front_line").page().get("/sold/").status_code == 403


def test_revenue_stands_beside_last_month_by_the_same_day(operator, acme):
    record(charge_make(acme), [3600])
    usage_rate(actor=SYSTEM)
    now = operator("executive").page().get("/revenue/").context["revenue"]
    assert now.before == 0
    assert now.change_percent is None
    twice = Revenue([], Decimal(30), Decimal(20), [])
    assert twice.change_percent == 50
