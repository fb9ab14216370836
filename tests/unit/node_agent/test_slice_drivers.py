"""The ways of cutting a card. There is no card here: NVIDIA's library is spoken to at its own boundary."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from node_agent.config import AgentSettings
from node_agent.drivers.base import Device, DriverError
from node_agent.drivers.registry import preferred, sizes_of, slice_drivers_load, supported
from node_agent.drivers.slices.hami import HamiSlices
from node_agent.drivers.slices.mig import MigSlices, profile_choose, start_choose
from node_agent.drivers.slices.mig_card import Instance, Profile
from node_agent.drivers.slices.mps import MpsSlices
from node_agent.protocol.messages import DesiredSlice, WorkSpec

CARD = Device(uid="GPU-1", index=0, vendor="nvidia", model="A100", memory_mib=40_960, cores=108,
              driver_version="550", torch_device="cuda:0", visible_env={"CUDA_VISIBLE_DEVICES": "GPU-1"})  # fmt: skip
CPU = Device(uid="cpu", index=0, vendor="cpu", model="CPU", memory_mib=100, cores=1, driver_version="1")
PROFILES = [Profile(19, 1, 4864), Profile(20, 1, 9856), Profile(14, 2, 9856), Profile(9, 3, 19968),
            Profile(5, 4, 19968), Profile(0, 7, 40192)]  # fmt: skip


def wish(uid: str = "a", percent: int = 30, mib: int = 4096) -> DesiredSlice:
    return DesiredSlice(slice_uid=uid, generation=1, device_uid="GPU-1", compute_percent=percent, memory_mib=mib,
                        state="running", work=WorkSpec(argv=("true",)))  # fmt: skip


@pytest.mark.parametrize(
    ("percent", "mib", "chosen"),
    [(1, 100, 19), (14, 4864, 19), (15, 100, 14), (14, 4865, 20), (42, 100, 9), (43, 100, 5), (58, 1, 0),
     (100, 40192, 0)],
)  # fmt: skip
def test_the_smallest_profile_that_gives_enough(percent: int, mib: int, chosen: int) -> None:
    found = profile_choose(PROFILES, percent, mib)
    assert found is not None
    assert found.id == chosen


@pytest.mark.req("ELA-105")
def test_a_card_says_its_sizes_and_each_is_made_as_it_was_said(tmp_path: Path) -> None:
    sizes = mig(tmp_path, Nvml()).sizes(CARD)
    told = [(size.compute_percent, size.memory_mib, size.count) for size in sizes]
    assert told == [
        (14, 4864, 7),
        (14, 9856, 4),
        (28, 9856, 3),
        (42, 19968, 2),
        (57, 19968, 1),
        (100, 40192, 1),
    ]
    for size in sizes:
        chosen = profile_choose(PROFILES, size.compute_percent, size.memory_mib)
        assert chosen is not None
        assert (100 * chosen.slices // 7, chosen.memory_mib) == (size.compute_percent, size.memory_mib)


def test_a_card_in_mig_mode_runs_work_in_its_instances_alone(tmp_path: Path) -> None:
    drivers = slice_drivers_load(AgentSettings(name="a", state_dir=tmp_path)) | {"mig": mig(tmp_path, Nvml())}
    assert preferred(drivers, CARD) == ("mig",)
    assert set(supported(drivers, CARD)) <= {"mig", "host"}
    assert sizes_of(drivers, CARD) == drivers["mig"].sizes(CARD)
    plain = drivers | {"mig": mig(tmp_path, Nvml(is_enabled=False))}
    assert "time-slice" in preferred(plain, CARD)
    assert sizes_of(plain, CARD) == ()


def test_more_than_the_card_has_is_no_profile() -> None:
    assert profile_choose(PROFILES, 1, 40193) is None
    assert profile_choose([], 1, 1) is None


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(1, 4)), max_size=5), st.integers(1, 4))
def test_no_two_instances_overlap(taken: list[tuple[int, int]], size: int) -> None:
    others = [Instance(number, 0, *place) for number, place in enumerate(taken)]
    found = start_choose([(start, size) for start in range(9 - size)], others)
    if found is not None:
        used = {cell for item in others for cell in range(item.start, item.start + item.size)}
        assert not used & set(range(found[0], found[0] + found[1]))


class NVMLError(Exception):
    pass


class Place(ctypes.Structure):
    _fields_ = [("start", ctypes.c_uint), ("size", ctypes.c_uint)]


class Handle(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint)]


@dataclass
class Nvml:
    """NVML's MIG calls over one card of eight memory places, with the reference arguments of the real ones."""

    is_enabled: bool = True
    made: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    computed: set[int] = field(default_factory=set)
    dies_after_create: bool = False
    NVMLError = NVMLError
    NVML_GPU_INSTANCE_PROFILE_COUNT = 8
    NVML_COMPUTE_INSTANCE_PROFILE_COUNT = 3
    c_nvmlGpuInstancePlacement_t = Place
    c_nvmlGpuInstance_t = c_nvmlComputeInstance_t = Handle
    sizes = {19: 1, 20: 2, 14: 2, 9: 4, 5: 4, 0: 8}

    def nvmlInit(self) -> None:
        pass

    def nvmlDeviceGetHandleByUUID(self, uid: str) -> str:
        if uid != "GPU-1":
            raise NVMLError("not found")
        return uid

    def nvmlDeviceGetMigMode(self, card: str) -> tuple[int, int]:
        return int(self.is_enabled), int(self.is_enabled)

    def nvmlDeviceGetGpuInstanceProfileInfo(self, card: str, number: int) -> Any:
        if number >= len(PROFILES):
            raise NVMLError("not supported")
        profile = PROFILES[number]
        return SimpleNamespace(id=profile.id, sliceCount=profile.slices, memorySizeMB=profile.memory_mib)

    def nvmlDeviceGetGpuInstancePossiblePlacements(
        self, card: str, profile: int, places: Any, count: Any
    ) -> None:
        size = self.sizes[profile]
        starts = range(0, 9 - size, size)
        for index, start in enumerate(starts):
            places[index] = Place(start, size)
        count._obj.value = len(starts)

    def nvmlDeviceGetGpuInstances(self, card: str, profile: int, rows: Any, count: Any) -> None:
        ids = [number for number, item in self.made.items() if item[0] == profile]
        for index, number in enumerate(ids):
            rows[index] = Handle(number)
        count._obj.value = len(ids)

    def nvmlGpuInstanceGetInfo(self, row: Handle) -> Any:
        profile, start, size = self.made[row.id]
        return SimpleNamespace(id=row.id, profileId=profile, placement=Place(start, size))

    def nvmlDeviceCreateGpuInstanceWithPlacement(self, card: str, profile: int, place: Any) -> Handle:
        start, size = place._obj.start, place._obj.size
        taken = {cell for _, first, length in self.made.values() for cell in range(first, first + length)}
        if taken & set(range(start, start + size)):
            raise NVMLError("insufficient resources")
        number = max(self.made, default=0) + 1
        self.made[number] = (profile, start, size)
        if self.dies_after_create:
            raise KeyboardInterrupt
        return Handle(number)

    def nvmlDeviceGetGpuInstanceById(self, card: str, number: int) -> Handle:
        return Handle(number)

    def nvmlGpuInstanceGetComputeInstanceProfileInfo(self, instance: Handle, number: int, engine: int) -> Any:
        if number == 2:
            raise NVMLError("not supported")
        return SimpleNamespace(id=number, sliceCount=number + 1)

    def nvmlGpuInstanceCreateComputeInstance(self, instance: Handle, profile: int) -> Handle:
        assert profile == 1, "the whole instance is meant"
        self.computed.add(instance.id)
        return Handle(instance.id)

    def nvmlGpuInstanceGetComputeInstances(
        self, instance: Handle, profile: int, rows: Any, count: Any
    ) -> None:
        rows[0] = Handle(instance.id)
        count._obj.value = int(instance.id in self.computed)

    def nvmlComputeInstanceDestroy(self, row: Handle) -> None:
        self.computed.remove(row.id)

    def nvmlGpuInstanceDestroy(self, instance: Handle) -> None:
        if instance.id in self.computed:
            raise NVMLError("in use")
        del self.made[instance.id]

    def nvmlDeviceGetMaxMigDeviceCount(self, card: str) -> int:
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(self, card: str, index: int) -> int:
        if index >= len(self.computed):
            raise NVMLError("not found")
        return sorted(self.computed)[index]

    def nvmlDeviceGetGpuInstanceId(self, part: int) -> int:
        return part

    def nvmlDeviceGetUUID(self, part: int) -> str:
        return f"MIG-{part}"


def mig(tmp_path: Path, nvml: Nvml) -> MigSlices:
    return MigSlices(AgentSettings(name="a", state_dir=tmp_path), nvml=nvml)


@pytest.mark.req("POOL-7.3b")
def test_instances_come_and_go_beside_their_neighbours(tmp_path: Path) -> None:
    nvml = Nvml()
    driver = mig(tmp_path, nvml)
    one, two = driver.make(wish("one"), CARD), driver.make(wish("two", 14, 4000), CARD)
    assert (one.env["CUDA_VISIBLE_DEVICES"], two.metered_uid) == ("MIG-1", "MIG-2")
    assert (one.memory_enforced_by, one.compute_enforced_by, one.is_throttled) == ("mig", "mig", False)
    assert driver.make(wish("one"), CARD) == one
    assert len(nvml.made) == 2
    driver.remove("one")
    driver.remove("one")
    assert (nvml.made.keys(), nvml.computed) == ({2}, {2})
    with pytest.raises(DriverError, match="no room"):
        driver.make(wish("all", 100, 100), CARD)
    with pytest.raises(DriverError, match="no MIG profile"):
        driver.make(wish("more", 1, 99_999), CARD)
    with pytest.raises(DriverError, match="keeps its size"):
        driver.resize("two", 50, 1)


def test_an_instance_made_by_an_agent_that_died_is_found_again(tmp_path: Path) -> None:
    nvml = Nvml(dies_after_create=True)
    with pytest.raises(KeyboardInterrupt):
        mig(tmp_path, nvml).make(wish("one"), CARD)
    nvml.dies_after_create = False
    later = mig(tmp_path, nvml)
    assert later.make(wish("one"), CARD).metered_uid == "MIG-1"
    assert len(nvml.made) == 1
    later.remove("one")
    assert nvml.made == {}


def test_mig_needs_a_card_in_mig_mode(tmp_path: Path) -> None:
    assert mig(tmp_path, Nvml()).refusal(CARD) == ""
    assert "nvidia-smi -mig 1" in mig(tmp_path, Nvml(is_enabled=False)).refusal(CARD)
    lost = Device(uid="GPU-9", index=1, vendor="nvidia", model="A", memory_mib=1, cores=1, driver_version="1")
    assert "does not answer" in mig(tmp_path, Nvml()).refusal(lost)
    assert mig(tmp_path, Nvml()).refusal(CPU) == "MIG is NVIDIA's"


@pytest.fixture
def mps_daemon() -> Iterator[Callable[..., None]]:
    """Start a process that goes by such a command line, its number where the daemon leaves it."""
    started = []

    def start(pipes: Path, name: str, *options: str) -> None:
        sleep = "import time; time.sleep(60)"
        process = subprocess.Popen([name, "-c", sleep, *options], executable=sys.executable)
        started.append(process)
        # The kernel has an empty line for a moment after the program was exchanged.
        while not psutil.Process(process.pid).cmdline():
            time.sleep(0.01)
        (pipes / "nvidia-cuda-mps-control.pid").write_text(f"{process.pid}\n")

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.req("POOL-7.3b")
def test_mps_sets_threads_and_memory_where_its_daemon_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mps_daemon: Callable[..., None]
) -> None:
    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", str(tmp_path / "pipes"))
    driver = MpsSlices(AgentSettings(name="a", work_uid_base=0))
    assert "nvidia-cuda-mps-control -d" in driver.refusal(CARD)
    (tmp_path / "pipes").mkdir()
    (tmp_path / "pipes" / "nvidia-cuda-mps-control.pid").write_text(f"{os.getpid()}\n")
    assert driver.refusal(CARD) != "", "another process has its number"
    mps_daemon(tmp_path / "pipes", "nvidia-cuda-mps-control", "-d")
    assert driver.refusal(CARD) == ""
    assert driver.refusal(CPU) != ""
    setting = driver.make(wish(), CARD)
    assert setting.env["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] == "30"
    assert setting.env["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] == "0=4096M"
    assert setting.env["CUDA_VISIBLE_DEVICES"] == "GPU-1"
    assert (setting.memory_enforced_by, setting.is_throttled) == ("mps", False)
    with pytest.raises(DriverError):
        driver.resize("a", 1, 1)


def test_mps_for_works_of_several_users_needs_its_server_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mps_daemon: Callable[..., None]
) -> None:
    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", str(tmp_path))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    driver = MpsSlices(AgentSettings(name="a"))
    mps_daemon(tmp_path, "/usr/bin/nvidia-cuda-mps-control", "-d")
    assert "-multiuser-server" in driver.refusal(CARD)
    mps_daemon(tmp_path, "nvidia-cuda-mps-control", "-d", "-multiuser-server")
    assert driver.refusal(CARD) == ""


@pytest.mark.req("POOL-7.3b")
def test_hami_needs_its_library_and_says_its_limits(tmp_path: Path) -> None:
    library = tmp_path / "libvgpu.so"
    driver = HamiSlices(AgentSettings(name="a", state_dir=tmp_path, hami_library=library))
    assert str(library) in driver.refusal(CARD)
    library.touch()
    assert (driver.refusal(CARD), driver.refusal(CPU)) == ("", "HAMi-core stands before CUDA only")
    env = driver.make(wish(), CARD).env
    assert (env["LD_PRELOAD"], env["CUDA_DEVICE_MEMORY_LIMIT_0"]) == (str(library), "4096m")
    assert (env["CUDA_DEVICE_SM_LIMIT"], env["CUDA_VISIBLE_DEVICES"]) == ("30", "GPU-1")


def test_what_a_device_supports_is_found_out(tmp_path: Path) -> None:
    drivers = slice_drivers_load(AgentSettings(name="a", state_dir=tmp_path))
    assert list(drivers) == ["cpu", "time-slice", "session", "mps", "mig", "hami", "host"]
    assert supported(drivers, CPU)[0] == "cpu"
    on_card = supported(drivers, CARD)
    assert "cpu" not in on_card
    assert "time-slice" in on_card
    assert [name for name in ("mps", "mig", "hami") if drivers[name].is_verified] == ["mps"]
