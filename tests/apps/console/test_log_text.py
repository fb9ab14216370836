"""Lines of the pool's log in Chinese: as sentences, and what no sentence is known for marked as English."""

import pytest
from django.utils import translation

from apps.console.templatetags.log_text import log_text

LINES = [
    ("W-7: started", "W-7：已启动"),
    ("W-7: ended (run_timeout): run time of 10 s reached", "W-7：已结束：达到运行时长上限 10 秒"),
    ("device cpu-1 found", "发现设备 cpu-1"),
    ("the server answers again", "服务器恢复响应"),
]


@pytest.mark.parametrize(("written", "read"), LINES)
def test_a_line_is_read_in_chinese(written, read):
    with translation.override("zh-hans"):
        assert log_text(written) == read
    with translation.override("en"):
        assert log_text(written) == written


def test_an_act_is_called_as_in_the_operation_log():
    with translation.override("zh-hans"):
        said = log_text("node_join node 24b98bec (name=node-1) by node-1")
    assert "node_join" not in said
    assert "24b98bec" in said


def test_what_is_unknown_is_said_to_be_english_and_is_no_markup():
    with translation.override("zh-hans"):
        assert log_text("<b>odd</b>") == '<span lang="en">&lt;b&gt;odd&lt;/b&gt;</span>'


def test_how_work_ended_is_said_and_no_code_shown():
    with translation.override("zh-hans"):
        said = log_text("W-1: ended (stopped)")
        assert "stopped" not in said
        assert "停止" in said
        assert "other_code" in log_text("W-1: ended (other_code)")
