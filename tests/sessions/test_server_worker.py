"""The worker as its shim starts it: a process, its files, its end."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="sessions need PyTorch")

from node_agent.files import write_json  # noqa: E402
from node_agent.sessions import shim_files  # noqa: E402
from node_agent.sessions import worker_loop as service_module  # noqa: E402
from node_agent.sessions.connection.certificate import context_make  # noqa: E402
from node_agent.sessions.connection.listener import Listener  # noqa: E402
from node_agent.sessions.execution.core import Session  # noqa: E402
from node_agent.sessions.worker_loop import Service  # noqa: E402
from tests.sessions.client import Hand  # noqa: E402
from tests.sessions.served import served  # noqa: E402
from tests.sessions.workers import ROOT, TOKEN, workers  # noqa: E402
from weir_wire.wire import SessionFault, SessionLost  # noqa: E402


@pytest.fixture
def make(tmp_path):
    with workers(tmp_path) as made:
        yield made


@pytest.mark.req("POOL-12.2", "POOL-12.3", "POOL-7.6c")
def test_a_session_from_start_to_end(make):
    worker = make("one", is_started=True, memory_mib=4)
    assert worker.wait(lambda status: status["port"])["mounted"] is False
    link = worker.link()
    told = []
    link.on_notice = lambda code, text: told.append((code, text))
    hand = Hand(link)
    a = hand.up(torch.ones(1 << 19))
    status = worker.wait(lambda status: status["attached"] and status["memory_mib"] == 2)
    assert status["mounted"] is True
    # The device time of sessions on cards, which nobody else can tell.
    hand.free(hand.run("aten::neg.default", [a], like=torch.ones(1 << 19)))
    assert worker.wait(lambda status: status["busy_s"] > 0)["operators"] == 1
    assert status["transport"] == "shared-memory"
    assert status["latency_us"] > 0
    assert status["bandwidth_mib_s"] > 0

    with pytest.raises(SessionFault, match="4 MiB"):
        hand.down(hand.up(torch.ones(1 << 20)))
    worker.change(memory_mib=6, compute_percent=50)
    deadline = time.monotonic() + 60
    while link.quota_mib != 6 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert (link.quota_mib, link.compute_percent) == (6, 50)
    assert hand.down(hand.up(torch.ones(1 << 20))).sum() == 1 << 20
    assert hand.down(a).sum() == 1 << 19

    write_json(
        worker.folder / "notice.json", {"reason_code": "run_timeout", "text": "released after 5 s of run"}
    )
    deadline = time.monotonic() + 60
    while not told and time.monotonic() < deadline:
        time.sleep(0.01)
    assert told == [("run_timeout", "released after 5 s of run")]
    worker.terminate()
    assert worker.wait_exit() == 0
    with pytest.raises(SessionLost, match="released after 5 s of run"):
        link.stat()
    link.close()


@pytest.mark.req("POOL-12.11")
def test_idleness_is_told_to_the_terminal_and_a_stat_is_no_use(make, capsys):
    worker = make("idle", idle_timeout_s=1, detach_s=30)
    link = worker.link()
    Hand(link).up(torch.ones(1))
    began = time.monotonic()
    while time.monotonic() - began < 0.6:
        link.stat()
    worker.wait(lambda status: status["idle_s"] >= 1)
    time.sleep(0.1)
    assert "weir: the session used no device for 1 s and is released" in capsys.readouterr().err
    assert 0.9 < time.monotonic() - began < 30
    link.close()
    assert worker.wait(lambda status: status["end"])["end"] == "closed"


@pytest.mark.req("POOL-12.11")
def test_a_script_that_takes_long_to_import_is_not_idle(make):
    worker = make("slow", idle_timeout_s=1, detach_s=1)
    worker.wait(lambda status: status["port"])
    time.sleep(2.5)
    assert worker.status()["idle_s"] == 0
    assert worker.status()["end"] == ""
    attached_at = time.monotonic()
    link = worker.link()
    told: list[str] = []
    link.on_notice = lambda code, text: told.append(code)
    while not told and time.monotonic() - attached_at < 60:
        time.sleep(0.01)
    assert told == ["idle_timeout"], "attached, but using nothing"
    assert time.monotonic() - attached_at >= 0.9
    link.close()


def test_a_session_nobody_ever_attaches_to_ends_all_the_same(monkeypatch):
    monkeypatch.setattr(service_module, "_FIRST_S", 0.2)
    with served(detach_s=0.1) as worker:
        worker.wait(lambda service: service.end == "detached")


@pytest.mark.req("POOL-12.11")
def test_where_nobody_ever_attaches_the_idle_time_out_gives_the_share_back(monkeypatch):
    """`weir run` may be killed before its script has attached."""
    monkeypatch.setattr(service_module, "_IMPORT_S", 0.2)
    with served(detach_s=0.1) as worker:
        worker.service.idle_timeout_s = 0.3
        worker.wait(lambda service: service.end == "detached")


@pytest.mark.req("POOL-12.24", "ELA-1405")
def test_a_worker_killed_is_seen_by_its_own_client_only(make):
    one, two = make("a"), make("b")
    first, second = one.link(resume_s=0.3), two.link()
    a, b = Hand(first).up(torch.ones(3)), Hand(second)
    held = b.up(torch.ones(3))
    one.kill()
    with pytest.raises(SessionLost):
        first.read(a, 12)
    assert b.down(held).tolist() == [1, 1, 1]
    first.close()
    second.close()


@pytest.mark.req("POOL-12.24")
def test_a_kernel_that_trusts_an_index_breaks_its_own_worker_only(make):
    """PyTorch reads some indices unchecked: what that costs, it costs the session that asked for it."""
    one, two = make("wild"), make("tame")
    first, second = one.link(resume_s=0.3), two.link()
    hand, other = Hand(first), Hand(second)
    held = other.up(torch.arange(3.0))
    like = torch.zeros(1, 1, 4, 4)
    far = hand.up(torch.full((1, 1, 2, 2), 1 << 45, dtype=torch.int64))
    gradient, plane, wild = hand.up(torch.ones(1, 1, 2, 2)), hand.up(like), 1 << 40
    pairs = [["l", [["c", n], ["c", n]]] for n in (2, 2, 0, 1)]
    template = {
        "op": "aten::max_pool2d_with_indices_backward.default",
        "args": [["t", 0], ["t", 1], *pairs, ["c", False], ["t", 2]],
        "n_inputs": 3,
        "outs": [[list(like.shape), list(like.stride()), "float32"]],
    }
    hand.batch([hand.template(template), gradient, plane, far, wild])
    with pytest.raises(SessionLost):
        first.read(wild, 64)
    assert one.wait_exit() not in (0, None)
    assert other.down(held).tolist() == [0, 1, 2]
    assert two.exit_code() is None
    first.close()
    second.close()


def test_a_lying_client_cannot_take_the_machine_s_memory(make):
    """A template that says its output is small while the operator allocates without end."""
    worker = make("liar", memory_mib=16)
    link = worker.link()
    hand = Hand(link)
    for size in (1 << 40, 1 << 33):
        lied = hand.run("aten::zeros.default", [], ["l", [["c", size]]], like=torch.zeros(1))
        with pytest.raises(SessionFault) as caught:
            hand.down(lied)
        assert caught.value.faults[0].code in ("out_of_memory", "operator", "mismatch")
        with pytest.raises(SessionFault):
            hand.call("aten::zeros.default", [], ["l", [["c", size]]])
    assert hand.down(hand.up(torch.ones(2))).tolist() == [1, 1]
    assert hand.link.stat()["used_bytes"] == 8
    link.close()


def faults_of(pid: int) -> int:
    """Pages a process had to be given so far, without a read from a disk."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[7])


def test_the_temporaries_of_a_step_lie_where_those_of_the_last_one_lay(make):
    worker = make("heap", memory_mib=256)
    link = worker.link()
    hand = Hand(link)
    page_count, like = 1024, torch.empty(1 << 20)
    held = hand.up(torch.ones(1 << 20))

    def step():
        hand.free(*[hand.run("aten::add.Tensor", [held, held], like=like) for _ in range(40)])
        link.stat()

    for _ in range(4):
        step()
    before = faults_of(worker.pid)
    for _ in range(4):
        step()
    # Given back and faulted in again, each step would take forty times a tensor's pages.
    assert faults_of(worker.pid) - before < 4 * page_count
    link.close()


def test_what_changes_all_the_time_is_written_at_leisure(tmp_path, monkeypatch):
    monkeypatch.setattr(shim_files, "_STATUS_S", 3600.0)
    session = Session("cpu", 16)
    session.operators = 1
    service = Service(session, token=TOKEN)
    watching = shim_files.Watch(tmp_path, service, Listener("127.0.0.1", service, context_make()))
    watching.look()
    status = tmp_path / "status.json"
    first = status.stat().st_ino
    session.memory.used_bytes = 5 << 20
    session.operators = 2
    watching.look()
    assert status.stat().st_ino == first
    service.move = "sending"
    watching.look()
    assert json.loads(status.read_bytes())["memory_mib"] == 5


def test_a_wish_that_says_nothing_is_answered_by_the_exit_code(make):
    worker = make("void", device="no-such-device")
    assert worker.wait_exit() == 2
    assert "cannot be served" in (worker.folder / "worker.err").read_text()


def test_torch_is_not_imported_to_ask_for_it():
    code = (
        "import sys; from node_agent.sessions import available;"
        " print(available.torch_version(), 'torch' in sys.modules)"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'client'}"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert found == [torch.__version__, "False"]


@pytest.mark.req("POOL-12.1", "POOL-7.3b")
def test_a_session_on_a_card_computes_in_its_turn(make):
    """A worker that holds its share itself, as on a card: told of its turn while it runs, it keeps to it."""
    worker = make("one", is_started=True, memory_mib=16, is_paced=True, turn=None)
    link = worker.link()
    hand = Hand(link)
    x = torch.ones(64, 64)
    left = hand.up(x)

    def done_in(seconds):
        done, began = 0, time.monotonic()
        while time.monotonic() < began + seconds:
            for _ in range(32):
                hand.free(hand.run("aten::mm.default", [left, left], like=x))
            hand.down(left)
            done += 1
        return done

    done_in(0.5)
    freely = done_in(2.0)
    worker.change(turn={"begin": 0.0, "end": 0.1})
    time.sleep(0.5)
    by_turns = done_in(2.0)
    assert 0 < by_turns < freely / 2, (by_turns, freely)
    worker.change(turn={"begin": 1.0, "end": 0.0})
    time.sleep(0.5)
    assert 0 < done_in(2.0) < freely / 2, "what is no turn changes nothing"
    worker.change(turn=None)
    time.sleep(0.5)
    assert done_in(2.0) > 1.5 * by_turns
    link.close()
