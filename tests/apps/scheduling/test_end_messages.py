"""Whose work has ended is told why, in his own language; what a node said in English is in no message."""

import pytest
from django.utils import timezone, translation

from apps.kernel.actor import SYSTEM
from apps.notices.models import Message
from apps.scheduling.services.workloads.notifications import workload_notify
from tests.apps.scheduling.test_limits import ask

pytestmark = pytest.mark.django_db
CASES = [
    (
        "failed", "crashed", "the work ended with exit code 1",
        "has failed. The work failed: it ended with exit code 1", "失败。任务失败：退出码为 1",
    ),
    ("finished", "run_timeout", "run time of 5400 s reached", "1 h 30 min", "1 小时 30 分钟"),
    ("finished", "completed", "the work finished", "has ended and is released.", "已结束，资源已释放。"),
    ("lost", "lost", "", "It was lost", "已失联"),
]  # fmt: skip


@pytest.mark.req("POOL-12.11", "POOL-12.12")
@pytest.mark.parametrize(("state", "code", "said", "english", "chinese"), CASES)
def test_who_submitted_work_is_told_why_it_ended(alice, acme, state, code, said, english, chinese):
    row = ask(alice, acme, run_timeout_s=5400)
    row.state, row.reason_code, row.reason, row.ended_at = state, code, {"text": said}, timezone.now()
    workload_notify(row, SYSTEM)
    told = Message.objects.get(user=alice.user)
    with translation.override("en"):
        assert english in told.title
        assert "seconds" not in told.title
    with translation.override("zh-hans"):
        assert chinese in told.title
        assert said not in told.title or not said
