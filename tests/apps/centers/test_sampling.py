"""What centres answer is kept; silence and nonsense are says (JC-6.1.3-1)."""

from datetime import timedelta
from unittest.mock import patch

import pytest
from django.utils import timezone

from apps.centers.adapters.base import CenterUnreachable
from apps.centers.errors import CenterNonsense, CenterSaysNo, CenterSilent
from apps.centers.models import Center, CenterSample
from apps.centers.runner import POLL_S, CenterWatch
from apps.centers.selectors import center_get, centers_lost
from apps.centers.services import sampling
from apps.centers.services.calls import center_tried
from apps.centers.services.centers import center_remove
from apps.centers.services.sampling import (
    center_answered,
    center_failed,
    center_sample_now,
    centers_check,
)
from apps.kernel.actor import SYSTEM
from apps.telemetry.models import LogEntry

pytestmark = pytest.mark.django_db
TABLE_4 = pytest.mark.req("JC-6.1.3-1", "JC-5a")


def later(seconds):
    centers_check(actor=SYSTEM, now=timezone.now() + timedelta(seconds=seconds))
    return Center.objects.get()


@TABLE_4
@pytest.mark.req("JC-6.1.1-2")
def test_each_answer_is_the_sample(join, telling):
    join()
    telling.say(used={"cpu": 64, "gpu": 8, "memory": 1}, running=7, waiting=9)
    row = center_sample_now(actor=SYSTEM, ai_center_id="lake")
    assert (row.sample.free.cpu, row.sample.free.gpu, row.sample.free.memory) == (0, 0, 262_143)
    assert (row.sample.running_tasks, row.sample.waiting_tasks) == (7, 9)
    for name in ("cpu", "gpu", "npu", "mlu", "memory", "storage", "user_define"):
        total = getattr(row.sample.total, name)
        assert getattr(row.sample.used, name) + getattr(row.sample.free, name) == total


@TABLE_4
def test_a_silent_centre_is_unknown_and_then_unavailable_and_comes_back_by_its_answer(join):
    join()
    assert later(29).status == 1
    assert later(31).status == 2
    assert later(299).status == 2
    assert later(301).status == 0
    assert center_sample_now(actor=SYSTEM, ai_center_id="lake").status == 1
    lines = list(LogEntry.objects.filter(component="centers").order_by("pk").values_list("text", flat=True))
    assert [line.partition(" is ")[2].partition(":")[0] for line in lines] == [
        "available",
        "unknown",
        "unavailable",
        "available",
    ]


def test_how_long_it_may_be_silent_is_the_centre_s_own(join):
    join(facts={"stale_after_s": 5, "lost_after_s": 10})
    assert later(6).status == 2
    assert later(11).status == 0


@TABLE_4
@pytest.mark.parametrize(
    ("says", "kind", "status"),
    [
        ({"token": "another"}, CenterSaysNo, 0),
        ({"trouble": "broken"}, CenterNonsense, 2),
        ({"trouble": "fails"}, CenterNonsense, 2),
        ({"used": {"gpu": 9}}, CenterNonsense, 2),
        ({"trouble": "unreachable"}, CenterSilent, 1),
    ],
)
def test_what_a_call_came_to_is_kept_and_nonsense_never_counts_as_available(
    join, telling, says, kind, status
):
    join()
    before = CenterSample.objects.get()
    telling.say(**says)
    with pytest.raises(kind):
        center_sample_now(actor=SYSTEM, ai_center_id="lake")
    row = center_get("lake")
    assert row.status == status
    assert row.trouble
    assert row.error
    assert len(row.error) <= 500
    assert row.error.isprintable()
    assert row.sample.answered_at == before.answered_at
    telling.say(token="right", trouble="", used={})
    row = center_sample_now(actor=SYSTEM, ai_center_id="lake")
    assert (row.status, row.trouble, row.error) == (1, "", "")


def fails(row, after_s, took_s=1):
    """A question that came to nothing, so many seconds from now."""
    at = timezone.now() + timedelta(seconds=after_s)
    with patch.object(sampling.timezone, "now", lambda: at + timedelta(seconds=took_s)):
        center_failed(actor=SYSTEM, center=row, asked_at=at, error=CenterUnreachable("no answer"))


def lost(after_s):
    return centers_lost(timezone.now() + timedelta(seconds=after_s))


@pytest.mark.req("JC-6.5-2")
def test_only_a_centre_that_was_asked_in_vain_for_long_enough_is_lost(join):
    row = join()
    # Nobody asks it for a day.
    assert lost(86_400) == set()
    fails(row, 86_400)
    assert lost(86_402) == set()
    for after_s in range(86_460, 86_690, 60):
        fails(row, after_s)
    assert lost(90_000) == set()
    fails(row, 86_700)
    assert lost(86_702) == {"lake"}
    # The same was not known earlier.
    assert lost(86_690) == set()


@pytest.mark.req("JC-6.5-2")
def test_a_time_in_which_nobody_asks_a_failing_centre_is_excused(join):
    row = join()
    fails(row, 0)
    fails(row, 60)
    fails(row, 3600)
    assert lost(3602) == set()
    for after_s in range(3660, 3901, 60):
        fails(row, after_s)
    assert lost(3902) == {"lake"}


@pytest.mark.req("JC-6.5-2")
def test_an_answer_ends_what_a_centre_has_failed(join):
    row = join()
    for after_s in range(-400, 0, 50):
        fails(row, after_s, took_s=0)
    assert Center.objects.get().failing_since is None
    Center.objects.update(failing_since=timezone.now() - timedelta(seconds=400), error_at=timezone.now())
    assert lost(1) == {"lake"}
    center_sample_now(actor=SYSTEM, ai_center_id="lake")
    assert lost(1) == set()


def test_what_is_lost_does_not_become_unknown_by_nonsense(join, telling):
    join()
    assert later(400).status == 0
    telling.say(trouble="broken")
    with pytest.raises(CenterNonsense):
        center_sample_now(actor=SYSTEM, ai_center_id="lake")
    assert Center.objects.get().status == 0


def test_a_late_answer_replaces_no_newer_one(join, telling):
    row = join()
    early = center_tried("telling", row.settings, {"token": "right"})
    telling.say(used={"gpu": 7})
    center_sample_now(actor=SYSTEM, ai_center_id="lake")
    assert center_answered(actor=SYSTEM, center=row, answer=early) is False
    failed = center_failed(
        actor=SYSTEM, center=row, asked_at=early.asked_at, error=CenterUnreachable("too late")
    )
    assert failed is False
    assert CenterSample.objects.get().used_gpu == 7
    assert Center.objects.get().error == ""


def test_an_answer_by_a_way_that_was_changed_meanwhile_is_dropped(join):
    row = join()
    answer = center_tried("telling", row.settings, {"token": "right"})
    Center.objects.update(revision=2)
    assert center_answered(actor=SYSTEM, center=row, answer=answer) is False


@TABLE_4
def test_a_watch_asks_again_less_often_while_it_fails(join, telling):
    row = join()
    watch = CenterWatch(row.pk)
    assert watch.ask() == POLL_S
    telling.say(trouble="unreachable")
    pauses = [watch.ask() for _time in range(5)]
    assert pauses == [10, 20, 40, 60, 60]
    telling.say(trouble="")
    assert watch.ask() == POLL_S
    telling.say(slow_s=2)
    assert watch.ask() > 8
    center_remove(actor=SYSTEM, ai_center_id="lake")
    assert watch.ask() is None
