"""Metrics that work writes of itself, as its shim reads them: JSON lines and TensorBoard files, honest and hostile."""

import json
import os
import struct
import sys
from itertools import pairwise

import pytest

from node_agent.files import SliceFolder
from node_agent.protocol.metric_bounds import FOLDER, NAMES_PER_WORK, POINTS_PER_BATCH, STEP_MAX
from node_agent.protocol.metrics import MetricBatch
from node_agent.runtime.metrics import reader as reader_module
from node_agent.runtime.metrics.event_files import NoEventFile, records_read
from node_agent.runtime.metrics.points import Point, thinned
from node_agent.runtime.metrics.reader import PIECE_BYTES, MetricsReader
from node_agent.runtime.metrics.sending import batch_oldest, batches_drop
from node_agent.runtime.metrics.spool import WAITING_MOST, MetricsSpool
from node_agent.runtime.records.meter import NS
from node_agent.runtime.shim.measures import metrics as shim_module
from node_agent.runtime.shim.measures.metrics import POINTS_AT_LAST, SEND_S, MetricsControl

MOST = 10 * PIECE_BYTES


@pytest.fixture
def home(tmp_path):
    (tmp_path / "home" / FOLDER).mkdir(parents=True)
    return tmp_path / "home"


@pytest.fixture
def notes():
    return []


@pytest.fixture
def reader(home, notes):
    return MetricsReader(home, notes.append)


@pytest.fixture
def folder(tmp_path):
    return SliceFolder(tmp_path)


@pytest.fixture
def control(home, folder, notes):
    return MetricsControl(home, None, folder.metrics, notes.append)


def sent(folder):
    """Of each batch on its way its series by name, in order; they are on their way no more."""
    found = []
    while (batch := batch_oldest(folder.metrics, "slice")) is not None:
        found.append({series.name: series for series in batch.series})
        batches_drop(folder.metrics, batch.seq)
    return found


def lines(home, *entry, name="a.jsonl"):
    with (home / FOLDER / name).open("a") as file:
        file.writelines(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in entry)


def seen(points):
    return [(point.name, point.step, point.value) for point in points]


def test_lines_are_read_as_they_come(home, reader):
    lines(home, {"step": 1, "loss": 0.5, "time": 1000.5}, {"step": 2, "loss": 0.25, "acc": 1})
    first = reader.read(MOST)
    assert seen(first) == [("loss", 1, 0.5), ("loss", 2, 0.25), ("acc", 2, 1.0)]
    assert first[0].at == 1000.5
    assert reader.read(MOST) == []
    lines(home, {"loss": 0.125})
    assert seen(reader.read(MOST)) == [("loss", 3, 0.125)], "without a step it is the next"


def test_a_line_that_is_half_written_waits_for_its_rest(home, reader):
    path = home / FOLDER / "a.jsonl"
    path.write_text('{"step": 1, "lo')
    assert reader.read(MOST) == []
    with path.open("a") as file:
        file.write('ss": 2}\n')
    assert seen(reader.read(MOST)) == [("loss", 1, 2.0)]


@pytest.mark.parametrize(
    "line",
    [
        "no json",
        "[1, 2]",
        "[" * 50_000,
        '{"loss": "high"}',
        '{"loss": true}',
        '{"loss": null}',
        '{"loss": {"deep": 1}}',
        '{"": 1}',
        '{"a\\u0000b": 1}',
        '{"a\\nb": 1}',
        json.dumps({"x" * 121: 1}),
        '{"loss": %s}' % ("9" * 5000),
        '{"loss": 1, "pad": "%s"}' % ("x" * 70_000),
        "\xff\xfe",
    ],
)
def test_what_is_no_metric_costs_only_itself(home, reader, line):
    path = home / FOLDER / "a.jsonl"
    path.write_bytes(line.encode("latin-1") + b'\n{"step": 7, "fine": 1}\n')
    found = reader.read(MOST)
    assert seen(found) == [("fine", 7, 1.0)]


def test_a_step_or_a_time_that_is_none_is_left_out(home, reader):
    lines(home, '{"step": -1, "time": -5, "loss": 1}', '{"step": "two", "time": 1e300, "loss": 2}')
    found = reader.read(MOST)
    assert [point.step for point in found] == [0, 1]
    assert all(point.at > 1e9 for point in found)


def test_what_is_no_finite_number_is_said_once_and_left_out(home, reader, notes):
    lines(home, '{"step": 1, "loss": NaN}', '{"step": 2, "loss": Infinity}', '{"step": 3, "loss": 1e999}')
    lines(home, {"step": 4, "loss": 1})
    assert seen(reader.read(MOST)) == [("loss", 4, 1.0)]
    assert len(notes) == 1
    assert "step 1" in notes[0]


def record(event: bytes) -> bytes:
    return struct.pack("<Q4x", len(event)) + event + bytes(4)


def scalar_event(tag: bytes, step: int, tensor: bytes) -> bytes:
    """An event as TensorFlow 2 writes scalars: a tensor without dimensions."""
    value = b"\x0a" + bytes([len(tag)]) + tag + b"\x42" + bytes([len(tensor)]) + tensor
    summary = b"\x0a" + bytes([len(value)]) + value
    return b"\x10" + bytes([step]) + b"\x2a" + bytes([len(summary)]) + summary


def test_scalars_of_tensorflow_2_are_read():
    content = struct.pack("<f", 2.5)
    data = record(scalar_event(b"loss", 3, b"\x08\x01\x22" + bytes([len(content)]) + content))
    points, taken = records_read(data, len(data))
    assert seen(points) == [("loss", 3, 2.5)]
    assert taken == len(data)


def test_a_tensor_that_is_no_single_number_is_none():
    content = struct.pack("<2f", 2.5, 3.5)
    data = record(scalar_event(b"loss", 3, b"\x08\x01\x22" + bytes([len(content)]) + content))
    assert records_read(data, len(data)) == ([], len(data))


def test_a_long_record_is_passed_over_unread_and_a_half_one_waited_for(home, reader):
    path = home / FOLDER / "events.out.tfevents.1"
    long = record(bytes(300_000))
    small = record(scalar_event(b"loss", 3, b"\x08\x01\x2d" + struct.pack("<f", 1.5)))
    path.write_bytes(long[:200_000])
    assert reader.read(MOST) == []
    path.write_bytes(long + small[:9])
    assert reader.read(MOST) == []
    path.write_bytes(long + small)
    assert seen(reader.read(MOST)) == [("loss", 3, 1.5)]


@pytest.mark.parametrize("data", [b"\xff" * 100, record(b"\xff" * 40), record(b"\x0a\xff\xff\xff\x7f")])
def test_what_is_no_file_of_tensorboard_s_is_said_and_left(home, reader, notes, data):
    with pytest.raises(NoEventFile):
        records_read(data, len(data))
    (home / FOLDER / "x.tfevents").write_bytes(data)
    assert reader.read(MOST) == [] == reader.read(MOST)
    assert len(notes) == 1


def test_no_link_is_followed_and_nothing_waited_for(home, reader, tmp_path):
    secret = tmp_path / "secret.jsonl"
    secret.write_text('{"loss": 1}\n')
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "b.jsonl").write_text('{"loss": 1}\n')
    (home / FOLDER / "link.jsonl").symlink_to(secret)
    (home / FOLDER / "below").symlink_to(tmp_path / "folder")
    os.mkfifo(home / FOLDER / "pipe.jsonl")
    (home / FOLDER / "folder.jsonl").mkdir()
    assert reader.read(MOST) == []
    (home / FOLDER).rename(home / "elsewhere")
    (home / FOLDER).symlink_to(tmp_path / "folder")
    assert reader.read(MOST) == []


def test_folders_are_read_so_deep_and_no_deeper(home, reader):
    deep = home / FOLDER
    for level in range(7):
        lines(home, {"step": 0, "at": level}, name=str(deep.relative_to(home / FOLDER) / "a.jsonl"))
        deep = deep / "d"
        deep.mkdir()
    assert sorted(point.name.count("/") for point in reader.read(MOST)) == [0, 1, 2, 3, 4]


def test_names_and_files_are_bounded(home, reader, notes, monkeypatch):
    lines(home, {f"m{number}": number for number in range(NAMES_PER_WORK + 5)})
    assert len(reader.read(MOST)) == NAMES_PER_WORK
    assert len(notes) == 1
    monkeypatch.setattr(reader_module, "FILES_EVER", 3)
    for number in range(6):
        lines(home, {"m0": 1}, name=f"f{number}.jsonl")
    reader.read(MOST)
    assert len(reader._files) == 3
    assert len(notes) == 2


def test_one_look_reads_so_much_and_each_file_in_turn(home, reader):
    many = [{"step": step, "loud": 1} for step in range(20_000)]
    lines(home, *many, name="a.jsonl")
    lines(home, {"step": 1, "quiet": 1}, name="b.jsonl")
    found = {point.name for _turn in range(2) for point in reader.read(PIECE_BYTES)}
    assert found == {"loud", "quiet"}
    assert reader.has_more


def test_a_file_written_anew_is_read_anew(home, reader):
    lines(home, {"step": 1, "loss": 1}, {"step": 2, "loss": 2})
    reader.read(MOST)
    (home / FOLDER / "a.jsonl").write_text('{"step": 1, "loss": 9}\n')
    assert seen(reader.read(MOST)) == [("loss", 1, 9.0)]


def test_fewer_points_are_taken_evenly_with_their_ends():
    points = [Point("loss", step, 0.0, 1.0) for step in range(1000)]
    steps = [point.step for point in thinned(points, 4)]
    assert steps == [0, 333, 666, 999]


def test_what_is_on_its_way_is_sent_in_batches_and_dropped_once_it_is_there(tmp_path):
    spool = MetricsSpool(tmp_path / "metrics")
    spool.add([Point(f"m{n}", step, 1.0, 5.0) for n in range(9) for step in range(500)])
    first = batch_oldest(tmp_path / "metrics", "slice")
    assert isinstance(first, MetricBatch)
    assert first.seq == 1
    assert sum(len(series.steps) for series in first.series) == POINTS_PER_BATCH
    sent = 0
    while (batch := batch_oldest(tmp_path / "metrics", "slice")) is not None:
        sent += sum(len(series.steps) for series in batch.series)
        batches_drop(tmp_path / "metrics", batch.seq)
    assert sent == 9 * 500


def test_a_batch_that_cannot_be_sent_is_dropped_and_the_agent_s_log_says_so(tmp_path, caplog):
    folder = tmp_path / "metrics"
    MetricsSpool(folder).add([Point("m", 1, 1.0, 5.0)])
    (folder / "1.json").rename(folder / "2.json")
    (folder / "1.json").write_text('{"series": 3}')
    batch = batch_oldest(folder, "slice")
    assert batch is not None
    assert batch.seq == 2
    assert "metrics of slice slice are dropped, batch 1: series" in caplog.text


def test_where_nobody_sends_nothing_more_is_read_until_the_end(home, folder, control):
    for step in range(WAITING_MOST + 5):
        lines(home, {"step": step, "loss": step})
        control.look(int(step * SEND_S * NS))
    assert len(list(folder.metrics.iterdir())) == WAITING_MOST
    control.finish()
    assert sent(folder)[-1]["loss"].steps == tuple(range(WAITING_MOST, WAITING_MOST + 5))


def test_what_is_found_is_sent_every_ten_seconds_in_one_batch(home, folder, control):
    for second in range(21):
        lines(home, *({f"m{n}": second} for n in range(NAMES_PER_WORK) for _again in range(3)))
        control.look(second * NS)
    batches = sent(folder)
    assert len(batches) == 3
    assert [len(batch) for batch in batches] == [NAMES_PER_WORK] * 3
    assert batches[-1]["m7"].values[-1] == 20


def test_at_the_end_so_many_points_of_each_are_kept_evenly(home, folder, control):
    lines(home, *({"step": step, "loss": 1} for step in range(25_000)))
    control.finish()
    (batch,) = sent(folder)
    steps = batch["loss"].steps
    assert len(steps) == POINTS_AT_LAST
    assert (steps[0], steps[-1]) == (0, 24_999)
    assert max(after - before for before, after in pairwise(steps)) < 200


def test_the_end_waits_only_so_long(home, folder, control, notes, monkeypatch):
    monkeypatch.setattr(shim_module, "LAST_S", 0.0)
    lines(home, {"step": 1, "loss": 1})
    control.finish()
    assert sent(folder) == []
    assert len(notes) == 1


def test_the_end_reads_all_files_where_one_look_cannot(home, folder, control, notes):
    for number in range(5):
        lines(home, *({"step": step, f"m{number}": 1} for step in range(3_000)), name=f"{number}.jsonl")
    control.finish()
    assert {name: one.steps[-1] for batch in sent(folder) for name, one in batch.items()} == {
        f"m{number}": 2_999 for number in range(5)
    }
    assert notes == []


def test_a_record_that_never_becomes_whole_is_not_read_again_and_again(home, reader):
    (home / FOLDER / "x.tfevents").write_bytes(struct.pack("<Q4x", 2**39) + bytes(1000))
    reader.read(MOST)
    assert reader.read(0) == []
    assert not reader.has_more


def test_one_look_goes_through_so_many_entries_of_all_folders_together(home, reader, notes, monkeypatch):
    monkeypatch.setattr(reader_module, "ENTRIES", 50)
    lines(home, {"step": 1, "loss": 1})
    for number in range(900):
        (home / FOLDER / str(number % 30) / str(number)).mkdir(parents=True)
    opened, real = [], os.open
    monkeypatch.setattr(os, "open", lambda *args, **more: opened.append(args) or real(*args, **more))
    assert seen(reader.read(MOST)) == [("loss", 1, 1.0)]
    assert reader.read(MOST) == []
    assert len(opened) <= 2 * (50 + 2)
    assert len(notes) == 1
    assert "more than 50 files and folders" in notes[0]


def test_files_beyond_those_that_are_read_are_said_once(home, reader, notes, monkeypatch):
    monkeypatch.setattr(reader_module, "FILES", 3)
    for number in range(6):
        lines(home, {f"m{number}": 1}, name=f"{number}.jsonl")
    before = len(os.listdir("/proc/self/fd"))
    assert len(reader.read(MOST) + reader.read(MOST)) == 3
    assert len(notes) == 1
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_step_after_the_last_that_there_is_stays_one(home, folder, control):
    lines(home, {"step": STEP_MAX, "loss": 1}, {"loss": 2})
    control.finish()
    assert sent(folder)[0]["loss"].steps == (STEP_MAX, STEP_MAX)


def test_a_name_that_is_no_text_costs_only_its_record(home, reader, notes):
    value = b"\x08\x01\x2d" + struct.pack("<f", 1.5)
    records = [record(scalar_event(tag, 3, value)) for tag in (b"\xff\xfe", b"loss")]
    (home / FOLDER / "x.tfevents").write_bytes(b"".join(records))
    assert seen(reader.read(MOST)) == [("loss", 3, 1.5)]
    assert notes == []


def test_where_protobuf_is_missing_lines_are_read_all_the_same(home, reader, notes, monkeypatch):
    monkeypatch.setitem(sys.modules, "node_agent.runtime.metrics.event_files", None)
    (home / FOLDER / "x.tfevents").write_bytes(record(b""))
    lines(home, {"step": 1, "loss": 1}, name="y.jsonl")
    assert seen(reader.read(MOST)) == [("loss", 1, 1.0)]
    assert len(notes) == 1
    assert "protobuf" in notes[0]


def test_what_nobody_foresaw_ends_the_reading_and_not_the_work(home, folder, control, notes, monkeypatch):
    lines(home, {"step": 1, "loss": 1})
    control.look(0)
    lines(home, {"step": 2, "loss": 1})
    control.look(NS)

    def fails(*_args):
        raise RuntimeError("unforeseen")

    monkeypatch.setattr(MetricsReader, "read", fails)
    control.look(2 * NS)
    control.look(3 * NS)
    control.finish()
    assert len(notes) == 1
    assert "RuntimeError: unforeseen" in notes[0]
    assert [batch["loss"].steps for batch in sent(folder)] == [(1,), (2,)]
