"""What a job used at a real engine comes on its tenant's bill, by the engine's own accounts."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from apps.billing.models import LedgerLeg
from apps.billing.services.bills import bill_make
from apps.centers.models import CenterUsage, RemoteTask, ResourceSpec, SpecOffer
from apps.centers.services.centers import center_join
from apps.jointcloud.models import Settlement
from apps.jointcloud.services.accounting import money_sweep
from apps.jointcloud.services.placing import cycle_run, jobs_sweep
from apps.jointcloud.services.submission import job_submit
from apps.jointcloud.types import JobRequest, TaskRequest
from apps.kernel.actor import SYSTEM
from tests.harness.money import account_funded
from tests.harness.schedulers import environment

pytestmark = [pytest.mark.req("JC-6.4-5", "PLAT-OPS-38"), pytest.mark.wire, pytest.mark.of_kind("slurm")]
_WAIT_S = 150


@pytest.fixture
def watcher(committed, engine, settings, monkeypatch):
    """The engine as a centre that offers a core for 36 CNY an hour and gets 18, and the process that watches it."""
    settings.WEIR_CENTER_LOCAL_ADDRESSES = True
    monkeypatch.setenv("WEIR_CENTER_LOCAL_ADDRESSES", "true")
    center = center_join(
        actor=SYSTEM,
        ai_center_id="engine",
        kind=engine.kind,
        settings=engine.settings,
        secrets=engine.secrets,
        tenants=["acme"],
        facts={"name": "Engine"},
    )
    spec = ResourceSpec.objects.create(
        resource_spec_id="core", resource_spec_name="Core", cpu=1, service_type="batch", price_minor=3600
    )
    SpecOffer.objects.create(spec=spec, center=center, cost_minor=1800)
    process = subprocess.Popen(
        [sys.executable, "-m", "portal.centers"],
        env=environment() | {"WEIR_CENTER_LOCAL_ADDRESSES": "true"},
    )
    yield process
    process.kill()
    process.wait()


def test_the_accounts_of_the_cluster_are_what_is_charged_and_owed(watcher, acme, member):
    account_funded(acme)
    person = member("acme", "tenant_front_line")
    tasks = (TaskRequest("three", "sleep 3", "core"), TaskRequest("fails", "sleep 1; exit 3", "core"))
    job = job_submit(actor=person.actor, tenant=acme, asked=JobRequest("night", tasks))
    ends_s = time.monotonic() + _WAIT_S
    while Settlement.plain.count() < 2:
        assert time.monotonic() < ends_s, list(RemoteTask.objects.values_list("key", "state", "cause"))
        cycle_run(actor=SYSTEM)
        jobs_sweep(actor=SYSTEM)
        money_sweep(actor=SYSTEM)
        time.sleep(0.5)
    rows = list(Settlement.plain.order_by("task"))
    assert [row.settled_by for row in rows] == ["told", "told"]
    for row, least in zip(rows, (3, 1), strict=True):
        # Slurm tells of whole seconds, begin and end each rounded down.
        assert least - 1 <= row.seconds == row.owed_seconds <= least + 15
        record = CenterUsage.objects.get(key=row.key)
        assert (record.started_at, record.ended_at) == (row.told_from, row.told_until)
        assert '"elapsed":' in record.raw
    line = bill_make(actor=SYSTEM, tenant=acme).lines.get()
    assert line.share_seconds == sum(row.seconds for row in rows)
    assert line.charge.job_id == job.job_id
    # 36 CNY an hour is a cent a second.
    assert line.amount * 100 == line.share_seconds
    owed = LedgerLeg.objects.filter(account__code="payable:engine").values_list("amount", flat=True)
    assert -sum(owed) * 200 == line.share_seconds
