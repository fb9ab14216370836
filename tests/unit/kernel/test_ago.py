"""How long ago something was, as lists say it."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone, translation

from apps.console.templatetags.weir import ago
from apps.kernel.unit_text import ago_text

NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)
SAID = [
    (10, "just now", "刚刚"),
    (-10, "just now", "刚刚"),
    (60, "1 minute ago", "1 分钟前"),
    (180, "3 minutes ago", "3 分钟前"),
    (-180, "in 3 minutes", "3 分钟后"),
    (50 * 60, "1 hour ago", "1 小时前"),
    (-5 * 3600, "in 5 hours", "5 小时后"),
    (23 * 3600, "1 day ago", "1 天前"),
    (12 * 86400, "12 days ago", "12 天前"),
    (-2 * 86400, "in 2 days", "2 天后"),
    (60 * 86400, "2026-09-29", "2026-09-29"),
]


@pytest.mark.parametrize(("seconds", "english", "chinese"), SAID)
def test_how_long_ago_it_was(seconds, english, chinese):
    at = NOW - timedelta(seconds=seconds)
    with translation.override("en"):
        assert ago_text(at, NOW) == english
    with translation.override("zh-hans"):
        assert ago_text(at, NOW) == chinese


def test_the_instant_itself_is_beside_it_in_the_readers_zone():
    at = timezone.now() - timedelta(minutes=3)
    with timezone.override("Asia/Tokyo"):
        shown = ago(at)
        exact = timezone.localtime(at).strftime("%Y-%m-%d %H:%M:%S")
    assert f'title="{exact}"' in shown
    assert f'datetime="{at.isoformat()}"' in shown
    assert ">3 minutes ago</time>" in shown
    assert ago(None) == "–"
    assert ago(at.isoformat()) == ago(at)
