"""Work on the host alone: what of the node's processor and memory it gets, and that it takes nothing of a device."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pydantic import ValidationError

from node_agent import node
from node_agent.config import AgentSettings
from node_agent.devices import Found
from node_agent.drivers.base import Device, DriverError, Measurement
from node_agent.drivers.slices.host import HostSlices
from node_agent.machine import DevicesFound, Machine, Observed, Start
from node_agent.node import Node
from node_agent.protocol.messages import DesiredSession, DesiredSlice, DeviceReport, WorkSpec
from node_agent.remote_config import Configured
from node_agent.runtime.limits.cgroup import Cgroup
from node_agent.runtime.limits.cgroup_v1 import CgroupV1, cgroup_v1_make
from node_agent.runtime.records.slice_records import UNBOUNDED_MIB, ShimState, SliceSpec
from node_agent.runtime.shim.measures import kernel_limits
from node_agent.runtime.shim.measures.device_meter import CpuMeter
from node_agent.runtime.shim.measures.kernel_limits import HostLimits, KernelLimits
from node_agent.runtime.shim.programs.work_variables import environment
from node_agent.runtime.shim.programs.workload_process import Work
from node_agent.runtime.shim.sharing.share import Share
from node_agent.runtime.shim.sharing.use import Use, cores_parted, memory_parted
from tests.unit.node_agent.test_machine import held, machine, replied, report, wanted

CARD = Device(uid="GPU-1", index=0, vendor="nvidia", model="A100", memory_mib=40_960, cores=108,
              driver_version="550", torch_device="cuda:0", visible_env={"CUDA_VISIBLE_DEVICES": "0"})  # fmt: skip
SICK = DeviceReport(uid="dev", index=0, vendor="cpu", model="m", memory_mib=1000, cores=2, driver_version="1",
                    simulated=False, health="failed")  # fmt: skip


def asked(uid: str = "h", milli: int = 1500, mib: int = 512, **changes: object) -> DesiredSlice:
    fields = {"slice_uid": uid, "generation": 1, "device_uid": "dev", "compute_percent": 0, "memory_mib": 0,
              "state": "running", "work": WorkSpec(argv=("true",)), "driver": "host",
              "host_cpu_milli": milli, "host_memory_mib": mib}  # fmt: skip
    return DesiredSlice.model_validate(fields | changes)


def spec(milli: int, mib: int, cores: int) -> SliceSpec:
    return SliceSpec("h", 1, "dev", "cpu", cores, 0, 0, ["true"], {}, None, 1, 1, 1000, host_cpu_milli=milli,
                     host_memory_mib=mib)  # fmt: skip


def test_it_starts_beside_a_full_device_and_on_a_failed_one() -> None:
    made = machine(replied(wanted(percent=100, mib=1000)))
    assert made.handle(replied(wanted(percent=100, mib=1000), asked())) == (Start(asked()),)
    sick = Machine()
    sick.handle(DevicesFound((SICK,)))
    assert sick.handle(replied(asked())) == (Start(asked()),)


def test_it_takes_nothing_of_its_device() -> None:
    made = machine(Observed((held("h", percent=0, mib=0),)))
    assert made.handle(replied(asked(), wanted(percent=100, mib=1000))) == (
        Start(wanted(percent=100, mib=1000)),
    )
    assert report(made, "h").state == "running"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "changes",
    [{"host_cpu_milli": 0}, {"memory_mib": 1}, {"compute_percent": 1},
     {"work": WorkSpec(kind="session"), "session": DesiredSession(token="secret-token")}],
)  # fmt: skip
def test_half_a_share_and_work_that_asks_for_nothing_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        asked(**changes)


def test_an_agent_that_knows_nothing_of_the_host_is_told_none() -> None:
    assert not {"host_cpu_milli", "host_memory_mib"} & wanted().model_dump().keys()
    assert asked().model_dump()["host_cpu_milli"] == 1500


@pytest.mark.parametrize(
    ("milli", "mib", "cores", "percent", "limit_mib", "threads"),
    [(1500, 512, 2, 75, 512, "2"), (500, 64, 1, 50, 64, "1"), (4000, 0, 4, 100, UNBOUNDED_MIB, "4")],
)
def test_its_limits_are_what_was_asked_of_the_host(
    milli: int, mib: int, cores: int, percent: float, limit_mib: int, threads: str
) -> None:
    made = spec(milli, mib, cores)
    assert (made.limit_percent, made.limit_mib) == (percent, limit_mib)
    env = environment(made, Path("/home"))
    assert (env["OMP_NUM_THREADS"], env["WEIR_HOST_CPU_MILLI"]) == (threads, str(milli))


def beside(**changes: Any) -> SliceSpec:
    """A share of 30 % of two cores and 256 MiB, with 1.5 cores and 512 MiB of the host."""
    return replace(spec(1500, 512, 2), compute_percent=30, memory_mib=256, **changes)


def test_a_share_of_the_processor_is_held_as_one_with_the_host_beside_it() -> None:
    made = beside()
    assert (made.limit_percent, made.limit_mib, made.threads) == (105, 768, 3)
    plain = replace(made, host_cpu_milli=0, host_memory_mib=0)
    assert (plain.limit_percent, plain.limit_mib, plain.threads) == (30, 256, 1)
    session = beside(kind="session", session={"token": "t"})
    assert (session.limit_percent, session.limit_mib) == (105, 256), "its worker accounts its share"
    card = beside(vendor="nvidia")
    assert (card.limit_percent, card.limit_mib, card.threads) == (30, 256, 2), "a card is not its host"


def test_what_is_used_fills_the_share_and_what_is_beyond_is_the_hosts() -> None:
    made = beside()
    assert cores_parted(made, Use(90.0, 1.8, 600), 30) == (30, 1200)
    assert cores_parted(made, Use(20.0, 0.4, 600), 30) == (20, 0)
    assert cores_parted(made, Use(90.0, 1.8, 600), 15) == (15, 1500), (
        "its share while an oversold device is busy"
    )
    assert cores_parted(made, Use(None, None, 0), 30) == (None, None)
    assert (memory_parted(made, Use(None, None, 600), 256), memory_parted(made, Use(None, None, 9), 256)) == (
        (256, 344),
        (9, 0),
    )
    plain = replace(made, host_cpu_milli=0, host_memory_mib=0)
    assert cores_parted(plain, Use(31.0, 0.62, 9), 30) == (31, None)
    assert memory_parted(plain, Use(None, None, 9), 256) == (9, None)


def test_what_is_used_of_a_card_and_of_its_host_is_measured_apart() -> None:
    card = beside(vendor="nvidia")
    assert cores_parted(card, Use(28.0, 1.2, 9), 30) == (28, 1200)
    assert cores_parted(card, Use(None, 0.25, 9), 30) == (None, 250), "its own service holds it"
    assert memory_parted(card, Use(None, None, 200, 90), 256) == (200, 90)
    host = spec(1500, 512, 2)
    assert (cores_parted(host, Use(50.0, 1.0, 9), 0), memory_parted(host, Use(None, None, 9), 0)) == (
        (50, 1000),
        (9, 9),
    )


def test_one_control_group_holds_share_and_host_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder stands for the group: version 2 is not to be had on every machine that runs this."""
    monkeypatch.setattr(kernel_limits, "cgroup_make", lambda name: Cgroup(tmp_path))
    limits, meter = KernelLimits(), CpuMeter("dev", 2)
    made, state = beside(), ShimState("h", 1, "dev", 30, 256, 1, 1, "boot")
    limits.take(made, meter, state)
    assert limits.host is None
    assert (tmp_path / "memory.max").read_text() == str(768 << 20)
    assert (state.memory_enforced_by, state.compute_enforced_by, state.host_enforced_by) == (
        "cgroup-v2",
        "cgroup-v2",
        "",
    )
    work = SimpleNamespace(cpu_seconds=float, limit_memory=lambda *_: None, memory_mib=lambda limit_mib: 700)
    share = Share(made, cast(Work, work), meter, limits.share, 0)
    share.begin(0)
    assert (tmp_path / "cpu.max").read_text() == "210000 100000"
    assert share.resize(50, 300) == ""
    assert (tmp_path / "cpu.max").read_text() == "250000 100000"
    assert (tmp_path / "memory.max").read_text() == str(812 << 20)
    assert share.resize(50, 128).startswith("700 MiB are in use and 640 MiB asked")
    assert (tmp_path / "memory.max").read_text() == str(812 << 20)


def test_in_an_image_groups_of_version_1_hold_both_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folders stand for the groups, as above."""
    memory, cpu = tmp_path / "memory", tmp_path / "cpu"
    for path in (memory, cpu):
        path.mkdir()
    (memory / "memory.limit_in_bytes").touch()
    monkeypatch.setattr(kernel_limits, "cgroup_make", lambda name: None)
    monkeypatch.setattr(kernel_limits, "cgroup_v1_make", lambda name: CgroupV1(memory, cpu))
    limits, state = KernelLimits(), ShimState("h", 1, "dev", 30, 256, 1, 1, "boot")
    limits.take(beside(image={"root": "/"}), CpuMeter("dev", 2), state)
    assert (memory / "memory.limit_in_bytes").read_text() == str(768 << 20)
    assert (limits.share, limits.host) == (CgroupV1(memory, cpu), None)
    limits.take(beside(), CpuMeter("dev", 2), state)
    assert limits.share is None, "without an image the data limit refuses more in the program's own line"
    assert (state.memory_enforced_by, state.compute_enforced_by) == ("rlimit-data+watch", "duty-cycle")


def test_an_operator_is_told_where_nothing_holds_the_host_beside_a_card(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings = AgentSettings(name="a")
    made = Node(Configured(settings))
    assert made.info().host_held_by == "", "there is no card"
    card = SimpleNamespace(last=(Found(CARD, Measurement()),))
    monkeypatch.setattr(made, "_devices", card)
    monkeypatch.setattr(node, "host_held_by", lambda: "")
    assert [made.info().host_held_by for _ in range(2)] == ["nothing"] * 2
    assert caplog.text.count("the processor that work on a card asked for of its host is not held") == 1


def test_its_devices_are_hidden_and_it_gives_no_shares() -> None:
    driver = HostSlices(AgentSettings(name="a"))
    assert driver.make(asked(), CARD).env == {"CUDA_VISIBLE_DEVICES": ""}
    with pytest.raises(DriverError):
        driver.make(wanted(), CARD)
    with pytest.raises(DriverError):
        driver.resize("h", 10, 100)


def test_groups_of_version_1_lie_under_our_own_and_hold_all_they_are_told(tmp_path: Path) -> None:
    own, mounts = tmp_path / "self", {name: tmp_path / name for name in ("cpu", "memory")}
    for path in (own, mounts["cpu"] / "weir" / "w", mounts["memory"] / "box" / "weir" / "w"):
        path.mkdir(parents=True)
    (own / "mounts").write_text(
        f"cgroup {mounts['cpu']} cgroup rw,cpu,cpuacct 0 0\ncgroup {mounts['memory']} cgroup rw,memory 0 0\n"
    )
    # A container may be told a place that only its host has: then the root that it sees is its own.
    (own / "cgroup").write_text("4:memory:/box\n1:cpu,cpuacct:/docker/only-on-the-host\n0::/\n")
    memory, cpu = mounts["memory"] / "box/weir/w", mounts["cpu"] / "weir/w"
    for path in (memory / "memory.limit_in_bytes", memory / "memory.oom_control", cpu / "cpu.cfs_quota_us"):
        path.touch()
    group = cgroup_v1_make("w", own)
    assert group == CgroupV1(memory, cpu)
    group.limit_memory(64)
    group.limit_cores(1.5)
    assert (memory / "memory.limit_in_bytes").read_text() == str(64 << 20)
    assert (cpu / "cpu.cfs_quota_us").read_text() == "150000"
    (memory / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 0\n")
    assert group.memory_kills() == 0
    (memory / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n")
    assert group.memory_kills() == 1


def test_without_control_groups_the_log_says_what_holds_the_host(tmp_path: Path) -> None:
    (tmp_path / "mounts").write_text("tmpfs /tmp tmpfs rw 0 0\n")
    assert cgroup_v1_make("w", tmp_path) is None
    assert HostLimits(1500, 512, None).describe() == (
        "1.5 cores and 512 MiB of main memory of the host; this node lets nobody write control groups: "
        "main memory is watched, the processor is not held"
    )
    assert HostLimits(1500, 512, None).end([], None) is None
    words = [HostLimits(1500, 512, None), HostLimits(1500, 0, None), HostLimits(1, 1, Cgroup(tmp_path))]
    assert [each.enforced_by for each in words] == ["watch", "nothing", "cgroup-v2"]
