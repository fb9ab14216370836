"""Elastic work is told its size and confirms it: the shim's control of it, the work's own module, the agent's mind."""

from __future__ import annotations

import json
import threading

import pytest

from node_agent.instructions import Resize, Start
from node_agent.machine import Observed
from node_agent.protocol.messages import DesiredSize, DesiredSlice, SliceReport
from node_agent.runtime.shim.elastic_size import CONFIRMED, FILE, SizeControl, size_environment
from node_agent.slice_state import LocalSlice
from tests.unit.node_agent.test_machine import machine, replied, wanted
from weir_wire import elastic_size

pytestmark = pytest.mark.req("ELA-906")
THREE = {"share": 0, "shares": 3, "step": 1}
TWO = {"share": 0, "shares": 2, "step": 2}


@pytest.fixture
def inside(tmp_path, monkeypatch):
    """The environment of a work whose folder is `tmp_path`."""
    for name, value in size_environment(THREE, tmp_path).items():
        monkeypatch.setenv(name, value)
    return tmp_path


# --- the shim ----------------------------------------------------------------------------------------------------


def test_the_size_is_written_once_per_change_and_never_an_older_one(tmp_path):
    control = SizeControl(tmp_path, None)
    assert control.tell(THREE, [])
    assert not control.tell(dict(THREE), [])
    assert control.tell(TWO, [])
    assert not control.tell(THREE, [])
    alone = {"replica": 0, "replicas": 2, "shares_per_replica": 1}
    assert json.loads((tmp_path / FILE).read_text()) == TWO | alone | {"leaving": False}


def test_a_share_beyond_the_size_is_told_that_it_leaves(tmp_path):
    SizeControl(tmp_path, None).tell({"share": 2, "shares": 2, "step": 2}, [])
    assert json.loads((tmp_path / FILE).read_text())["leaving"]


@pytest.mark.req("ELA-505")
@pytest.mark.parametrize(("share", "replica"), [(0, 0), (7, 0), (8, 1), (15, 1)])
def test_a_share_is_told_which_of_how_many_replicas_it_is_in(tmp_path, monkeypatch, share, replica):
    told = {"share": share, "shares": 16, "step": 1, "shares_per_replica": 8}
    found = size_environment(told, tmp_path)
    names = ("WEIR_REPLICA", "WEIR_REPLICAS", "WEIR_SHARES_PER_REPLICA", "WEIR_SHARES")
    assert [found[name] for name in names] == [str(replica), "2", "8", "16"]
    SizeControl(tmp_path, None).tell(told, [])
    monkeypatch.setenv("WEIR_SIZE_FILE", found["WEIR_SIZE_FILE"])
    now = elastic_size.now()
    assert (now.replica, now.replicas, now.shares_per_replica) == (replica, 2, 8)
    assert DesiredSize(**told).shares_per_replica == 8
    with pytest.raises(ValueError, match="shares_per_replica"):
        DesiredSize(**told | {"shares_per_replica": 0})


@pytest.mark.parametrize("said", ["", "x", "-1", "2", "1e3", "9" * 40])
def test_what_is_no_step_that_was_told_confirms_nothing(tmp_path, said):
    control = SizeControl(tmp_path, None)
    control.tell(THREE, [])
    (tmp_path / CONFIRMED).write_text(said)
    assert not control.look()
    assert control.confirmed_step == 0


def test_a_link_confirms_nothing(tmp_path):
    control = SizeControl(tmp_path, None)
    control.tell(THREE, [])
    (tmp_path / "elsewhere").write_text("1")
    (tmp_path / CONFIRMED).symlink_to(tmp_path / "elsewhere")
    assert not control.look()


def test_a_confirmation_is_news_once(tmp_path):
    control = SizeControl(tmp_path, None)
    control.tell(THREE, [])
    (tmp_path / CONFIRMED).write_text("1\n")
    assert control.look()
    assert not control.look()
    assert control.confirmed_step == 1


# --- the work ----------------------------------------------------------------------------------------------------


def test_work_learns_its_size_and_confirms_each_change_once_its_function_returns(inside):
    control, seen, changed = SizeControl(inside, None), [], threading.Event()

    def rebuild(now):
        seen.append((now.share, now.shares, now.leaving))
        if len(seen) == 2:
            changed.set()

    control.tell(THREE, [])
    elastic_size.scaled(rebuild)
    assert control.look()
    assert control.confirmed_step == 1
    control.tell(TWO, [])
    assert changed.wait(60)
    while not control.look():
        threading.Event().wait(0.01)
    assert (seen, control.confirmed_step) == ([(0, 3, False), (0, 2, False)], 2)


def test_a_function_that_raises_confirms_nothing(inside):
    control = SizeControl(inside, None)
    control.tell(THREE, [])
    with pytest.raises(RuntimeError):
        elastic_size.scaled(lambda now: (_ for _ in ()).throw(RuntimeError("no")))
    assert not control.look()


def test_work_that_is_not_elastic_is_one_of_one(monkeypatch):
    for name in ("WEIR_SIZE_FILE", "WEIR_SIZE_CONFIRM"):
        monkeypatch.delenv(name, raising=False)
    assert elastic_size.now() == elastic_size.Size(0, 1, 0)
    elastic_size.confirm(elastic_size.now())


# --- the agent ---------------------------------------------------------------------------------------------------


def sized(told: dict[str, int] | None) -> DesiredSlice:
    return wanted().model_copy(update={"size": DesiredSize(**told) if told else None})


def holds(told: dict[str, int]) -> Observed:
    report = SliceReport.model_validate({"slice_uid": "a", "generation": 1, "state": "running"})
    return Observed((LocalSlice("dev", 50, 100, report, size=DesiredSize(**told)),))


def test_another_size_is_passed_on_once_and_touches_no_share():
    made = machine()
    assert made.handle(replied(sized(THREE))) == (Start(sized(THREE)),)
    made.handle(holds(THREE))
    passed_on = Resize("a", 1, 50, 100, size=DesiredSize(**TWO))
    assert made.handle(replied(sized(TWO))) == (passed_on,)
    assert made.handle(replied(sized(TWO))) == ()
    assert made.handle(holds(TWO)) == ()
    assert made.handle(replied(sized(None))) == ()


def test_an_agent_that_knows_no_sizes_is_told_none():
    assert "size" not in sized(None).model_dump_json()
    assert DesiredSize(**TWO) == DesiredSlice.model_validate_json(sized(TWO).model_dump_json()).size
