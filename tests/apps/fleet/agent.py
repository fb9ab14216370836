"""A node agent as the server meets it: real messages through the real endpoints, without a real node."""

import uuid
from datetime import UTC, datetime, timedelta

from django.test import Client

from apps.fleet.models import Device, Slice
from apps.fleet.services.slices.slice_lifecycle import slice_desire
from apps.identity.services.tokens import join_token_make
from apps.kernel.actor import SYSTEM
from node_agent.protocol.join import DeviceReport, JoinRequest, NodeInfo
from node_agent.protocol.slices import LogChunk, SessionReport, SliceReport, UsageReport
from node_agent.protocol.sync import SyncReply, SyncRequest

WORK = {"argv": ["python", "-c", "print(1)"], "env": {"A": "1"}}


def node_info(name="n1"):
    return NodeInfo(
        name=name,
        hostname=name,
        agent_version="1",
        os="Linux",
        cpu_count=4,
        memory_mib=16000,
        labels={"zone": "a"},
    )


def device_report(uid="n1-d0", index=0, memory_mib=8192, **more):
    facts = {
        "uid": uid,
        "index": index,
        "vendor": "cpu",
        "model": "CPU",
        "memory_mib": memory_mib,
        "cores": 4,
        "driver_version": "1",
        "simulated": False,
        "health": "ok",
    }
    return DeviceReport(**facts | more)


class Agent:
    """Joined at once; `sync()` sends what it is given and returns the reply."""

    def __init__(self, name="n1", devices=1, token=None):
        self.info = node_info(name)
        self.devices = tuple(device_report(f"{name}-d{i}", i) for i in range(devices))
        self.client = Client(headers={"host": "localhost", "accept-language": "en"})
        self.boot_id, self.seq = uuid.uuid4().hex, 0
        secret = token or join_token_make(actor=SYSTEM, note=name)[1]
        self.joined = self.post("join", self.join_request(secret).model_dump_json())
        if self.joined.status_code == 200:
            self.uid = self.joined.json()["node_uid"]
            self.credential = self.joined.json()["credential"]

    def join_request(self, secret):
        return JoinRequest(protocol=1, join_token=secret, node=self.info, devices=self.devices)

    def post(self, path, body, credential=""):
        headers = {"Authorization": f"Bearer {credential}"} if credential else {}
        return self.client.post(
            f"/api/agent/v1/{path}", data=body, content_type="application/json", headers=headers
        )

    def message(
        self,
        *,
        slices=(),
        usage=(),
        logs=(),
        events=(),
        metrics=(),
        devices=None,
        seq=None,
        boot_id=None,
        sent_at=None,
    ):
        if seq is None:
            self.seq += 1
        return SyncRequest(
            protocol=1,
            boot_id=boot_id or self.boot_id,
            seq=seq or self.seq,
            sent_at=sent_at or datetime.now(UTC),
            node=self.info,
            devices=self.devices if devices is None else devices,
            slices=tuple(slices),
            usage=tuple(usage),
            logs=tuple(logs),
            events=tuple(events),
            metrics=tuple(metrics),
        )

    def send(self, message):
        return self.post("sync", message.model_dump_json(), self.credential)

    def sync(self, **given):
        response = self.send(self.message(**given))
        assert response.status_code == 200, response.content
        return SyncReply.model_validate_json(response.content)

    def reboot(self):
        self.boot_id, self.seq = uuid.uuid4().hex, 0


def desire(tenant, device_uid="n1-d0", percent=20, mib=1024, **more):
    """A wanted slice of a new workload."""
    given = {"workload_uid": uuid.uuid4(), "work": WORK, "run_timeout_s": None} | more
    return slice_desire(
        actor=SYSTEM,
        tenant=tenant,
        device_uid=device_uid,
        compute_percent=percent,
        memory_mib=mib,
        **given,
    )


def report(row, state="running", **more):
    given = {"slice_uid": str(row.uid), "generation": 1, "state": state} | more
    if state in ("running", "stopping", "exited", "failed"):
        given.setdefault("started_at", row.created_at)
    return SliceReport(**given)


def usage(row, seq, *, start=None, seconds=1, **more):
    """The interval `seq`, each `seconds` long and following the one before."""
    start = start or row.created_at + timedelta(seconds=(seq - 1) * seconds)
    given = {
        "slice_uid": str(row.uid),
        "seq": seq,
        "start_at": start,
        "end_at": start + timedelta(seconds=seconds),
        "compute_percent": row.compute_percent,
        "memory_mib": row.memory_mib,
        "cpu_seconds": 0.5,
        "memory_peak_mib": 10,
    }
    return UsageReport(**given | more)


def session_desire(tenant, device_uid="n1-d0", percent=20, mib=1024, **more):
    """A wanted session of a new workload."""
    return desire(tenant, device_uid, percent, mib, work={}, kind="session", **more)


def session_report(row, *, generation=None, state="running", reason_code="", **seen):
    """A session's worker listens; `seen` is what else it reports of the connection."""
    worker = {"host": "10.0.0.1", "port": 4000, "fingerprint": "ab" * 32} | seen
    told = {"generation": generation or row.generation, "reason_code": reason_code}
    return report(row, state, session=SessionReport(**worker), **told)


def log(row, offset, text):
    return LogChunk(slice_uid=str(row.uid), offset=offset, text=text)


def fresh(row):
    return Slice.plain.select_related("device", "node").get(pk=row.pk)


def held(uid="n1-d0"):
    device = Device.objects.get(uid=uid)
    return device.held_percent, device.held_mib, device.whole_held
