"""Figures that a program writes of itself, and the command that shows them."""

import json

import pytest
import weir
from typer.testing import CliRunner
from weir.cli.main import app
from weir.cli.work import metrics as command

from node_agent.protocol import metric_bounds
from node_agent.protocol.metric_bounds import FOLDER, VARIABLE
from node_agent.runtime.metrics.reader import MetricsReader
from tests.unit.client.centre import Centre
from weir_wire import metrics as figures

UID = "0a0b0c0d-0000-4000-8000-000000000001"


@pytest.fixture
def pool(monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, str(tmp_path / FOLDER))
    return tmp_path


def test_client_and_node_go_by_the_same():
    for name in ("VARIABLE", "LINE_BYTES", "NAME_CHARACTERS"):
        assert getattr(figures, name) == getattr(metric_bounds, name)


def test_where_no_pool_runs_it_nothing_is_written(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert not weir.log({"loss": 1.0})


def test_what_is_logged_is_what_the_node_reads(pool):
    numpy = pytest.importorskip("numpy")
    assert weir.log({"loss": numpy.float32(0.5), "acc": 1}, step=3)
    assert weir.log({"loss": 0.25})
    found = MetricsReader(pool, print).read(1_000_000)
    assert [(one.name, one.step, one.value) for one in found] == [
        ("loss", 3, 0.5),
        ("acc", 3, 1.0),
        ("loss", 4, 0.25),
    ]
    assert all(one.at > 1e9 for one in found)


@pytest.mark.parametrize(
    ("metrics", "step"),
    [({"": 1}, 0), ({"a\nb": 1}, 0), ({"x" * 121: 1}, 0), ({"step": 1}, 0), ({"a": "high"}, 0), ({"a": [1, 2]}, 0),
     ({"a": 1}, -1), ({"a": 1}, 1.5), ({"a": 1}, True), ({f"{n:0>100}": 1 for n in range(900)}, 0)],
)  # fmt: skip
def test_what_would_be_left_out_is_refused_at_once(pool, metrics, step):
    with pytest.raises(weir.WeirClientError):
        weir.log(metrics, step=step)
    with pytest.raises(ValueError, match=":"):
        figures.log(metrics, step=step)
    assert not (pool / FOLDER).exists()


class Metrics(Centre):
    def workloads(self):
        return []

    def metrics(self, uid, name=""):
        self.asked.append((uid, name))
        return [
            {"name": "loss", "share": 0, "steps": [1, 5], "values": [0.5, 0.25], "times": [1000.0, 1001.0]}
        ]


def shown(monkeypatch, *words):
    centre = Metrics()
    monkeypatch.setattr(command, "caller", lambda ctx: centre)
    answer = CliRunner().invoke(app, ["--json", "metrics", *words])
    assert answer.exit_code == 0, answer.output
    return centre, json.loads(answer.stdout)


def test_a_summary_names_last_least_and_most(monkeypatch):
    centre, (row,) = shown(monkeypatch, UID, "--name", "lo")
    assert centre.asked == [(UID, "lo")]
    assert (row["work"], row["points"], row["step"], row["last"], row["least"]) == (UID, 2, 5, 0.25, 0.25)


def test_points_are_listed_one_by_one(monkeypatch):
    _centre, found = shown(monkeypatch, UID, "--points")
    assert [(row["step"], row["value"]) for row in found] == [(1, 0.5), (5, 0.25)]
