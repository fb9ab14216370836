"""What work writes of itself, as nodes send it: kept by step, bounded, and nobody else's."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.fleet import events
from apps.fleet.models import MetricSeries
from apps.fleet.selectors import metric_series_list
from apps.fleet.services.nodes import metrics
from apps.fleet.services.nodes.metrics import POINTS_PER_SERIES, metrics_prune, steps_thinned
from apps.fleet.services.tenant_data import tenant_slices_forget
from apps.kernel.actor import SYSTEM
from node_agent.protocol.metrics import METRICS_PER_SYNC, MetricBatch
from node_agent.protocol.metrics import MetricSeries as Written
from tests.apps.fleet.agent import Agent, desire, report

pytestmark = pytest.mark.django_db


def written(name, *points):
    steps, values = zip(*points, strict=True)
    return Written(name=name, steps=steps, values=values, times=[1000.0 + step for step in steps])


def batch(row, seq, *series):
    return MetricBatch(slice_uid=str(row.uid), seq=seq, series=series)


def points(row, name="loss"):
    series = MetricSeries.plain.get(workload_uid=row.workload_uid, name=name)
    assert len(series.steps) == len(series.values) == len(series.times)
    return list(zip(series.steps, series.values, strict=True))


def test_points_are_kept_by_step_and_acknowledged(node, acme, heard):
    row = desire(acme)
    node.sync()
    reply = node.sync(metrics=[batch(row, 1, written("loss", (1, 0.5), (2, 0.25)), written("acc", (1, 0.9)))])
    assert reply.metric_acks == {str(row.uid): 1}
    # The same again, and a step that is written once more after a later one.
    message = [
        batch(row, 2, written("loss", (1, 0.75), (3, 0.125))),
        batch(row, 1, written("loss", (1, 0.5), (2, 0.25))),
    ]
    assert node.sync(metrics=message).metric_acks == {str(row.uid): 2}
    assert points(row) == [(1, 0.75), (2, 0.25), (3, 0.125)]
    assert points(row, "acc") == [(1, 0.9)]
    assert [event.workload_uid for event in heard(events.MetricsGrew)] == [str(row.workload_uid)] * 2
    assert [one.name for one in metric_series_list(workload_uids=[row.workload_uid])] == ["acc", "loss"]
    assert [one.name for one in metric_series_list(workload_uids=[row.workload_uid], name="LO")] == ["loss"]


def test_a_node_that_sends_none_is_told_nothing_of_them(node, acme):
    assert "metric_acks" not in node.send(node.message()).json()


def test_a_slice_is_forgotten_only_once_its_metrics_are_here(node, acme):
    row = desire(acme)
    node.sync()
    ended = report(row, "exited", reason_code="completed")
    assert node.sync(slices=[ended], metrics=[batch(row, 1, written("loss", (1, 1.0)))]).forget == ()
    other = [batch(row, seq, written("loss", (seq, 1.0))) for seq in range(2, METRICS_PER_SYNC + 2)]
    assert node.sync(slices=[ended], metrics=other).forget == ()
    assert node.sync(slices=[ended]).forget == (str(row.uid),)


def test_what_another_node_or_nobody_runs_is_acknowledged_and_not_kept(node, acme):
    row, stranger = desire(acme), Agent("n2")
    reply = stranger.sync(metrics=[batch(row, 1, written("loss", (1, 1.0)))])
    assert reply.metric_acks == {str(row.uid): 1}
    assert not MetricSeries.plain.exists()


def test_names_of_a_workload_are_bounded(node, acme, monkeypatch):
    monkeypatch.setattr(metrics, "NAMES_PER_WORK", 3)
    row = desire(acme)
    node.sync()
    node.sync(metrics=[batch(row, 1, written("a", (1, 1.0)), written("b", (1, 1.0)))])
    node.sync(metrics=[batch(row, 2, *(written(name, (2, 2.0)) for name in "abcdef"))])
    assert sorted(MetricSeries.plain.values_list("name", flat=True)) == ["a", "b", "c"]
    assert points(row, "a") == [(1, 1.0), (2, 2.0)]


def test_a_long_series_keeps_its_ends_and_an_even_rest(node, acme):
    row = desire(acme)
    node.sync()
    for seq in range(1, 4):
        steps = range((seq - 1) * 900, seq * 900)
        node.sync(metrics=[batch(row, seq, written("loss", *((step, float(step)) for step in steps)))])
    kept = points(row)
    assert POINTS_PER_SERIES / 2 <= len(kept) <= POINTS_PER_SERIES
    assert (kept[0], kept[-1]) == ((0, 0.0), (2699, 2699.0))
    assert all(step == value for step, value in kept)


@pytest.mark.parametrize("steps", [[5], list(range(100)), [0, 2**53], [0, *range(10**9, 10**9 + 200)]])
def test_thinning_keeps_the_ends_in_order(steps):
    kept = steps_thinned(steps, 10)
    assert len(kept) <= 10
    assert (kept[0], kept[-1]) == (steps[0], steps[-1])
    assert kept == sorted(set(kept))


@pytest.mark.parametrize(
    "series",
    [
        {"name": "", "steps": [1], "values": [1.0], "times": [1.0]},
        {"name": "a\nb", "steps": [1], "values": [1.0], "times": [1.0]},
        {"name": "a", "steps": [], "values": [], "times": []},
        {"name": "a", "steps": [1, 2], "values": [1.0], "times": [1.0]},
        {"name": "a", "steps": [-1], "values": [1.0], "times": [1.0]},
        {"name": "a", "steps": [2**60], "values": [1.0], "times": [1.0]},
        {"name": "a", "steps": [1], "values": ["NaN"], "times": [1.0]},
        {"name": "a", "steps": [1], "values": [1.0], "times": [-1.0]},
        {"name": "a", "steps": list(range(2001)), "values": [1.0] * 2001, "times": [1.0] * 2001},
    ],
)
def test_a_node_that_sends_nonsense_is_refused(node, acme, series):
    row = desire(acme)
    node.sync()
    message = node.message().model_dump(mode="json")
    message["metrics"] = [{"slice_uid": str(row.uid), "seq": 1, "series": [series]}]
    assert node.client.post(
        "/api/agent/v1/sync",
        message,
        "application/json",
        headers={"Authorization": f"Bearer {node.credential}"},
    ).status_code in (400, 422)
    assert not MetricSeries.plain.exists()


def test_old_series_go_and_those_of_a_tenant_that_goes(node, acme):
    row, other = desire(acme), desire(acme)
    node.sync()
    node.sync(metrics=[batch(row, 1, written("loss", (1, 1.0))), batch(other, 1, written("loss", (1, 1.0)))])
    MetricSeries.plain.filter(workload_uid=row.workload_uid).update(
        updated_at=timezone.now() - timedelta(days=401)
    )
    assert metrics_prune(actor=SYSTEM) == 1
    assert [one.workload_uid for one in MetricSeries.plain.all()] == [other.workload_uid]
    tenant_slices_forget(actor=SYSTEM, tenant=acme)
    assert not MetricSeries.plain.exists()
