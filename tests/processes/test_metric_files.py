"""Metrics that work writes: the files of a real TensorBoard writer, and how much is held of a long one."""

import time
import tracemalloc

import pytest
from tensorboardX import SummaryWriter

from node_agent.files import SliceFolder
from node_agent.protocol.metric_bounds import FOLDER
from node_agent.runtime.metrics.reader import PIECE_BYTES, MetricsReader
from node_agent.runtime.metrics.sending import batch_oldest
from node_agent.runtime.shim.measures import metrics as shim_module
from node_agent.runtime.shim.measures.metrics import MetricsControl

MOST = 10 * PIECE_BYTES


@pytest.fixture
def home(tmp_path):
    (tmp_path / "home" / FOLDER).mkdir(parents=True)
    return tmp_path / "home"


@pytest.fixture
def notes():
    return []


def seen(points):
    return [(point.name, point.step, point.value) for point in points]


def soon(reader, writer):
    """What is read of a file that a thread of the writer writes."""
    found, end = [], time.monotonic() + 5
    while not found and time.monotonic() < end:
        writer.flush()
        found = seen(reader.read(MOST))
    return found


def test_tensorboard_s_own_files_are_read_as_they_grow(home, notes):
    reader = MetricsReader(home, notes.append)
    folder = home / FOLDER / "train"
    with SummaryWriter(logdir=str(folder)) as writer:
        writer.add_scalar("loss", 0.5, 1)
        writer.add_histogram("weights", [1.0, 2.0], 1)
        writer.add_text("words", "many", 1)
        assert soon(reader, writer) == [("train/loss", 1, 0.5)]
        writer.add_scalar("loss", 0.25, 2)
        assert soon(reader, writer) == [("train/loss", 2, 0.25)]
    assert notes == []


def test_the_end_holds_no_more_points_than_it_keeps(tmp_path, home, notes, monkeypatch):
    monkeypatch.setattr(shim_module, "LOOK_BYTES", PIECE_BYTES)
    monkeypatch.setattr(shim_module, "LAST_S", 60.0)
    (home / FOLDER / "a.jsonl").write_text('{"a":1}\n' * 50_000)
    folder = SliceFolder(tmp_path).metrics
    tracemalloc.start()
    MetricsControl(home, None, folder, notes.append).finish()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 7 * 2**20
    assert batch_oldest(folder, "slice").series[-1].steps[-1] == 49_999
