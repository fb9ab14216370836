"""Work that saves itself before it is stopped: what is asked for, what the agent passes on, what counts as said."""

from __future__ import annotations

import os

import pytest
from pydantic import ValidationError

from node_agent.instructions import Stop
from node_agent.machine import Observed
from node_agent.protocol.messages import DesiredSlice, WorkSpec
from node_agent.protocol.slices import CheckpointHook
from node_agent.runtime.shim.checkpoint import FILE, CheckpointControl
from tests.unit.node_agent.test_machine import held, machine, replied, wanted

pytestmark = pytest.mark.req("ELA-810")


@pytest.mark.parametrize(
    "given",
    [{}, {"signal": "KILL"}, {"signal": "USR1", "argv": ["save"]}, {"argv": [""]}, {"signal": "usr1"}],
)
def test_a_hook_is_one_signal_that_can_be_heard_or_one_command(given):
    with pytest.raises(ValidationError):
        CheckpointHook.model_validate(given)


def test_a_session_has_no_hook():
    with pytest.raises(ValidationError, match="session"):
        WorkSpec(kind="session", checkpoint=CheckpointHook(signal="USR1"))


def test_an_agent_that_knows_no_checkpoints_is_told_none_where_none_are_wanted():
    told = wanted().model_dump(mode="json")
    assert "saves" not in told
    assert "checkpoint" not in told["work"]
    work = WorkSpec(argv=("a",), checkpoint=CheckpointHook(argv=("save", "now")))
    asked = wanted().model_copy(update={"work": work, "saves": True})
    assert DesiredSlice.model_validate_json(asked.model_dump_json()) == asked


def test_the_wish_to_save_reaches_the_runtime_with_the_stop():
    made = machine(Observed((held(),)))
    wish = wanted(generation=2, state="stopped").model_copy(update={"saves": True})
    assert made.handle(replied(wish)) == (Stop("a", 2, saves=True),)


@pytest.fixture
def notes():
    return []


def test_each_word_of_the_work_counts_once_and_whatever_it_says(tmp_path, notes):
    control = CheckpointControl(tmp_path, None, notes.append)
    assert not control.look()
    (tmp_path / FILE).write_text("x" * 100_000)
    assert control.look()
    assert not control.look()
    os.utime(tmp_path / FILE, ns=(5, 5))
    assert control.look()
    assert notes == [], "what it saves on its own is not told in its log"


def test_a_link_or_a_folder_or_a_pipe_is_no_word(tmp_path, notes):
    control = CheckpointControl(tmp_path, None, notes.append)
    (tmp_path / "elsewhere").write_text("1")
    (tmp_path / FILE).symlink_to(tmp_path / "elsewhere")
    assert not control.look()
    (tmp_path / FILE).unlink()
    (tmp_path / FILE).mkdir()
    assert not control.look()
    (tmp_path / FILE).rmdir()
    os.mkfifo(tmp_path / FILE)
    assert not control.look()
