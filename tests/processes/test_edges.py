"""The agent's edges: settings, messages, answers of a server, output of a work."""

from __future__ import annotations

import os
import resource
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from node_agent import transport
from node_agent.__main__ import main
from node_agent.config import AgentSettings, CpuPlan
from node_agent.credential import Credential, credential_load, credential_save
from node_agent.drivers.registry import device_drivers_load
from node_agent.files import SliceFolder, read_json, write_json
from node_agent.node import Node
from node_agent.protocol.messages import (
    DesiredSlice,
    JoinRequest,
    LogChunk,
    SyncReply,
    SyncRequest,
    UsageReport,
    WorkSpec,
)
from node_agent.remote_config import Configured
from node_agent.runtime import proc
from node_agent.runtime.process_runtime import ProcessRuntime
from node_agent.runtime.records.slice_records import ShimState, SliceSpec
from node_agent.runtime.records.usage_journal import JournalReader
from node_agent.runtime.shim.output import Output, read_chunk
from node_agent.runtime.shim.programs.work_variables import environment
from tests.unit.node_agent.server import error_body, portal_server

pytestmark = pytest.mark.req("PLAT-OPS-22")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def usage(**changes: Any) -> dict[str, Any]:
    row = {"slice_uid": "a", "seq": 1, "start_at": NOW, "end_at": NOW + timedelta(seconds=1), "memory_mib": 1,
           "compute_percent": 5, "cpu_seconds": 0.5, "memory_peak_mib": 1}  # fmt: skip
    return row | changes


@pytest.mark.parametrize(
    "changes",
    [
        {"seq": 0}, {"end_at": NOW}, {"end_at": NOW + timedelta(seconds=1.5)}, {"compute_percent": 101},
        {"memory_mib": -1}, {"cpu_seconds": float("nan")}, {"slice_uid": "../etc"}, {"slice_uid": ".hidden"},
        {"start_at": datetime(2026, 1, 1)}, {"price": 1},  # noqa: DTZ001
    ],
)  # fmt: skip
def test_an_impossible_interval_is_no_message(changes: dict[str, Any]) -> None:
    assert UsageReport.model_validate(usage()).seq == 1
    with pytest.raises(ValidationError):
        UsageReport.model_validate(usage(**changes))


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (LogChunk, {"slice_uid": "a", "offset": 0, "text": "é" * 40_000}),
        (LogChunk, {"slice_uid": "a", "offset": 0, "text": "a\0b"}),
        (WorkSpec, {"argv": []}),
        (WorkSpec, {"argv": [""]}),
        (WorkSpec, {"argv": ["a"], "env": {"A=B": "x"}}),
        (WorkSpec, {"argv": ["a"], "run_timeout_s": 0}),
    ],
)
def test_messages_are_bounded(kind: Any, fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        kind.model_validate(fields)


def test_messages_are_frozen() -> None:
    with pytest.raises(ValidationError):
        UsageReport.model_validate(usage()).seq = 2  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        ("2x1:4096", CpuPlan(2, 1, 4096)),
        ("1", CpuPlan(1)),
        ("none", CpuPlan(0)),
        ("3:128", CpuPlan(3, 0, 128)),
    ],
)
def test_the_cpu_is_split_as_written(monkeypatch: pytest.MonkeyPatch, text: str, plan: CpuPlan) -> None:
    monkeypatch.setenv("WEIR_AGENT_DEVICES", text)
    monkeypatch.setenv("WEIR_AGENT_LABELS", "zone=a, rack=3")
    assert AgentSettings().devices == plan
    assert AgentSettings().labels == {"zone": "a", "rack": "3"}


@pytest.mark.parametrize(
    ("name", "value"),
    [("SERVER", "localhost"), ("DEVICES", "two"), ("METER_S", "0"), ("NAME", "../x"), ("LABELS", "zone")],
)
def test_a_wrong_setting_is_refused_with_its_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, value: str
) -> None:
    monkeypatch.setenv(f"WEIR_AGENT_{name}", value)
    assert main(["devices"]) == 2
    assert f"WEIR_AGENT_{name}:" in capsys.readouterr().err


def test_devices_keep_their_uid_and_are_not_simulated() -> None:
    two = AgentSettings(name="a", devices=CpuPlan(2, 1, 512))
    first, again = Node(Configured(two)).reports(), Node(Configured(two)).reports()
    other = Node(Configured(AgentSettings(name="b", devices=CpuPlan(1, 1, 512)))).reports()
    cpus = [device for device in first if device.vendor == "cpu"]
    assert [device.uid for device in first] == [device.uid for device in again]
    assert len({device.uid for device in (*first, *other)}) >= 3
    assert [(device.cores, device.memory_mib, device.simulated) for device in cpus] == [(1, 512, False)] * 2
    assert {"cpu", "nvidia"} <= device_drivers_load(two).keys()


def request() -> SyncRequest:
    node = Node(Configured(AgentSettings(name="a")))
    return SyncRequest(protocol=1, boot_id="b", seq=1, sent_at=NOW, node=node.info(), devices=node.reports())


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, error_body("revoked", "This node was revoked.", "Join again."), transport.Unauthorised),
        (403, b"", transport.Unauthorised),
        (426, b"{}", transport.UnknownProtocol),
        (400, b"<html>", transport.RequestRefused),
        (429, b"", transport.NetworkTrouble),
        (500, b"\xff\xff", transport.NetworkTrouble),
        (302, b"", transport.NetworkTrouble),
        (200, b"", transport.NetworkTrouble),
        pytest.param(200, b"[" * 100_000, transport.NetworkTrouble, id="deeply nested"),
        (200, b'{"protocol": 1, "next_sync_s": -1}', transport.NetworkTrouble),
    ],
)
def test_answers_are_told_apart(status: int, body: bytes, kind: type[Exception]) -> None:
    with portal_server() as portal:
        portal.answer = lambda: (status, body)
        client = transport.Transport(portal.url)
        with pytest.raises(transport.TransportError) as caught:
            client.sync("secret-credential", request())
        client.close()
    assert type(caught.value) is kind
    if b"error" in body:
        assert str(caught.value) == "This node was revoked. Join again."


def test_join_and_sync_over_a_real_connection() -> None:
    with portal_server() as portal:
        client = transport.Transport(portal.url)
        message = request()
        join = JoinRequest(protocol=1, join_token="join-token", node=message.node, devices=message.devices)
        reply = client.join(join)
        assert isinstance(client.sync(reply.credential, message), SyncReply)
        assert (portal.joins, portal.syncs) == ([join], [message])
        client.close()


def test_an_absent_server_is_network_trouble() -> None:
    client = transport.Transport("http://127.0.0.1:9")
    with pytest.raises(transport.NetworkTrouble, match="cannot be reached"):
        client.sync("secret-credential", request())
    client.close()


def test_the_credential_is_private_and_bound_to_its_server(tmp_path: Path) -> None:
    kept = Credential("http://a", "node", "secret", "digest")
    credential_save(tmp_path, kept)
    assert stat.S_IMODE((tmp_path / "credential.json").stat().st_mode) == 0o600
    assert credential_load(tmp_path, "http://a") == kept
    assert credential_load(tmp_path, "http://b") is None
    (tmp_path / "credential.json").write_text('{"server"')
    assert credential_load(tmp_path, "http://a") is None


@given(st.lists(st.binary(max_size=200), max_size=8), st.integers(1, 400))
def test_the_log_is_bounded_valid_and_readable_in_pieces(pieces: list[bytes], limit: int) -> None:
    with TemporaryDirectory() as folder:
        check_output(Path(folder) / "log.txt", pieces, limit)


def check_output(path: Path, pieces: list[bytes], limit: int) -> None:
    read_fd, write_fd = os.pipe()
    output = Output(read_fd, path, limit_bytes=limit)
    for piece in pieces:
        os.write(write_fd, piece)
        output.copy()
    os.close(write_fd)
    output.drain()
    os.close(read_fd)
    text = path.read_bytes().decode()
    assert "\0" not in text
    assert len(text.encode()) <= limit + 200
    offset, found = 0, ""
    while (chunk := read_chunk(path, offset, 7)) is not None:
        found, offset = found + chunk, offset + len(chunk.encode())
    assert found == text


def test_a_write_that_takes_a_part_only_is_not_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some file systems take what they like of one write."""
    write, (read_fd, write_fd) = os.write, os.pipe()
    output = Output(read_fd, tmp_path / "log", limit_bytes=90)
    write(write_fd, "é".encode() * 100)
    os.close(write_fd)
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:7]))
    output.drain()
    os.close(read_fd)
    said = "\n[weir] the log has reached its limit of 90 bytes; what follows is dropped\n"
    assert (tmp_path / "log").read_text() == "é" * 45 + said


def test_what_a_full_disk_took_of_the_output_is_told_when_there_is_room_again(tmp_path: Path) -> None:
    """The limit of a file's size refuses as a full disk does: first a part, then all."""
    path, (read_fd, write_fd) = tmp_path / "log", os.pipe()
    output = Output(read_fd, path, limit_bytes=300)

    def write(text: str) -> None:
        os.write(write_fd, text.encode())
        output.copy()

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (51, limits[1]))
    try:
        write("é" * 40)
        write("lost\n")
        output.note("said while the disk is full")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == ("é" * 25).encode()
    write("after\n")
    write("x" * 300)
    write("y")
    os.close(write_fd)
    output.drain()
    os.close(read_fd)
    after = path.read_text().removeprefix("é" * 25).split("\n")
    assert after[1:6] == [
        "[weir] 35 bytes of output are missing here: the node's disk was full",
        "after",
        "",
        "[weir] said while the disk is full",
        "x" * len(after[5]),
    ]
    assert after[6:] == ["[weir] the log has reached its limit of 300 bytes; what follows is dropped", ""]


def spec(**changes: Any) -> SliceSpec:
    fields = {"slice_uid": "a", "generation": 1, "device_uid": "d", "vendor": "cpu", "cores": 4,
              "compute_percent": 30, "memory_mib": 64, "argv": ["true"], "env": {}, "run_timeout_s": None,
              "grace_s": 1, "meter_s": 1, "log_limit_bytes": 100}  # fmt: skip
    return SliceSpec(**(fields | changes))


def test_the_work_sees_its_slice_and_nothing_of_the_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIR_AGENT_JOIN_TOKEN", "secret")
    seen = environment(spec(env={"WEIR_SLICE": "other", "MINE": "1"}), Path("/w"))
    assert (seen["WEIR_SLICE"], seen["MINE"], seen["HOME"]) == ("a", "1", "/w")
    assert seen["OMP_NUM_THREADS"] == "2"
    assert "WEIR_AGENT_JOIN_TOKEN" not in seen


def test_records_of_another_boot_are_lost_and_nothing_is_killed_for_them(tmp_path: Path) -> None:
    settings = AgentSettings(name="a", state_dir=tmp_path)
    runtime = ProcessRuntime(Configured(settings))
    folder = SliceFolder(tmp_path / "slices" / "a")
    folder.path.mkdir()
    own = os.getpid()
    state = ShimState("a", 2, "d", 30, 64, shim_pid=own, shim_start_ticks=proc.start_ticks(own),
                      boot_id="before", state="running", started_at=NOW.isoformat(), work_pid=own)  # fmt: skip
    write_json(folder.state, state.to_json())
    (held,) = runtime.list()
    assert (held.report.state, held.report.reason_code, held.report.generation) == ("failed", "lost", 2)
    assert held.report.ended_at == NOW
    assert (read_json(folder.state) or {})["reason_code"] == "lost"
    runtime.remove("a")
    runtime.remove("a")
    assert runtime.list() == ()


def test_making_a_slice_twice_leaves_the_first_as_it_is(tmp_path: Path) -> None:
    settings = AgentSettings(name="a", state_dir=tmp_path, devices=CpuPlan(1, 1, 512))
    runtime, node = ProcessRuntime(Configured(settings)), Node(Configured(settings))
    device = node.device(node.reports()[0].uid)
    assert device is not None
    wish = DesiredSlice(slice_uid="a", generation=1, device_uid=device.uid, compute_percent=5, memory_mib=64,
                        state="running", work=WorkSpec(argv=("true",)))  # fmt: skip
    runtime.make(wish, device)
    runtime.make(wish.model_copy(update={"compute_percent": 90}), device)
    assert (read_json(tmp_path / "slices" / "a" / "spec.json") or {})["compute_percent"] == 5
    assert runtime.list() == ()
    assert not list((tmp_path / "slices").glob(".*"))


# A shim whose work's namespaces take 0.2 s to build, on a machine that may keep it waiting for as long as it likes.
_SLOW_SHIM = """
import sys, time
from datetime import UTC, datetime
from node_agent.runtime.records import meter
from node_agent.runtime.shim import supervisor

class SlowlyBuilt(supervisor.Work):
    def __init__(self, *given):
        time.sleep(0.2)
        super().__init__(*given)
        print(datetime.now(UTC).isoformat(), flush=True)

meter.GAP_NS, supervisor.Work = 600 * meter.NS, SlowlyBuilt
sys.exit(supervisor.main(sys.argv[1]))
"""


def test_what_it_takes_to_build_the_works_namespaces_is_not_metered(tmp_path: Path) -> None:
    """On a busy node it takes seconds, which nobody may be billed for and which no gap may be made of."""
    folder = SliceFolder(tmp_path / "a")
    folder.work.mkdir(parents=True)
    wanted = spec(argv=[sys.executable, "-c", "import time; time.sleep(2.1)"], lib_dir=str(tmp_path))
    write_json(folder.spec, wanted.to_json())
    # A process of its own: a shim ends all that its process has started, and ours has servers.
    done = subprocess.run(
        [sys.executable, "-c", _SLOW_SHIM, str(folder.path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    state, journal = read_json(folder.state) or {}, JournalReader(folder.journal)
    journal.poll()
    started_at = datetime.fromisoformat(state["started_at"])
    assert started_at >= datetime.fromisoformat(done.stdout.split()[0])
    rows = journal.after(0, 10)
    assert datetime.fromisoformat(rows[0].start_at) == started_at
    vouched = datetime.fromisoformat(rows[-1].end_at) - started_at
    assert (
        timedelta(0)
        <= datetime.fromisoformat(state["ended_at"]) - started_at - vouched
        < timedelta(seconds=1)
    )
