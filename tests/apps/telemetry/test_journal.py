"""What happens is written in the pool's log: each kind of event, each operator's act, with task, node and priority."""

import dataclasses
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from apps.fleet import events as fleet
from apps.fleet.models import Device
from apps.fleet.services.nodes.devices import device_disable
from apps.kernel.actor import SYSTEM
from apps.kernel.events import emit
from apps.scheduling.models import Workload
from apps.scheduling.services.queues.queue_settings import queue_ensure
from apps.telemetry.models import LogEntry
from apps.telemetry.services.alarms import alarm_raise
from portal import activity_log
from tests.factories.node import SpokenNode

pytestmark = [pytest.mark.django_db, pytest.mark.req("POOL-12.18")]
AT = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def task(acme):
    return Workload.plain.create(
        tenant=acme, no="W-7", order_uid=uuid4(), name_en="w", name_zh="w", queue=queue_ensure(actor=SYSTEM),
        compute_percent=10, memory_mib=512, priority=42,
    )  # fmt: skip


def made(kind, task):
    """An event of that kind about the task, its other fields filled by their names and types."""
    alarm = alarm_raise(actor=SYSTEM, key="k", level="major", msgid="Trouble.")
    known = {
        "workload_uid": str(task.uid), "alarm_uid": str(alarm.uid), "level": "major", "schema": "acme",
        "tenant": "acme", "node": "n1", "name": "n1", "text": "it said so", "component": "agent", "no": task.no,
        "priority": task.priority,
    }  # fmt: skip
    values = {"str": "x", "int": 3, "float": 1.5, "bool": False, "datetime": AT, "UUID": uuid4()}
    fields = {}
    for field in dataclasses.fields(kind):
        word = getattr(field.type, "__name__", str(field.type)).split(" ")[0]
        fields[field.name] = known.get(field.name, values.get(word))
    return kind(**fields)


@pytest.mark.parametrize("kind", activity_log.LINES, ids=lambda kind: kind.__name__)
def test_every_kind_of_event_is_one_line(task, kind):
    event = made(kind, task)
    LogEntry.objects.all().delete()
    activity_log.keep(event, SYSTEM)
    row = LogEntry.objects.get()
    assert row.text
    assert row.component
    if getattr(event, "workload_uid", ""):
        assert (row.task, row.tenant, row.priority) == (str(task.uid), "acme", 42)
        assert row.text.startswith("W-7: ")


def test_what_an_agent_says_of_its_task_keeps_level_time_and_node(task):
    event = fleet.NodeSaid(
        node_uid="u", node="n1", at=AT, level="error", component="session_server", slice_uid="s", text="out of memory",
        workload_uid=str(task.uid), tenant="acme",
    )  # fmt: skip
    emit(event, actor=SYSTEM)
    row = LogEntry.objects.get(component="session_server")
    assert (row.level, row.node, row.at, row.text, row.priority) == (
        "error",
        "n1",
        AT,
        "W-7: out of memory",
        42,
    )


def test_a_task_of_which_nothing_is_known_is_still_told():
    activity_log.keep(
        fleet.SliceLost(slice_uid="s", workload_uid=str(uuid4()), node_uid="n", requeue=False), SYSTEM
    )
    assert LogEntry.objects.get().priority is None


def test_what_operators_do_to_the_pool_is_in_the_log_with_who_did_it(operator):
    SpokenNode("n1")
    device = Device.objects.get()
    admin = operator("cluster_administrator")
    device_disable(actor=admin.actor, device_uid=device.uid)
    joined = LogEntry.objects.get(text__startswith="node_join")
    assert (joined.component, joined.node) == ("portal", "n1")
    assert LogEntry.objects.get(text__startswith="device_disable").text.endswith(f"by {admin.actor.name}")
    assert not LogEntry.objects.filter(text__contains="secret").exists()
