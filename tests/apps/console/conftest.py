"""What reports are tried on: a node of two devices, and work that was there at told seconds of a day."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from apps.fleet.models import Device
from apps.kernel.actor import SYSTEM
from apps.scheduling.models import Allocation, Workload
from apps.scheduling.services.queues.queue_settings import queue_ensure
from apps.tenancy.models import Tenant
from tests.factories.node import SpokenNode

START = datetime(2026, 3, 1, tzinfo=UTC)


def at(seconds):
    return START + timedelta(seconds=seconds)


@pytest.fixture
def node(db):
    node = SpokenNode("n1", devices=2)
    Device.objects.update(created_at=START)
    return node


@pytest.fixture
def work(db):
    """`work("acme", submitted, started, ended, percent=…)`: a workload with an allocation, in seconds from START."""
    queue_ensure(actor=SYSTEM)

    def make(schema, submitted, started=None, ended=None, *, device="n1-cpu0", percent=50, reason="", **more):
        row = Workload.plain.create(
            tenant=Tenant.objects.get(schema_name=schema),
            no=f"W-{uuid4().hex[:8]}",
            order_uid=uuid4(),
            name_en="w",
            name_zh="w",
            queue=queue_ensure(actor=SYSTEM),
            compute_percent=percent,
            memory_mib=1024,
            started_at=None if started is None else at(started),
            ended_at=None if ended is None else at(ended),
            state="pending" if started is None else "running" if ended is None else "finished",
            reason_code=reason,
        )
        Workload.plain.filter(pk=row.pk).update(created_at=at(submitted), **more)
        if started is not None:
            share = Allocation.objects.create(
                workload=row,
                device=Device.objects.get(uid=device),
                compute_percent=percent,
                memory_mib=1024,
                slice_uid=uuid4(),
                released_at=None if ended is None else at(ended),
            )
            Allocation.objects.filter(pk=share.pk).update(created_at=at(started))
        return row

    return make
