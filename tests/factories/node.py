"""A node as the server sees one: it speaks the real protocol over the real endpoints, with slices that pretend."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

from django.test import Client

from apps.identity.services.tokens import join_token_make
from apps.kernel.actor import SYSTEM
from node_agent.protocol.messages import (
    DeviceReport,
    JoinRequest,
    LogChunk,
    MetricBatch,
    MetricSeries,
    NodeInfo,
    SliceReport,
    SyncReply,
    SyncRequest,
    UsageReport,
)
from node_agent.protocol.metrics import METRICS_PER_SYNC


class SpokenNode:
    """Joins, syncs, and reports whatever a test tells it to."""

    def __init__(self, name="n1", memory_mib=8192, devices=1):
        self.http = Client(headers={"host": "localhost"})
        self.boot_id, self.seq = str(uuid4()), 0
        self.info = NodeInfo(
            name=name,
            hostname=name,
            agent_version="test",
            os="linux",
            cpu_count=2,
            memory_mib=16384,
            labels={},
        )
        self.devices = tuple(self.device(name, index, memory_mib) for index in range(devices))
        self.started: dict[str, datetime] = {}
        self.usage_seq: dict[str, int] = {}
        _token, secret = join_token_make(actor=SYSTEM, note=name)
        request = JoinRequest(protocol=1, join_token=secret, node=self.info, devices=self.devices)
        answer = self._post("join", request)
        assert answer.status_code == 200, answer.content
        self.uid, self.credential = answer.json()["node_uid"], answer.json()["credential"]

    @staticmethod
    def device(name, index, memory_mib):
        return DeviceReport(
            uid=f"{name}-cpu{index}",
            index=index,
            vendor="cpu",
            model="CPU",
            memory_mib=memory_mib,
            cores=1,
            driver_version="",
            simulated=False,
            health="ok",
            health_reason="",
            utilisation_percent=None,
            memory_used_mib=None,
            temperature_c=None,
            power_w=None,
            slice_drivers=("cpu",),
        )

    def _post(self, path, message):
        headers = {"authorization": f"Bearer {getattr(self, 'credential', '')}"}
        body = message.model_dump_json()
        return self.http.post(f"/api/agent/v1/{path}", body, content_type="application/json", headers=headers)

    def sync(self, slices=(), usage=(), logs=(), metrics=()) -> SyncReply:
        """One message; the server's answer."""
        self.seq += 1
        request = SyncRequest(
            protocol=1,
            boot_id=self.boot_id,
            seq=self.seq,
            sent_at=datetime.now(UTC),
            node=self.info,
            devices=self.devices,
            slices=tuple(slices),
            usage=tuple(usage),
            logs=tuple(logs),
            metrics=tuple(metrics),
        )
        answer = self._post("sync", request)
        assert answer.status_code == 200, answer.content
        return SyncReply.model_validate_json(answer.content)

    def report(self, desired, state, **more) -> SliceReport:
        started = self.started.get(desired.slice_uid)
        fields = {
            "slice_uid": desired.slice_uid,
            "generation": desired.generation,
            "state": state,
            "reason": "",
            "reason_code": "",
            "exit_code": None,
            "started_at": started,
            "ended_at": None,
            "memory_enforced_by": "rlimit-data+watch",
            "compute_enforced_by": "duty-cycle",
            "delivered_percent": float(desired.compute_percent),
            "memory_used_mib": 100,
            "last_usage_seq": self.usage_seq.get(desired.slice_uid, 0),
        }
        return SliceReport(**{**fields, **more})

    def run_all(self, seconds=10) -> None:
        """Start everything desired `seconds` ago, with a log line, a metric and one usage interval; stop what
        is to stop."""
        desired = self.sync().desired
        running = [part for part in desired if part.state == "running"]
        for part in running:
            if part.slice_uid not in self.started:
                self.started[part.slice_uid] = datetime.now(UTC) - timedelta(seconds=seconds + 1)
        self.sync(slices=[self.report(part, "running") for part in running])
        usage = [self.interval(part, seconds) for part in running if not self.usage_seq.get(part.slice_uid)]
        logs = [LogChunk(slice_uid=part.slice_uid, offset=0, text="epoch 1 loss 0.5\n") for part in running]
        loss = MetricSeries(name="loss", steps=(1, 2), values=(0.5, 0.25), times=(1e9, 1e9 + 1))
        metrics = [
            MetricBatch(slice_uid=part.slice_uid, seq=1, series=(loss,))
            for part in running[:METRICS_PER_SYNC]
        ]
        self.sync([self.report(part, "running") for part in running], usage, logs, metrics)
        self.end([part for part in desired if part.state == "stopped"])

    def interval(self, part, seconds) -> UsageReport:
        seq = self.usage_seq[part.slice_uid] = self.usage_seq.get(part.slice_uid, 0) + 1
        start = self.started[part.slice_uid]
        return UsageReport(
            slice_uid=part.slice_uid,
            seq=seq,
            start_at=start,
            end_at=start + timedelta(seconds=seconds),
            compute_percent=part.compute_percent,
            memory_mib=part.memory_mib,
            cpu_seconds=1.0,
            memory_peak_mib=100,
            final=False,
        )

    def end(self, parts) -> None:
        """Report that these have stopped."""
        now = datetime.now(UTC)
        reports = [
            self.report(part, "exited", ended_at=now, reason_code="stopped", reason="stopped", exit_code=0)
            for part in parts
        ]
        if reports:
            self.sync(slices=reports)
