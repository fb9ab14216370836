"""Lines of the pool's log: as sentences in both languages, without codes and identifiers, and what no sentence is
known for marked as English."""

import ast
from collections.abc import Iterator
from uuid import uuid4

import pytest
from django.template import Context, Template
from django.utils import translation
from lxml import html

from apps.console.operations.log_patterns import SLICE_STATES
from apps.console.operations.log_sentences import has_sentence, line_read, names_of
from apps.console.templatetags.log_text import log_text
from apps.fleet.models import Device
from apps.fleet.states import SliceState
from apps.kernel.actor import SYSTEM
from apps.telemetry.alarm_metrics import METRICS
from apps.telemetry.services.logs import log_add
from gates.sources import ROOT
from portal import activity_log
from tests.browser.measures import english_in
from tests.factories.node import SpokenNode

UID = "c2b64d86-e9ec-46f4-8d22-28bfee80d7a1"
LINES = [
    ("W-7: started", "W-7: started", "W-7：已启动"),
    (
        "W-7: ended (run_timeout): run time of 10 s reached",
        "W-7: ended. Its run time of 10 s is over.",
        "W-7：已结束。已达到运行时长上限 10 秒。",
    ),
    ("device cpu-1 found", "Device cpu-1 found", "发现设备 cpu-1"),
    ("the server answers again", "The server answers again", "服务器恢复响应"),
    (f"W-7: slice {UID}: running (generation 1)", "W-7: its slice is running", "W-7：切片运行中"),
    (
        f"W-7: slice {UID}: exited, run time of 1800 s reached (generation 1)",
        "W-7: its slice has ended. Its run time of 30 min is over.",
        "W-7：切片已结束。已达到运行时长上限 30 分钟。",
    ),
    (f"slice {UID}: forgotten", "Nothing is left of a slice on its node", "一个切片在节点上已无残留"),
    (
        "spec_make spec large (code=large, name_en=Large, name_zh=大型, memory_mib=2048) by system",
        "Made a specification: Large, by system",
        "建立规格：大型（system）",
    ),
    (
        "alarm raised: Node n-1 was last heard 9 s ago (limit 5 s).",
        "Alarm raised: Node n-1 was last heard 9 s ago (limit 5 s).",
        "告警触发：节点 n-1 已 9 秒没有上报（阈值 5 秒）。",
    ),
    (
        "portal.scheduler: this scheduler leads now: 3 wait, 2 run",
        "This scheduler leads now: 3 wait, 2 run",
        "此调度器现为主导：3 个等待，2 个运行",
    ),
]
_LEVELS = {"info", "warning", "error", "exception", "critical"}
# What is said in whole by something else: each of its sentences has a form of its own, or is of one that speaks
# English only, as `%s` of an error.
_WHOLE = {"%s", "%s: %s", "%s %s"}


def written(tree: str) -> Iterator[tuple[str, str]]:
    """The forms in which the programs below a folder write lines, each with its place."""
    for path in sorted((ROOT / tree).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in _LEVELS
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id == "log"
                and node.args
                and isinstance(node.args[0], ast.Constant)
            ):
                yield node.args[0].value, f"{path.relative_to(ROOT)}:{node.lineno}"


def sample(form: str) -> str:
    """A line of that form."""
    return form.replace("%s", "x1").replace("%d", "7").replace("%r", "x1")


@pytest.mark.parametrize(("text", "english", "chinese"), LINES)
def test_a_line_is_read_in_both_languages(text, english, chinese):
    with translation.override("zh-hans"):
        assert log_text(text) == chinese
    with translation.override("en"):
        assert log_text(text) == english


def test_whatever_a_program_writes_is_read_as_a_sentence():
    forms = [each for tree in ("apps", "portal", "node_agent") for each in written(tree)]
    assert len(forms) > 60
    unread = {form: place for form, place in forms if form not in _WHOLE and not _is_read(form)}
    assert unread == {}


def _is_read(form: str) -> bool:
    if form == "slice %s: %s%s (generation %d)":
        return set(SLICE_STATES) == set(SliceState.values) - {SliceState.DESIRED}
    if form == "this node's clock is %d s %s the server's: set it by NTP":
        return all(has_sentence(sample(form.replace("%s", side))) for side in ("ahead of", "behind"))
    return has_sentence(sample(form))


class _Anything:
    """An event of which every figure is `7`, and no more than that."""

    is_over = False
    failed = True
    reason_code, reason, level = "crashed", "x1", "minor"
    pause_ms = 7.0

    def __getattr__(self, name: str) -> str:
        return str(uuid4()) if name.endswith("_uid") else "7"


def test_whatever_the_portal_tells_is_read_as_a_sentence(db):
    """Each event that is written down as it comes; alarms and agents' own words have tests of their own."""
    own = {"NodeSaid", "AlarmFired", "AlarmResolved", "WorkloadSubmitted"}
    for kind, lines in activity_log.LINES.items():
        if kind.__name__ not in own:
            for line in lines(_Anything()):
                assert has_sentence(line.text), (kind, line.text)


def test_every_title_of_an_alarm_is_read_in_chinese():
    figures = {
        "name": "n-1",
        "value": "9",
        "threshold": "5",
        "reason": "7",
        "power_source": "7",
        "device": "d-1",
    }
    with translation.override("zh-hans"):
        for metric in METRICS.values():
            title = metric.title % _Figures(figures)
            assert 'lang="en"' not in line_read(f"alarm raised: {title}"), metric.code


class _Figures(dict):
    def __missing__(self, key: str) -> str:
        return "7"


def test_an_act_is_called_as_in_the_operation_log():
    with translation.override("zh-hans"):
        said = log_text("node_join node 24b98bec (name=node-1) by node-1")
    assert "node_join" not in said
    assert "node-1" in said
    assert log_text("direct_commodity_set scheduling_policy 1 (commodity=ENV-0001) by Mei Lin").endswith(
        ", by Mei Lin"
    )


def test_what_is_unknown_is_said_to_be_english_and_is_no_markup():
    with translation.override("zh-hans"):
        assert log_text("<b>odd</b>") == '<span lang="en">&lt;b&gt;odd&lt;/b&gt;</span>'
        said = log_text("the nvidia driver fails: <b>odd</b> broke")
        assert said == 'nvidia 驱动出错：<span lang="en">&lt;b&gt;odd&lt;/b&gt; broke</span>'
    rendered = Template("{% load log_text %}{{ text|log_text }}").render(
        Context({"text": "an agent's message is tried again"})
    )
    assert rendered == "An agent&#x27;s message is tried again"
    assert log_text("<b>odd</b>") == "&lt;b&gt;odd&lt;/b&gt;"


def test_how_work_ended_is_said_and_no_code_shown():
    with translation.override("zh-hans"):
        said = log_text("W-1: ended (stopped)")
        assert "stopped" not in said
        assert "停止" in said
        assert "other_code" in log_text("W-1: ended (other_code)")


def test_what_nobody_knows_by_name_is_shown_by_its_beginning():
    said = log_text(f"resource_group_end resource_group {UID} by Mei Lin")
    assert "c2b64d86…" in said
    assert UID not in said


@pytest.mark.django_db
def test_devices_and_nodes_are_called_by_their_names():
    SpokenNode("n1", devices=2)
    Device.objects.filter(index=1).update(uid="cpu-e11f0418f2e5a08bccbfe49b")
    text = "W-7: share x placed on cpu-e11f0418f2e5a08bccbfe49b"
    assert line_read(text, names_of([text, "nothing"])) == "W-7: a share is placed on n1 #1"
    assert names_of(["nothing"]) == {}


@pytest.mark.django_db
@pytest.mark.req("PLAT-GEN-11", "POOL-12.18")
def test_the_page_of_the_log_in_chinese_has_no_english(operator):
    for form in {form for tree in ("apps", "portal", "node_agent") for form, _place in written(tree)}:
        log_add(actor=SYSTEM, text=sample(form), component="portal")
    page = operator("system_administrator").page()
    page.cookies["django_language"] = "zh-hans"
    rows = html.fromstring(page.get("/logs/").content.decode()).xpath("//tr[@data-test='log-row']")
    assert len(rows) == 50
    said = [text for row in rows for text in row.xpath(".//td//text()[not(ancestor::*[@lang='en'])]")]
    assert list(english_in(said, frozenset({"x1", "HTTP"}))) == []


@pytest.mark.django_db
def test_the_number_of_work_stands_with_its_tenant(operator):
    for tenant in ("acme", "globex"):
        log_add(actor=SYSTEM, text="W-O20261123-0001: started", component="scheduling", tenant=tenant)
    text = operator("system_administrator").page().get("/logs/").content.decode()
    assert "W-O20261123-0001 (acme): started" in text
    assert "W-O20261123-0001 (globex): started" in text
