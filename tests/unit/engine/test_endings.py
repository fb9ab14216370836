"""Why work ended, in the reader's language; agents say it in English."""

import json
import re
from typing import get_args

import pytest
from django.utils import translation

from apps.kernel.translatable import message_text
from apps.scheduling.text.end_reasons import end_message, end_sentence
from node_agent.protocol.fields import ReasonCode

CASES = [
    ("completed", "the work finished", "任务已运行结束。"),
    ("run_timeout", "run time of 600 s reached", "已达到运行时长上限 10 分钟。"),
    ("idle_timeout", "idle for 30 s", "已释放：设备连续 30 秒无人使用。"),
    ("memory_exceeded", "memory limit of 512 MiB exceeded", "超出内存上限 512 MiB。"),
    (
        "volume_exceeded",
        "/data/models holds 9 MiB and may hold 8 MiB",
        "因向卷写入过多而被结束：/data/models 已占用 9 MiB，而其容量为 8 MiB。请删除文件或申请扩容。",
    ),
    ("stopped", "stopped on its node", "已停止：在所在节点上被停止"),
    ("stopped", "F20260102-0001", "由终止申请 F20260102-0001 结束。"),
    ("stopped", "", "已停止。"),
    ("crashed", "the work ended with exit code 3", "任务失败：退出码为 3"),
    ("crashed", "the work was ended by SIGSEGV", "任务失败：被信号 SIGSEGV 终止"),
    ("crashed", "the work could not be started: no such file: 'x'", "任务失败：无法启动：no such file: 'x'"),
    (
        "crashed",
        "the service failed 3 times in a row, the last time: the work ended with exit code 1",
        "任务失败：服务连续失败 3 次，最近一次：退出码为 1",
    ),
    (
        "crashed",
        "the session's server did not start within 90 s; look at its log",
        "任务失败：会话服务端在 1 分钟 30 秒 内未能启动，请查看输出日志",
    ),
    ("lost", "The node was lost and did not come back in time.", "已失联：节点失联且未及时恢复。"),
    ("", "waiting for slices that are ending on this device", "正在等待该设备上即将结束的切片"),
]


@pytest.mark.req("ELA-409")
@pytest.mark.parametrize(("code", "text", "shown"), CASES)
def test_an_end_is_told_in_the_readers_language(code, text, shown):
    with translation.override("zh-hans"):
        assert end_sentence(code, text, seconds=600, idle_s=30, mib=512) == shown


def test_an_end_that_is_kept_is_told_in_the_language_of_whoever_reads_it():
    kept = json.loads(json.dumps(end_message("crashed", "the work ended with exit code 1")))
    told = {"en": "The work failed: it ended with exit code 1", "zh-hans": "任务失败：退出码为 1"}
    for language, shown in told.items():
        with translation.override(language):
            assert message_text(kept) == shown
    assert end_message("", "") == ""


def test_every_code_an_agent_may_send_has_a_sentence_in_both_languages():
    for code in filter(None, get_args(ReasonCode)):
        with translation.override("en"):
            assert end_sentence(code, "").endswith(".")
        with translation.override("zh-hans"):
            assert not re.search("[a-zA-Z]", end_sentence(code, ""))


def test_what_has_no_code_of_ours_is_told_as_it_came():
    with translation.override("zh-hans"):
        assert end_sentence("card_melted", "the card has melted") == "the card has melted"
        assert end_sentence("", "") == ""
