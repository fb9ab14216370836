"""Work is asked for at a centre under a key, once, and asked to end (JC-6.5-2)."""

from dataclasses import replace

import pytest

from apps.centers.adapters.base import JobMessage, Quantities
from apps.centers.errors import CenterInUse, CenterTakesNoWork
from apps.centers.events import CenterRemoved, RemoteTaskChanged
from apps.centers.models import Center, RemoteMessage, RemoteTask
from apps.centers.selectors import remote_tasks_to_stop
from apps.centers.services.centers import center_change, center_drain, center_remove
from apps.centers.services.remote_tasks import remote_task_log, remote_task_request, remote_task_stop
from apps.kernel import wiring
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, InvalidInput

pytestmark = pytest.mark.django_db
MESSAGE = JobMessage(
    "run --password hunter2", Quantities(cpu=2, memory=64), {"TOKEN": "s3cret"}, time_limit_s=60
)


@pytest.fixture
def ask(join):
    """Have a job run at the telling centre."""
    center = join()

    def make(key="weir-1", message=MESSAGE, owner="replica 1", center=center):
        return remote_task_request(actor=SYSTEM, center=center, key=key, message=message, owner=owner)

    return make


@pytest.fixture
def told(monkeypatch):
    """What was said of remote tasks."""
    found = []
    wiring.handlers_within(RemoteTaskChanged)
    monkeypatch.setitem(wiring._within, RemoteTaskChanged, [lambda event, _actor: found.append(event)])
    return found


@pytest.mark.req("JC-6.5-2")
def test_what_is_asked_for_twice_under_a_key_is_one_task(ask):
    row = ask()
    assert ask().pk == row.pk
    assert (row.state, row.desired, row.owner) == ("new", "run", "replica 1")
    for more in ({"message": replace(MESSAGE, command="another")}, {"owner": "replica 2"}):
        with pytest.raises(Conflict, match="weir-1"):
            ask(**more)
    assert RemoteTask.objects.count() == 1


def test_command_and_environment_are_sealed_and_gone_when_it_is_over(ask, told):
    row = ask()
    kept = str(RemoteMessage.objects.values().get()) + str(RemoteTask.objects.values().get())
    assert "hunter2" not in kept
    assert "s3cret" not in kept
    assert remote_task_stop(actor=SYSTEM, remote_task=row).state == "stopped"
    assert not RemoteMessage.objects.exists()
    assert told == [RemoteTaskChanged("weir-1", "replica 1", "new", "stopped")]
    assert remote_task_stop(actor=SYSTEM, remote_task=row).state == "stopped"
    assert ask().state == "stopped"
    assert len(told) == 1


@pytest.mark.parametrize("state", ["sending", "waiting", "running"])
def test_what_was_sent_is_stopped_by_its_centre_alone(ask, told, state):
    row = ask()
    RemoteTask.objects.update(state=state)
    row = remote_task_stop(actor=SYSTEM, remote_task=row)
    assert (row.state, row.desired, told) == (state, "stop", [])


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("key", {"key": "Weir 1"}),
        ("key", {"key": "-x"}),
        ("key", {"key": "x" * 64}),
        ("owner", {"owner": "x" * 201}),
        ("command", {"message": replace(MESSAGE, command=" ")}),
        ("command", {"message": replace(MESSAGE, command="a\0b")}),
        ("command", {"message": replace(MESSAGE, environment={"A": "\ud800"})}),
        ("command", {"message": replace(MESSAGE, command="x" * 1_048_576)}),
        ("image", {"message": replace(MESSAGE, image="x" * 501)}),
        ("quantities.gpu", {"message": replace(MESSAGE, quantities=Quantities(gpu=-1))}),
        ("time_limit_s", {"message": replace(MESSAGE, time_limit_s=0)}),
    ],
)
def test_what_cannot_be_sent_is_refused_by_its_field(ask, field, wrong):
    with pytest.raises(InvalidInput) as refused:
        ask(**wrong)
    assert list(refused.value.fields) == [field]
    assert not RemoteTask.objects.exists()


@pytest.mark.req("JC-6.5-2")
def test_a_centre_that_takes_no_work_is_asked_for_none(ask):
    row = ask()
    center_drain(actor=SYSTEM, ai_center_id="lake")
    assert ask().pk == row.pk
    with pytest.raises(CenterTakesNoWork):
        ask("weir-2")
    Center.objects.update(is_drained=False, status=0)
    with pytest.raises(CenterTakesNoWork):
        ask("weir-2")


@pytest.mark.req("JC-5-1")
def test_a_centre_stays_while_work_is_there(ask, telling, tmp_path):
    row = ask()
    other = type(telling)(tmp_path / "other.json").say()
    elsewhere = {"facts": {}, "settings": {"address": str(other.path)}, "secrets": {"token": "right"}}
    with pytest.raises(CenterInUse):
        center_remove(actor=SYSTEM, ai_center_id="lake")
    with pytest.raises(CenterInUse):
        center_change(actor=SYSTEM, ai_center_id="lake", **elsewhere)
    here = {"address": str(telling.path), "remark": "new"}
    center_change(actor=SYSTEM, ai_center_id="lake", facts={}, settings=here)
    remote_task_stop(actor=SYSTEM, remote_task=row)
    RemoteTask.objects.update(is_left=True)
    with pytest.raises(CenterInUse):
        center_remove(actor=SYSTEM, ai_center_id="lake")
    RemoteTask.objects.update(is_left=False)
    center_change(actor=SYSTEM, ai_center_id="lake", **elsewhere)
    center_remove(actor=SYSTEM, ai_center_id="lake")
    assert not RemoteTask.objects.exists()


@pytest.mark.req("JC-5-1")
def test_who_holds_a_record_of_what_ended_is_heard_before_it_is_deleted(ask, monkeypatch):
    """By `CenterRemoved`, in the transaction: whoever refuses keeps the centre and all its tasks."""
    remote_task_stop(actor=SYSTEM, remote_task=ask())
    found, refuses = [], [True]

    def hear(event, _actor):
        found.append((event.ai_center_id, list(RemoteTask.objects.values_list("key", "state"))))
        if refuses[0]:
            raise CenterInUse("Its end is not taken over yet.")

    wiring.handlers_within(CenterRemoved)
    monkeypatch.setitem(wiring._within, CenterRemoved, [hear])
    with pytest.raises(CenterInUse, match="taken over"):
        center_remove(actor=SYSTEM, ai_center_id="lake")
    assert RemoteTask.objects.get().state == "stopped"
    refuses[0] = False
    center_remove(actor=SYSTEM, ai_center_id="lake")
    assert found == [("lake", [("weir-1", "stopped")])] * 2
    assert not RemoteTask.objects.exists()


def test_what_was_not_sent_has_written_nothing(ask):
    assert remote_task_log(ask(), 0) == b""


def test_what_waits_is_stopped_before_what_runs(ask):
    """Else it would begin in its place."""
    keys = [ask(f"weir-{number}").key for number in range(3)]
    for key, state in zip(keys, ["running", "waiting", "running"], strict=True):
        RemoteTask.objects.filter(key=key).update(state=state, desired="stop", native_id=key)
    there = remote_tasks_to_stop(Center.objects.get())
    assert [row.key for row in there] == [keys[1], keys[0], keys[2]]
