"""Hours of the week on the pages: a box for each, what is set to the minute stays, what is no hour is refused."""

import re

import pytest

from apps.kernel.actor import SYSTEM
from apps.scheduling.models import ValidityRule
from apps.scheduling.queue_config.time_windows import span_sent, weekly_joined, weekly_read
from apps.scheduling.selectors.workloads import queue_get
from apps.scheduling.services.queues.queue_settings import queue_change
from tests.apps.scheduling.test_pages import text

_CHECKED = re.compile(r'value="([^"]+)"[^>]*?checked')


def test_spans_that_touch_are_one():
    hours = [(0, hour * 60, hour * 60 + 60) for hour in (8, 9, 10, 20)] + [(1, 0, 60)]
    assert weekly_joined(hours) == [(0, 480, 660), (0, 1200, 1260), (1, 0, 60)]
    assert weekly_joined([]) == []
    assert weekly_read("\n".join(map(span_sent, hours))) == hours


@pytest.mark.django_db
@pytest.mark.req("PLAT-AICFG-29")
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_boxes_of_a_rule_say_and_take_its_hours(alice, operator, language):
    page = operator("cluster_administrator").page()
    page.cookies["django_language"] = language
    shown = text(page.get("/scheduling/validity/"))
    assert shown.count('name="training" value=') == 7 * 24
    assert "textarea" not in shown.split('name="training"')[1].split("</details>")[0]
    given = {"name": "day", "users": alice.user.username}
    hours = [f"{day} {hour:02}:00-{hour + 1:02}:00" for day in ("mon", "tue") for hour in (8, 9, 23)]
    assert page.post("/scheduling/validity/", {**given, "training": hours}).status_code == 302
    rule = ValidityRule.objects.get()
    spans = sorted(rule.periods.values_list("weekday", "from_minute", "to_minute"))
    assert spans == [(0, 480, 600), (0, 1380, 1440), (1, 480, 600), (1, 1380, 1440)]
    shown = text(page.get(f"/scheduling/validity/{rule.pk}/"))
    assert sorted(_CHECKED.findall(shown)) == sorted(hours)
    overlapping, endless = ["mon 08:00-10:00", "mon 09:00-10:00"], "mon 08:00-09:00\n" * 50_000
    for wrong in ("someday", "mon 09:00-08:00", "mon 25:00-26:00", overlapping, endless):
        assert (
            page.post("/scheduling/validity/", {**given, "name": "x", "training": wrong}).status_code == 400
        )
    assert ValidityRule.objects.count() == 1


@pytest.mark.django_db
@pytest.mark.req("PLAT-CLU-48")
def test_what_is_set_to_the_minute_stays_when_the_form_is_saved(alice, operator):
    page = operator("cluster_administrator").page()
    exact = [(0, 510, 1095), (3, 600, 615), (3, 630, 645)]
    queue_change(actor=SYSTEM, queue=queue_get("default"), changes={}, windows=exact)
    shown = text(page.get("/scheduling/queues/default/"))
    assert shown.count("data-part=") == 3
    given = {
        "name_en": "Default", "name_zh": "默认", "state": "up", "priority": 0, "weight": 1, "is_default": "on",
        "time_limit": "unlimited", "oversubscribe": "force", "windows": _CHECKED.findall(shown.split("data-week")[1]),
    }  # fmt: skip
    answer = page.post("/scheduling/queues/default/", given)
    assert answer.status_code == 302, answer.content
    kept = queue_get("default").windows.values_list("weekday", "from_minute", "to_minute")
    assert sorted(kept) == exact
