"""What a share rests on: when a device was last used, what works of one device tell each other, and what a
session's worker may say."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node_agent.files import SliceFolder
from node_agent.runtime import proc
from node_agent.runtime.limits.cgroup import Cgroup
from node_agent.runtime.records.meter import NS
from node_agent.runtime.records.slice_records import SliceSpec
from node_agent.runtime.shim.measures.device_meter import CpuMeter
from node_agent.runtime.shim.measures.idle import IdleWatch
from node_agent.runtime.shim.programs.workload_process import Work
from node_agent.runtime.shim.session import SessionControl
from node_agent.runtime.shim.sharing.device_sharing import Entry, PeerUsage, compute_rate, memory_room
from node_agent.runtime.shim.sharing.share import Share
from node_agent.turn import Turn
from tests.processes.test_edges import spec as program_spec

TENTH = NS // 10


def busy(percent: int, memory_mib: int = 100, used_mib: int = 0, is_busy: int = 1) -> Entry:
    return Entry(1, 1, percent, memory_mib, used_mib, is_busy)


@pytest.mark.req("POOL-12.10")
def test_what_ends_while_it_is_looked_at_is_not_counted_twice() -> None:
    """What it had mapped is among the files in main memory, and no more of the process itself."""
    name = f"/dev/shm/weir-test-{os.getpid()}"
    holds = (
        f"import mmap; f = open({name!r}, 'w+b'); f.truncate(8 << 20); m = mmap.mmap(f.fileno(), 8 << 20)\n"
        "m.write(b'1' * (8 << 20)); print('up', flush=True); input()"
    )

    class Ends:
        """Asked for the files' device, the process is gone at once."""

        @property
        def shm_device(self) -> int:
            process.kill()
            process.wait()
            return os.stat("/dev/shm").st_dev

        def shm_bytes(self) -> int:
            return 8 << 20

    with subprocess.Popen(
        [sys.executable, "-c", holds], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"up\n"
            assert proc.memory_mib([process.pid], limit_mib=9, shared=Ends()) == 8
        finally:
            process.kill()
            Path(name).unlink()


@pytest.mark.req("POOL-12.11")
def test_the_rustle_of_a_waiting_process_is_no_use() -> None:
    watch, used_s = IdleWatch(0), 0.0
    for tick in range(1, 600):
        used_s += 0.0001
        watch.see(tick * TENTH, used_s)
    assert watch.last_use_ns == 0


@pytest.mark.req("POOL-12.11")
@given(st.integers(1, 100), st.integers(2, 50))
def test_use_of_any_share_counts_until_its_last_moment(percent: int, ticks: int) -> None:
    watch, used_s = IdleWatch(0), 0.0
    for tick in range(1, ticks + 1):
        used_s += 0.1 * percent / 100
        watch.see(tick * TENTH, used_s)
    for tick in range(ticks + 1, ticks + 50):
        watch.see(tick * TENTH, used_s)
    needed = 1 + int(0.002 / (0.001 * percent))
    assert watch.last_use_ns == (ticks * TENTH if ticks > needed else watch.last_use_ns)
    assert watch.last_use_ns <= ticks * TENTH


@pytest.mark.req("POOL-12.5")
def test_compute_is_less_than_promised_only_where_more_was_promised_to_those_that_compute() -> None:
    assert compute_rate(70, []) == 70
    assert compute_rate(70, [busy(30)]) == 70
    assert compute_rate(70, [busy(70)]) == 50
    assert compute_rate(70, [busy(70, is_busy=0)]) == 70


@pytest.mark.req("POOL-12.5")
def test_memory_is_what_the_device_still_has_where_more_was_promised() -> None:
    assert memory_room(50, 10, 100, [busy(1, 50, 40)]) is None
    assert memory_room(70, 10, 100, [busy(1, 70, 40)]) == 50
    assert memory_room(70, 10, 100, [busy(1, 70, 20)]) == 60
    assert memory_room(70, 60, 100, [busy(1, 70, 50)]) == 0
    assert memory_room(70, 10, 0, [busy(1, 70, 50)]) is None


@pytest.mark.req("POOL-12.5")
def test_works_of_one_device_see_each_other_while_they_live(tmp_path: Path) -> None:
    one, two = PeerUsage(tmp_path / "dev", "one"), PeerUsage(tmp_path / "dev", "two")
    one.post(compute_percent=70, memory_mib=64, used_mib=5, is_busy=True)
    assert two.others() == [Entry(os.getpid(), one._ticks, 70, 64, 5, 1)]
    assert one.others() == []
    (tmp_path / "dev" / "dead").write_text("1 12345 70 64 5 1")
    (tmp_path / "dev" / "torn").write_text("70 64")
    (tmp_path / "dev" / "binary").write_bytes(b"\xff\xfe\0")
    assert len(two.others()) == 1
    one.close()
    one.close()
    assert two.others() == []


def session_spec(**changes: Any) -> SliceSpec:
    fields = {
        "kind": "session",
        "argv": [],
        "session": {"token": "secret-token"},
        "host": "10.0.0.5",
        "bind": "0.0.0.0",
    }
    return program_spec(**(fields | changes))


def control_on(folder: Path, **changes: Any) -> SessionControl:
    return SessionControl(folder, session_spec(**changes), now_ns=100 * NS)


def say(folder: Path, content: object) -> None:
    part = folder / "status.part"
    part.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    part.replace(folder / "status.json")


@pytest.mark.req("POOL-12.3")
def test_the_worker_is_told_privately_and_only_what_changed(tmp_path: Path) -> None:
    control = control_on(tmp_path, idle_timeout_s=30)
    control.tell({"token": "secret-token"}, 30, 64)
    path = tmp_path / "session.json"
    assert path.stat().st_mode & 0o777 == 0o600
    first = (path.stat().st_ino, json.loads(path.read_text()))
    assert first[1] == {
        "slice_uid": "a", "device": "cpu", "compute_percent": 30, "memory_mib": 64, "token": "secret-token",
        "ticket": None, "move_to": None, "host": "0.0.0.0", "detach_s": 60, "idle_timeout_s": 30,
        "is_paced": False, "turn": None,
    }  # fmt: skip
    control.tell({"token": "secret-token"}, 30, 64)
    assert path.stat().st_ino == first[0]
    control.tell({"token": "secret-token", "move_to": {"port": 1}}, 30, 64)
    assert json.loads(path.read_text())["move_to"] == {"port": 1}
    control.tell({"token": "secret-token"}, 30, 64, Turn(0.25, 0.5))
    assert json.loads(path.read_text())["turn"] == {"begin": 0.25, "end": 0.5}


@pytest.mark.req("POOL-12.3")
def test_a_worker_cannot_make_the_shim_write_elsewhere(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    work = tmp_path / "work"
    work.mkdir()
    (work / ".session.json.part").symlink_to(victim)
    (work / "session.json").symlink_to(victim)
    control_on(work).tell({"token": "secret-token"}, 30, 64)
    assert victim.read_text() == "mine"
    assert not (work / "session.json").is_symlink()


@pytest.mark.req("POOL-12.3")
def test_news_of_the_worker_is_heard_once(tmp_path: Path) -> None:
    control = control_on(tmp_path)
    assert not control.look(100 * NS)
    assert not control.is_ready
    say(tmp_path, {"port": 4000, "fingerprint": "f" * 64, "idle_s": 0.0, "memory_mib": 2.1, "mounted": False})
    assert control.look(101 * NS)
    assert not control.look(101 * NS)
    assert (control.is_ready, control.memory_mib, control.is_mounted) == (True, 3, False)
    say(tmp_path, {"port": 4000, "mounted": True, "operators": 7, "idle_s": 2.0})
    assert control.look(110 * NS)
    assert abs(control.last_use_ns - 108 * NS) < NS // 2
    assert control.report(110 * NS)["host"] == "10.0.0.5"
    assert control.report(110 * NS)["operators"] == 7


@pytest.mark.req("POOL-12.3")
@pytest.mark.parametrize(
    "content",
    [
        b"", b"[1]", b"\xff\0", b"[" * 60_000, b'{"port": 40', {"port": "x", "memory_mib": -5, "idle_s": -1},
        {"port": True, "end": 5, "memory_mib": 1e300, "idle_s": 1e300}, {"a": "x" * 100_000},
    ],
)  # fmt: skip
def test_a_worker_that_talks_nonsense_is_not_believed(tmp_path: Path, content: object) -> None:
    control = control_on(tmp_path)
    say(tmp_path, content)
    control.look(200 * NS)
    assert (control.is_ready, control.end, control.is_mounted) == (False, "", False)
    assert 0 <= control.memory_mib <= 10**9
    assert control.last_use_ns == 100 * NS


@pytest.mark.req("POOL-12.3")
def test_a_status_that_is_no_file_is_passed_over_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "status.json")
    began = time.monotonic()
    assert not control_on(tmp_path).look(0)
    (tmp_path / "status.json").unlink()
    (tmp_path / "status.json").symlink_to("/proc/self/status")
    assert not control_on(tmp_path).look(0)
    assert time.monotonic() - began < 60


@pytest.mark.req("POOL-12.2", "POOL-12.5")
def test_a_control_group_follows_resizing_and_a_full_device(tmp_path: Path) -> None:
    """The kernel's files are plain files here: what is written into them is what counts."""
    group = Cgroup(tmp_path / "group")
    group.path.mkdir()
    (group.path / "memory.current").write_text(str(20 << 20))
    files = SliceFolder(tmp_path / "slice")
    files.work.mkdir(parents=True)
    spec = program_spec(argv=["sleep", "60"], compute_percent=70, memory_mib=64, cores=2,
                        peer_usage_dir=str(tmp_path / "dev"), device_memory_mib=100)  # fmt: skip
    work = Work(spec, files, CpuMeter("d", 2), group)
    try:
        share = Share(spec, work, CpuMeter("d", 2), group, now_ns=0)
        share.begin(0)
        assert (group.path / "cpu.max").read_text() == "140000 100000"
        assert share.resize(50, 32) == ""
        assert (group.path / "memory.max").read_text() == str(32 << 20)
        assert (group.path / "cpu.max").read_text() == "100000 100000"
        assert "20 MiB are in use and 10 MiB asked" in share.resize(50, 10)
        assert (share.compute_percent, share.memory_mib) == (50, 32)

        other = PeerUsage(tmp_path / "dev", "other")
        other.post(compute_percent=75, memory_mib=80, used_mib=70, is_busy=True)
        share.look(10 * NS)
        assert (group.path / "cpu.max").read_text() == "80000 100000"
        soft, _ = resource.prlimit(work.pid, resource.RLIMIT_DATA)
        assert soft == (proc.data_mib(work.pid) + 10) << 20
        assert share.quota_mib == 30
        other.close()
        share.look(20 * NS)
        assert (group.path / "cpu.max").read_text() == "100000 100000"
        assert resource.prlimit(work.pid, resource.RLIMIT_DATA)[0] == resource.RLIM_INFINITY
        assert share.quota_mib == 32
    finally:
        os.kill(work.pid, 9)
        work.exit_code(wait_s=5)
        os.close(work.output_fd)
        os.close(work.exit_fd)
