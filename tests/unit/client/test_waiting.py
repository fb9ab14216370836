"""`weir wait`: until work has ended, with its exit status; what is waited for goes on whatever becomes of the wait."""

import json

import pytest
from typer.testing import CliRunner
from weir.cli.main import app
from weir.cli.work import waiting
from weir.errors import Unreachable

from tests.unit.client.centre import Centre

pytestmark = pytest.mark.req("ELA-101")
WELL, CRASHED, KILLED = (
    ("finished", "completed", [0]),
    ("failed", "crashed", [0, 7]),
    ("failed", "crashed", [-9]),
)
STOPPED, RUNS = ("finished", "stopped", [None]), ("running", "", [])


class Pool(Centre):
    """Work that is looked at: each look shows the next of its states, the last one from then on."""

    def __init__(self, **states):
        super().__init__()
        self.states = {name.replace("_", "-"): list(each) for name, each in states.items()}
        self.silent = 0
        self.tasks = [{"waiting": 1, "running": 1, "finished": 0, "failed": 0}]

    def workloads(self):
        return [{"no": no, "uid": no} for no in self.states]

    def workload(self, uid):
        if self.silent:
            self.silent -= 1
            raise Unreachable("http://centre cannot be reached.")
        self.asked.append(uid)
        shown = self.states[uid]
        state, reason, codes = shown.pop(0) if len(shown) > 1 else shown[0]
        slices = [{"exit_code": code} for code in codes]
        return {
            "no": uid,
            "uid": uid,
            "name": "n",
            "state": state,
            "reason": "",
            "reason_code": reason,
            "slices": slices,
        }

    def arrays(self):
        return [{"no": "A-1", "uid": "a"}]

    def array(self, _uid):
        now = self.tasks.pop(0) if len(self.tasks) > 1 else self.tasks[0]
        return {"no": "A-1", "uid": "a", "name": "n", "progress": now}


@pytest.fixture
def pool(monkeypatch):
    def make(**states):
        found = Pool(**states)
        monkeypatch.setattr(waiting, "caller", lambda _ctx: found)
        return found

    monkeypatch.setattr(waiting, "_FIRST_LOOK_S", 0.0)
    return make


def weir(*words):
    return CliRunner().invoke(app, words)


@pytest.mark.parametrize(
    ("ends", "code"), [(WELL, 0), (CRASHED, 7), (KILLED, 137), (STOPPED, 1), (("lost", "node_lost", []), 1)]
)
def test_the_exit_status_is_the_works(pool, ends, code):
    found = pool(W_1=[RUNS, RUNS, ends])
    done = weir("wait", "W-1")
    assert (done.exit_code, found.asked) == (code, ["W-1"] * 3), done.output
    assert done.stderr.count("W-1 running.") == 1, "told once, and not at each look"


def test_of_several_it_is_the_first_that_did_not_go_well_and_all_are_waited_for(pool):
    pool(W_1=[WELL], W_2=[RUNS, KILLED], W_3=[RUNS, RUNS, RUNS, CRASHED])
    done = weir("wait", "W-1", "W-2", "W-3", "--json")
    assert done.exit_code == 137
    assert [row["exit_status"] for row in json.loads(done.stdout)] == [0, 137, 7]


def test_what_has_ended_is_answered_at_once(pool):
    found = pool(W_1=[WELL])
    assert (weir("wait", "last").exit_code, found.asked) == (0, ["W-1"])


@pytest.mark.parametrize(("failed", "code"), [(0, 0), (2, 1)])
def test_an_array_has_ended_with_its_last_task(pool, failed, code):
    pool().tasks.append({"waiting": 0, "running": 0, "finished": 3, "failed": failed})
    done = weir("wait", "a-1")
    assert done.exit_code == code, done.output
    assert "A-1: 1 wait, 1 run, 0 have failed." in done.stderr


def test_when_the_time_is_over_it_is_said_what_goes_on(pool):
    pool(W_1=[WELL], W_2=[RUNS])
    done = weir("wait", "W-1", "W-2", "--timeout", "1s", "--json")
    assert done.exit_code == 124
    assert "W-2 has not ended after 1s." in done.stderr
    assert [row["exit_status"] for row in json.loads(done.stdout)] == [0, None]


def test_a_centre_that_is_away_for_a_while_is_asked_again(pool, monkeypatch):
    found = pool(W_1=[RUNS, WELL])
    first = found.workload

    def then_silent(uid):
        answer = first(uid)
        found.silent = 2 if len(found.asked) == 1 else 0
        return answer

    monkeypatch.setattr(found, "workload", then_silent)
    done = weir("wait", "W-1")
    assert done.exit_code == 0, done.output
    assert done.stderr.count("It is asked again.") == 2


def test_a_centre_that_stays_away_is_told(pool, monkeypatch):
    monkeypatch.setattr(waiting, "_SILENT_S", 0.0)
    found = pool(W_1=[RUNS, WELL])
    first = found.workload
    monkeypatch.setattr(found, "workload", lambda uid: (first(uid), setattr(found, "silent", 9))[0])
    done = weir("wait", "W-1")
    assert (done.exit_code, "cannot be reached" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("W-1", "W-9"), "There is no W-9 here"),
        (("A-9",), "There is no A-9 here"),
        (("W-1", "--timeout", "soon"), "is no duration"),
        (("W-1", "--timeout", "0"), "is no duration"),
    ],
)
def test_nothing_is_waited_for_where_the_line_is_wrong(pool, words, says):
    pool(W_1=[RUNS])
    done = weir("wait", *words)
    assert done.exit_code == 1
    assert says in done.stderr
    assert "running" not in done.stderr


def test_who_is_tired_of_waiting_leaves_it_running(pool, monkeypatch):
    def tired(_s):
        raise KeyboardInterrupt

    pool(W_1=[RUNS])
    monkeypatch.setattr(waiting.time, "sleep", tired)
    assert weir("wait", "W-1").exit_code == 130
    assert weir("wait").exit_code == 2, "nothing to wait for"
