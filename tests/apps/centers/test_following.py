"""What is asked for is sent to its centre once, followed and stopped there, and a centre that lies changes nothing."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.centers import runner
from apps.centers.adapters.base import JobMessage, JobSeen, JobState, Quantities
from apps.centers.events import RemoteTaskChanged
from apps.centers.models import Center, RemoteTask
from apps.centers.runner import CenterWatch
from apps.centers.services.centers import center_remove
from apps.centers.services.following import report_keep
from apps.centers.services.remote_tasks import remote_task_log, remote_task_request, remote_task_stop
from apps.kernel import wiring
from apps.kernel.actor import SYSTEM

pytestmark = pytest.mark.django_db
ONCE = pytest.mark.req("JC-6.5-2", "JC-6.4-5")
MESSAGE = JobMessage("train", Quantities(cpu=1), {"TOKEN": "s3cret"})


@pytest.fixture
def watch(join, monkeypatch):
    """The watch of a telling centre, which does everything at each turn."""
    for name in ("POLL_S", "FOLLOW_S", "SETTLE_S", "MISSING_S", "_STOP_AGAIN_S"):
        monkeypatch.setattr(runner, name, 0.0)
    monkeypatch.setattr(runner, "_SHARE", 1e9)
    monkeypatch.setattr(CenterWatch, "_pause_s", lambda *_: 0.0)
    return CenterWatch(join().pk)


@pytest.fixture
def told(monkeypatch):
    """How remote tasks changed."""
    found = []
    wiring.handlers_within(RemoteTaskChanged)
    monkeypatch.setitem(
        wiring._within, RemoteTaskChanged, [lambda event, _actor: found.append((event.before, event.after))]
    )
    return found


def ask(key="weir-1"):
    return remote_task_request(
        actor=SYSTEM, center=Center.objects.get(), key=key, message=MESSAGE, owner="replica 1"
    )


def now(key="weir-1"):
    return RemoteTask.objects.get(key=key)


def at(seconds):
    return (timezone.now() + timedelta(seconds=seconds)).isoformat()


@ONCE
def test_a_task_is_sent_once_and_followed_to_its_end(watch, telling, told):
    began, ended_at = at(-9), at(-1)
    ask()
    watch.turn()
    job = json.loads(telling.path.with_suffix(".jobs").read_text())
    assert (job["command"], job["env"]) == ("train", {"TOKEN": "s3cret"})
    assert (now().state, now().native_id) == ("waiting", job["native_id"])
    telling.say(job_state="running", jobs={"weir-1": {"started_at": began, "native_state": "R"}})
    watch.turn()
    assert (now().state, now().native_state) == ("running", "R")
    ended = {
        "state": "failed",
        "started_at": began,
        "ended_at": ended_at,
        "exit_code": 3,
        "message": "a\x1b\nb",
    }
    telling.say(jobs={"weir-1": ended})
    watch.turn()
    watch.turn()
    row = now()
    assert (row.state, row.exit_code, row.cause) == ("failed", 3, "a b")
    assert (row.started_at.isoformat(), row.ended_at.isoformat()) == (began, ended_at)
    assert told == [("new", "sending"), ("sending", "waiting"), ("waiting", "running"), ("running", "failed")]
    assert telling.made == ["weir-1"]
    assert remote_task_log(row, 0, 6) == b"output"


@ONCE
@pytest.mark.parametrize(("create", "made_first"), [("lost", 1), ("kept_off", 0)])
def test_a_lost_answer_is_looked_for_before_anything_is_sent_again(
    watch, telling, create, made_first, monkeypatch
):
    monkeypatch.setattr(runner, "SETTLE_S", 3600)
    telling.say(create=create)
    ask()
    watch.turn()
    assert (now().state, len(telling.made)) == ("sending", made_first)
    assert "did not answer" in now().cause
    telling.say(create="")
    watch.turn()
    # What is not there may still be under way.
    assert now().state == ("waiting" if made_first else "sending")
    RemoteTask.objects.update(sent_at=timezone.now() - timedelta(seconds=3601))
    watch.turn()
    assert now().state == "waiting"
    assert telling.made == ["weir-1"]


def unsent(count):
    """Tasks that were begun to be sent, long ago, and never arrived."""
    for number in range(count):
        ask(f"weir-{number}")
    RemoteTask.objects.update(state="sending", sent_at=timezone.now() - timedelta(seconds=3600))


@ONCE
def test_a_centre_that_gives_no_answer_to_jobs_holds_up_no_question(watch, telling):
    """Of many that are to be sent again, one is tried in a turn, and nothing new after it."""
    unsent(5)
    ask("weir-new")
    telling.say(create="kept_off")
    watch.turn()
    tried = RemoteTask.objects.filter(sent_at__gt=timezone.now() - timedelta(seconds=60))
    assert [row.key for row in tried] == ["weir-0"]
    assert now("weir-new").state == "new"
    telling.say(create="")
    watch.turn()
    assert set(RemoteTask.objects.values_list("state", flat=True)) == {"waiting"}
    assert sorted(telling.made) == ["weir-0", "weir-1", "weir-2", "weir-3", "weir-4", "weir-new"]


@ONCE
def test_a_turn_sends_again_for_a_bounded_time(watch, telling, monkeypatch):
    monkeypatch.setattr(runner, "_SENDING_S", 0.5)
    unsent(5)
    # The question itself takes longer than the time for sending.
    telling.say(create_s=0.2, slow_s=0.6)
    watch.turn()
    telling.say(slow_s=0)
    assert 1 <= len(telling.made) < 5
    for _turn in range(4):
        watch.turn()
    assert sorted(telling.made) == [f"weir-{number}" for number in range(5)]


def test_what_took_long_is_followed_again_before_the_centre_counts_as_silent(join):
    watch = CenterWatch(join().pk)
    center = Center.objects.get()
    assert watch._follow_pause_s(center, 0.1) == runner.FOLLOW_S
    assert watch._follow_pause_s(center, 2) == 8
    assert watch._follow_pause_s(center, 100) == center.stale_after_s / 3


@ONCE
def test_what_the_centre_refuses_is_refused_with_its_cause_and_never_sent_again(watch, telling, told):
    telling.say(create="refused")
    ask()
    watch.turn()
    telling.say(create="")
    watch.turn()
    assert (now().state, now().cause) == ("refused", "There is no such image.")
    assert told[-1] == ("sending", "refused")
    assert telling.made == []


@ONCE
def test_nothing_is_sent_without_the_lock_and_where_the_centre_answers_nothing(watch, telling):
    ask()
    held = [True]
    without = CenterWatch(now().center_id, lambda: held[0])
    held[0] = False
    without.turn()
    assert now().state == "new"
    telling.say(trouble="unreachable")
    watch.turn()
    assert now().state == "new"
    telling.say(trouble="")
    watch.turn()
    assert now().state == "waiting"


@ONCE
def test_a_task_is_stopped_before_and_after_it_is_sent(watch, telling, told):
    remote_task_stop(actor=SYSTEM, remote_task=ask())
    watch.turn()
    assert (now().state, telling.made) == ("stopped", [])
    row = ask("weir-2")
    telling.say(create="lost")
    watch.turn()
    remote_task_stop(actor=SYSTEM, remote_task=row)
    watch.turn()
    watch.turn()
    assert now("weir-2").state == "stopped"
    assert telling.stopped == [now("weir-2").native_id]
    row = ask("weir-3")
    telling.say(create="kept_off")
    watch.turn()
    remote_task_stop(actor=SYSTEM, remote_task=row)
    watch.turn()
    assert (now("weir-3").state, telling.made) == ("stopped", ["weir-2"])


@ONCE
def test_a_stop_that_the_centre_does_not_do_is_asked_again(watch, telling):
    row = ask()
    telling.say(stops=False, job_state="running")
    watch.turn()
    remote_task_stop(actor=SYSTEM, remote_task=row)
    watch.turn()
    watch.turn()
    assert now().state == "running"
    assert len(telling.stopped) == 2


@pytest.mark.req("JC-6.4-5")
@pytest.mark.parametrize(
    "lie",
    [
        {"native_id": "999"},
        {"state": "succeeded", "ended_at": "2999-01-01T00:00:00+00:00"},
        {
            "state": "succeeded",
            "started_at": "2026-01-02T00:00:00+00:00",
            "ended_at": "2026-01-01T00:00:00+00:00",
        },
        {"state": "succeeded", "ended_at": "2026-01-01T00:00:00"},
        {"state": "succeeded", "exit_code": 10**10},
        {"state": "succeeded", "key": "weir-2"},
    ],
)
def test_what_cannot_be_true_changes_nothing_and_is_counted(watch, telling, lie):
    ask()
    watch.turn()
    before = RemoteTask.objects.values().get()
    telling.say(jobs={"weir-1": lie})
    watch.turn()
    assert RemoteTask.objects.values().get() == before
    assert Center.objects.get().disbelieved_count == 1


@pytest.mark.req("JC-6.4-5")
def test_a_job_that_nobody_sent_is_counted_and_changes_nothing(watch, telling):
    telling.say(trouble="unreachable")
    ask("weir-9")
    ask()
    watch.turn()
    telling.say(trouble="")
    RemoteTask.objects.filter(key="weir-1").update(state="waiting", native_id="7", sent_at=timezone.now())
    telling.say(jobs={"weir-9": {"native_id": "5", "state": "succeeded"}, "weir-1": {"native_id": "7"}})
    watch._follow(Center.objects.get())
    assert (now("weir-9").state, Center.objects.get().disbelieved_count) == ("new", 1)


@ONCE
def test_over_is_over_and_what_is_late_changes_nothing(watch, telling, told):
    ask()
    watch.turn()
    telling.say(jobs={"weir-1": {"state": "succeeded"}})
    watch.turn()
    row = now()
    for state in JobState:
        seen = JobSeen("weir-1", row.native_id, state)
        assert report_keep(actor=SYSTEM, pk=row.pk, seen=seen, asked_at=timezone.now()) == ""
    assert RemoteTask.objects.get().revision == row.revision
    assert told[-1] == ("waiting", "succeeded")
    RemoteTask.objects.update(state="running")
    early = row.seen_at - timedelta(seconds=1)
    for state, asked_at in ((JobState.FAILED, early), (JobState.WAITING, timezone.now())):
        report_keep(actor=SYSTEM, pk=row.pk, seen=JobSeen("weir-1", row.native_id, state), asked_at=asked_at)
        assert now().state == "running"


@ONCE
def test_what_a_silent_centre_had_is_lost_and_stopped_when_the_centre_returns(
    watch, telling, told, monkeypatch
):
    ask()
    watch.turn()
    ask("weir-2")
    Center.objects.update(lost_after_s=100, stale_after_s=1)
    telling.say(trouble="unreachable")
    watch.turn()
    assert now().state == "waiting"
    clock = runner.monotonic
    monkeypatch.setattr(runner, "monotonic", lambda: clock() + 101)
    watch.turn()
    assert (now().state, now("weir-2").state) == ("lost", "lost")
    assert "gave no good answer for 100 s" in now().cause
    assert told[-2:] == [("waiting", "lost"), ("new", "lost")]
    telling.say(trouble="", job_state="running")
    watch.turn()
    assert telling.stopped == [now().native_id]
    assert (now().state, now().is_left) == ("lost", True)
    watch.turn()
    assert (now().state, now().is_left) == ("lost", False)
    assert telling.made == ["weir-1"]
    watch.turn()
    assert len(telling.stopped) == 1
    center_remove(actor=SYSTEM, ai_center_id="lake")


@ONCE
@pytest.mark.parametrize(
    ("follow", "trouble", "status"),
    [("refused", "refused", 0), ("broken", "broken", 2), ("fails", "broken", 2)],
)
def test_a_centre_that_tells_its_figures_and_never_its_jobs_counts_as_failing(
    watch, telling, monkeypatch, follow, trouble, status
):
    ask()
    watch.turn()
    Center.objects.update(lost_after_s=100, stale_after_s=1)
    telling.say(follow=follow)
    for _turn in range(2):
        watch.turn()
    # It may be a passing matter.
    assert (Center.objects.get().status, Center.objects.get().trouble) == (1, "")
    for _turn in range(3):
        watch.turn()
        row = Center.objects.get()
    assert (row.status, row.trouble, row.takes_work) == (status, trouble, False)
    assert row.error
    assert row.failing_since
    assert now().state == "waiting"
    clock = runner.monotonic
    monkeypatch.setattr(runner, "monotonic", lambda: clock() + 101)
    watch.turn()
    assert (now().state, now().is_left) == ("lost", True)
    telling.say(follow="", job_state="running")
    watch.turn()
    row = Center.objects.get()
    assert (row.status, row.trouble, row.failing_since) == (1, "", None)
    assert telling.stopped == [now().native_id]


@ONCE
def test_questions_for_jobs_that_fail_now_and_then_make_no_trouble(watch, telling):
    ask()
    watch.turn()
    for _time in range(3):
        telling.say(follow="unreachable")
        watch.turn()
        watch.turn()
        telling.say(follow="")
        watch.turn()
    assert Center.objects.get().error == ""
    assert now().state == "waiting"


@ONCE
def test_a_job_that_its_centre_has_forgotten_is_lost(watch, telling, monkeypatch):
    ask()
    watch.turn()
    telling.say(jobs={"weir-1": None})
    clock = runner.monotonic
    monkeypatch.setattr(runner, "MISSING_S", 60)
    watch.turn()
    assert now().state == "waiting"
    monkeypatch.setattr(runner, "monotonic", lambda: clock() + 61)
    watch.turn()
    assert (now().state, now().is_left) == ("lost", True)
    watch.turn()
    assert (now().state, now().is_left) == ("lost", False)


def test_a_word_that_nobody_knows_is_kept_and_moves_nothing(watch, telling):
    ask()
    watch.turn()
    telling.say(jobs={"weir-1": {"state": "unknown", "native_state": "LEVITATING"}})
    watch.turn()
    assert (now().state, now().native_state) == ("waiting", "LEVITATING")


@ONCE
def test_a_second_job_under_a_key_is_said_and_counted_once(watch, telling):
    ask()
    watch.turn()
    telling.say(job_state="running", jobs={"weir-1": {"message": "Prolog", "others": ["18", "19"]}})
    for _turn in range(3):
        watch.turn()
    assert now().state == "running"
    assert now().cause == "Prolog The centre has further jobs under this key: 18, 19."
    assert Center.objects.get().disbelieved_count == 1
    # A watch that begins anew counts nothing twice.
    CenterWatch(Center.objects.get().pk).turn()
    assert Center.objects.get().disbelieved_count == 1
    telling.say(jobs={"weir-1": {"others": [str(number) for number in range(100, 190)]}})
    watch.turn()
    assert now().cause.endswith("100, 101, 102, 103, 104 (+85).")
    assert Center.objects.get().disbelieved_count == 2


@ONCE
def test_a_turn_stops_for_a_bounded_time_and_all_that_is_to_end_has_its_turn(watch, telling, monkeypatch):
    monkeypatch.setattr(runner, "_STOPPING_S", 0.5)
    monkeypatch.setattr(runner, "_STOP_AGAIN_S", 15.0)
    rows = [ask(f"weir-{number}") for number in range(6)]
    watch.turn()
    for row in rows:
        remote_task_stop(actor=SYSTEM, remote_task=row)
    telling.say(stops=False, job_state="running", slow_s=0.2)
    pause_s = watch.turn()
    assert 1 <= len(telling.stopped) < 6
    assert pause_s == 0.0
    for _turn in range(3):
        pause_s = watch.turn()
    assert len(telling.stopped) == len(set(telling.stopped)) == 6
