"""The agent's mind: for every event what it does, and that it never does a thing twice."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from node_agent.instructions import Forget, Instruction, Resize, Start, Stop
from node_agent.machine import (
    DevicesFound,
    Distrusted,
    Event,
    Failed,
    Machine,
    Observed,
    Replied,
)
from node_agent.protocol.messages import (
    DesiredSession,
    DesiredSlice,
    DeviceReport,
    MoveTarget,
    SliceReport,
    SyncReply,
    WorkSpec,
)
from node_agent.slice_state import LocalSlice
from tests.examples import examples

pytestmark = pytest.mark.req("PLAT-OPS-22")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
DEVICE = DeviceReport(
    uid="dev", index=0, vendor="cpu", model="m", memory_mib=1000, cores=2, driver_version="1",
    simulated=False, health="ok",
)  # fmt: skip


def wanted(uid: str = "a", generation: int = 1, state: str = "running", percent: int = 50, mib: int = 100,
           device: str = "dev") -> DesiredSlice:  # fmt: skip
    return DesiredSlice.model_validate({
        "slice_uid": uid, "generation": generation, "device_uid": device, "compute_percent": percent,
        "memory_mib": mib, "state": state, "work": WorkSpec(argv=("true",)),
    })  # fmt: skip


def held(
    uid: str = "a", state: str = "running", generation: int = 1, percent: int = 50, mib: int = 100
) -> LocalSlice:
    report = SliceReport.model_validate({"slice_uid": uid, "generation": generation, "state": state})
    return LocalSlice("dev", percent, mib, report)


def replied(*desired: DesiredSlice, **fields: object) -> Replied:
    message = {"protocol": 1, "server_time": NOW, "next_sync_s": 1, "desired": desired, **fields}
    return Replied(SyncReply.model_validate(message))


def machine(*events: Event) -> Machine:
    made = Machine()
    for event in (DevicesFound((DEVICE,)), *events):
        made.handle(event)
    return made


def report(made: Machine, uid: str = "a") -> SliceReport | None:
    return {item.slice_uid: item for item in made.reports()}.get(uid)


def test_a_wish_starts_once_however_often_it_is_told() -> None:
    made = machine()
    assert made.handle(replied(wanted())) == (Start(wanted()),)
    assert made.handle(replied(wanted())) == ()
    assert made.handle(Observed(())) == ()
    assert report(made).state == "starting"  # type: ignore[union-attr]
    assert made.handle(Observed((held(),))) == ()
    assert made.handle(replied(wanted())) == ()


@pytest.mark.parametrize("state", ["exited", "failed"])
def test_an_ended_slice_never_runs_again(state: str) -> None:
    made = machine(Observed((held(state=state),)))
    assert made.handle(replied(wanted(generation=7))) == ()
    assert report(made).state == state  # type: ignore[union-attr]


def test_stop_is_asked_once_per_generation() -> None:
    made = machine(Observed((held(),)))
    assert made.handle(replied(wanted(generation=2, state="stopped"))) == (Stop("a", 2),)
    assert made.handle(replied(wanted(generation=2, state="stopped"))) == ()
    assert made.handle(Observed((held(state="stopping", generation=2),))) == ()


def test_a_stop_that_failed_is_asked_again() -> None:
    made = machine(Observed((held(),)))
    (stop,) = made.handle(replied(wanted(state="stopped")))
    made.handle(Failed(stop, "disk full"))
    assert made.handle(Observed((held(),))) == (stop,)


def test_a_slice_stopped_before_it_started_is_told_as_ended() -> None:
    made = machine()
    assert made.handle(replied(wanted(state="stopped"))) == ()
    assert (report(made).state, report(made).reason_code) == ("exited", "stopped")  # type: ignore[union-attr]


def test_resize_needs_a_newer_generation_and_room() -> None:
    made = machine(Observed((held(), held("b", percent=40))))
    assert made.handle(replied(wanted(percent=60), wanted("b", percent=40))) == ()
    grown = wanted(generation=2, percent=60)
    assert made.handle(replied(grown, wanted("b"))) == (Resize("a", 2, 60, 100),)
    assert made.handle(replied(wanted(generation=3, percent=61), wanted("b"))) == ()
    assert "40 %" not in report(made, "b").reason  # type: ignore[union-attr]
    assert "60 % of the device is free" in report(made).reason  # type: ignore[union-attr]
    assert made.handle(replied(wanted(generation=1, state="stopped"))) == ()


@pytest.mark.parametrize(
    ("wish", "cause"),
    [
        (wanted(device="other"), "no device other"),
        (wanted(percent=80), "50 % of the device is free"),
        (wanted(mib=901), "900 MiB of the device is free"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_cause(wish: DesiredSlice, cause: str) -> None:
    made = machine(Observed((held("b"),)))
    assert made.handle(replied(wish)) == ()
    assert report(made).state == "refused"  # type: ignore[union-attr]
    assert cause in report(made).reason  # type: ignore[union-attr]


def test_a_failed_device_takes_no_new_work() -> None:
    made = machine(DevicesFound((DEVICE.model_copy(update={"health": "failed", "health_reason": "burnt"}),)))
    assert made.handle(replied(wanted())) == ()
    assert "burnt" in report(made).reason  # type: ignore[union-attr]


def test_a_start_waits_for_what_is_ending_on_its_device() -> None:
    made = machine(Observed((held("b", percent=80),)))
    stopping = wanted("b", 2, "stopped", percent=80)
    assert made.handle(replied(wanted(), stopping)) == (Stop("b", 2),)
    assert report(made).state == "starting"  # type: ignore[union-attr]
    assert made.handle(Observed((held("b", "exited", 2, 80),))) == (Start(wanted()),)


@pytest.mark.req("POOL-12.2")
def test_what_a_share_gives_up_is_waited_for_and_nobody_else_s_work_fails_meanwhile() -> None:
    """The server gave the rest of the device to somebody else at once; the work shrinks when its shim has seen to
    it, or once it has freed its memory."""
    smaller, new = wanted(generation=2, percent=1, mib=10), wanted("b", percent=99, mib=990)
    made = machine(Observed((held(percent=100, mib=1000),)))
    assert [type(each) for each in made.handle(replied(smaller, new))] == [Resize]
    assert report(made, "b").state == "starting"  # type: ignore[union-attr]
    assert made.handle(Observed((held(generation=2, percent=100, mib=1000),))) == ()
    assert report(made, "b").state == "starting"  # type: ignore[union-attr]
    assert made.handle(Observed((held(generation=2, percent=1, mib=10),))) == (Start(new),)


def test_a_failed_start_is_refused_and_tried_again_only_for_a_newer_wish() -> None:
    made = machine()
    (start,) = made.handle(replied(wanted()))
    assert made.handle(Failed(start, "disk full")) == ()
    assert report(made).reason == "disk full"  # type: ignore[union-attr]
    assert made.handle(replied(wanted())) == ()
    assert made.handle(replied(wanted(generation=2))) == (Start(wanted(generation=2)),)


def test_a_slice_whose_records_are_gone_is_lost_not_run_again() -> None:
    made = machine()
    assert made.handle(replied(wanted(), usage_acks={"a": 12})) == ()
    assert report(made).reason_code == "lost"  # type: ignore[union-attr]


def test_forget_deletes_only_what_has_ended_and_late_wishes_do_not_revive_it() -> None:
    made = machine(Observed((held(), held("b", "exited"))))
    assert made.handle(replied(forget=("a", "b", "never"))) == (Forget("b"),)
    assert made.handle(replied(wanted("b"))) == ()
    assert made.handle(Observed((held(), held("b", "exited")))) == ()
    assert report(made, "b") is None


def test_unknown_slices_are_stopped_then_deleted() -> None:
    made = machine(Observed((held(),)))
    assert made.handle(replied(unknown=("a", "never"))) == (Stop("a", 1),)
    assert made.handle(Observed((held(state="exited"),))) == (Forget("a"),)


def test_a_distrusted_node_starts_nothing_and_keeps_what_runs() -> None:
    made = machine(Observed((held("b", percent=80),)), replied(wanted(), wanted("b", 2, "stopped")))
    assert made.handle(Distrusted()) == ()
    assert made.handle(Observed((held("b", "exited"),))) == ()
    assert made.handle(replied(wanted(), wanted("b", 2, "stopped"))) == (Start(wanted()),)


def test_what_the_server_no_longer_names_is_left_alone() -> None:
    made = machine(replied(wanted()), Observed((held(),)))
    assert made.handle(replied()) == ()
    assert report(made).state == "running"  # type: ignore[union-attr]


UIDS = st.sampled_from("abc")
WISHES = st.builds(
    wanted,
    UIDS,
    st.integers(1, 4),
    st.sampled_from(["running", "stopped"]),
    st.sampled_from([10, 40, 60, 100]),
)
REPLIES = st.builds(
    lambda wishes, forget, unknown: replied(
        *{wish.slice_uid: wish for wish in wishes}.values(), forget=forget, unknown=unknown
    ),
    st.lists(WISHES, max_size=4), st.lists(UIDS, max_size=1), st.lists(UIDS, max_size=1),
)  # fmt: skip
STEPS = st.lists(
    st.one_of(REPLIES, st.sampled_from(["look", "finish", "restart", "distrust", "fail"])), max_size=30
)


class World:
    """A runtime that carries instructions out, as a model for the machine to act on."""

    def __init__(self) -> None:
        self.slices: dict[str, LocalSlice] = {}
        self.started: list[str] = []
        self.machine = machine()

    def do(self, instructions: tuple[Instruction, ...], *, fails: bool = False) -> None:
        for instruction in instructions:
            if fails:
                self.machine.handle(Failed(instruction, "no"))
                continue
            match instruction:
                case Start(wish):
                    assert wish.slice_uid not in self.slices
                    self.started.append(wish.slice_uid)
                    self.slices[wish.slice_uid] = held(
                        wish.slice_uid, "running", wish.generation, wish.compute_percent, wish.memory_mib
                    )
                case Stop(uid, generation):
                    assert not self.slices[uid].is_terminal
                    self.slices[uid] = held(uid, "exited", generation)
                case Resize(uid, generation, percent, mib):
                    assert not self.slices[uid].is_terminal
                    self.slices[uid] = held(uid, "running", generation, percent, mib)
                case Forget(uid):
                    assert self.slices.pop(uid).is_terminal
            assert sum(item.compute_percent for item in self.slices.values() if not item.is_terminal) <= 100

    def step(self, step: Replied | str) -> None:
        if step == "restart":
            self.machine = machine()
        if step == "finish":
            self.slices = {uid: held(uid, "exited", item.generation) for uid, item in self.slices.items()}
        event = {"distrust": Distrusted()}.get(step, Observed(tuple(self.slices.values()))) if isinstance(
            step, str
        ) else step  # fmt: skip
        self.do(self.machine.handle(event), fails=step == "fail")


@settings(max_examples=examples(60), deadline=None)
@given(STEPS)
def test_no_order_of_events_overbooks_a_device_or_ends_twice(steps: list[Replied | str]) -> None:
    world = World()
    world.step("look")
    for step in steps:
        world.step(step)
        world.step("look")
        uids = [item.slice_uid for item in world.machine.reports()]
        assert len(uids) == len(set(uids))


@settings(max_examples=examples(60), deadline=None)
@given(REPLIES)
def test_the_same_reply_twice_changes_nothing_more(reply: Replied) -> None:
    world = World()
    for _ in range(3):
        world.step(reply)
        world.step("look")
    settled = dict(world.slices)
    assert world.machine.handle(reply) == ()
    assert world.machine.handle(Observed(tuple(world.slices.values()))) == ()
    assert world.slices == settled


TOKEN = DesiredSession(token="secret-token")


def session_wish(**changes: object) -> DesiredSlice:
    base = wanted().model_copy(update={"work": WorkSpec(kind="session"), "session": TOKEN})
    return base.model_copy(update=changes)


@pytest.mark.req("POOL-12.23")
def test_where_a_session_goes_is_passed_on_without_a_restart_or_a_new_generation() -> None:
    running = LocalSlice("dev", 50, 100, held().report, TOKEN)
    made = machine(Observed((running,)))
    assert made.handle(replied(session_wish())) == ()
    target = MoveTarget(slice_uid="b", host="h", port=1, fingerprint="f" * 64, ticket="one-time-ticket")
    moving = DesiredSession(token="secret-token", move_to=target)
    asked = Resize("a", 1, 50, 100, moving)
    assert made.handle(replied(session_wish(session=moving))) == (asked,)
    assert made.handle(replied(session_wish(session=moving))) == ()
    told = LocalSlice("dev", 50, 100, held().report, moving)
    assert made.handle(Observed((told,))) == ()
    made.handle(replied(session_wish(session=TOKEN)))
    assert made.handle(Observed((told,))) == ()


@pytest.mark.req("POOL-12.23")
def test_a_move_is_passed_on_also_where_a_resize_does_not_fit() -> None:
    made = machine(Observed((LocalSlice("dev", 50, 100, held().report, TOKEN), held("b", percent=50))))
    moving = DesiredSession(token="secret-token", ticket="one-time-ticket")
    wish = session_wish(generation=2, compute_percent=60, session=moving)
    assert made.handle(replied(wish)) == (Resize("a", 1, 50, 100, moving),)
    assert "not resized" in report(made).reason  # type: ignore[union-attr]


@pytest.mark.req("POOL-12.5")
def test_more_than_a_device_has_is_given_only_where_that_is_wished() -> None:
    made = machine(Observed((held("b", percent=70, mib=700),)))
    plain = wanted(percent=70, mib=700)
    assert made.handle(replied(plain)) == ()
    assert "30 % of the device is free" in report(made).reason  # type: ignore[union-attr]
    over = wanted(generation=2, percent=70, mib=700)
    half = over.model_copy(update={"device_percent": 140})
    assert made.handle(replied(half)) == ()
    assert "300 MiB of the device is free" in report(made).reason  # type: ignore[union-attr]
    both = over.model_copy(update={"generation": 3, "device_percent": 140, "device_memory_mib": 1400})
    assert made.handle(replied(both)) == (Start(both),)


@pytest.mark.req("POOL-12.5")
def test_one_slice_never_gets_more_memory_than_the_device_has() -> None:
    made = machine()
    wish = wanted(mib=1001).model_copy(update={"device_memory_mib": 5000})
    assert made.handle(replied(wish)) == ()
    assert "the device has 1000 MiB" in report(made).reason  # type: ignore[union-attr]
