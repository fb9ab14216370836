"""A node that speaks to the service itself: rows and messages for tests of the fleet."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

from django.test import Client

from apps.fleet.models import Device
from apps.fleet.services.nodes.membership import node_join
from apps.fleet.services.slices.slice_lifecycle import slice_desire
from apps.fleet.services.sync import node_sync
from apps.identity.services.tokens import join_token_make
from apps.kernel.actor import ANONYMOUS, SYSTEM, Actor
from node_agent.protocol.join import DeviceReport, JoinRequest, NodeInfo
from node_agent.protocol.slices import LogChunk, SliceReport, UsageReport
from node_agent.protocol.sync import SyncRequest

WORK = {"argv": ["python", "-m", "node_agent.examples.train"], "env": {}}


class Speaker:
    """One node: joins at once, then says what a test wants."""

    def __init__(self, name="n1", devices=1, memory_mib=8192):
        self.boot_id, self.seq = uuid4().hex, 0
        self.info = NodeInfo(
            name=name, hostname=name, agent_version="test", os="linux", cpu_count=4, memory_mib=16384
        )
        self.devices = tuple(self.device(name, index, memory_mib) for index in range(devices))
        _token, secret = join_token_make(actor=SYSTEM, note=name)
        request = JoinRequest(protocol=1, join_token=secret, node=self.info, devices=self.devices)
        reply = node_join(actor=ANONYMOUS, request=request)
        self.uid, self.credential = reply.node_uid, reply.credential
        self.actor = Actor(kind="agent", name=name, node_uid=self.uid)

    @staticmethod
    def device(name, index, memory_mib):
        return DeviceReport(
            uid=f"{name}-d{index}",
            index=index,
            vendor="cpu",
            model="CPU",
            memory_mib=memory_mib,
            cores=2,
            driver_version="1",
            simulated=False,
            health="ok",
        )

    def message(self, *, slices=(), usage=(), logs=(), seq=None, boot_id=None, devices=None):
        """The next message, not sent; with `seq` or `boot_id` one that is late or from another process."""
        if seq is None and boot_id is None:
            self.seq += 1
        return SyncRequest(
            protocol=1,
            boot_id=boot_id or self.boot_id,
            seq=seq or self.seq,
            sent_at=datetime.now(UTC),
            node=self.info,
            devices=self.devices if devices is None else devices,
            slices=tuple(slices),
            usage=tuple(usage),
            logs=tuple(logs),
        )

    def post(self, message, path="sync", credential=None):
        """Send a message, or any text, to the endpoint as an agent does; the HTTP answer."""
        body = message if isinstance(message, str) else message.model_dump_json()
        return Client(headers={"host": "localhost"}).post(
            f"/api/agent/v1/{path}",
            body,
            content_type="application/json",
            headers={"authorization": f"Bearer {credential or self.credential}"},
        )

    def say(self, message=None, **more):
        """Send a message; the reply."""
        return node_sync(actor=self.actor, request=message or self.message(**more))


def desire(tenant, device_uid="n1-d0", percent=10, mib=100, workload_uid=None, run_timeout_s=None):
    """A slice as the scheduler wants one."""
    return slice_desire(
        actor=SYSTEM,
        tenant=tenant,
        workload_uid=workload_uid or uuid4(),
        device_uid=device_uid,
        compute_percent=percent,
        memory_mib=mib,
        work=WORK,
        run_timeout_s=run_timeout_s,
    )


def report(row, state="running", **more):
    """What a node says of a slice."""
    now = datetime.now(UTC)
    fields = {"generation": row.generation, "started_at": now if state != "starting" else None}
    if state in ("exited", "failed"):
        fields["ended_at"] = now
    return SliceReport(slice_uid=str(row.uid), state=state, **{**fields, **more})


def interval(row, seq, *, begin=None, seconds=1, **more):
    """The vouched second number `seq` of a slice."""
    begin = begin or row.created_at
    start_at = begin + timedelta(seconds=(seq - 1) * seconds)
    fields = {
        "compute_percent": row.compute_percent,
        "memory_mib": row.memory_mib,
        "cpu_seconds": 0.1,
        "memory_peak_mib": 10,
    }
    end_at = start_at + timedelta(seconds=seconds)
    return UsageReport(
        slice_uid=str(row.uid), seq=seq, start_at=start_at, end_at=end_at, **{**fields, **more}
    )


def printed(row, offset, text):
    return LogChunk(slice_uid=str(row.uid), offset=offset, text=text)


def device(uid="n1-d0"):
    return Device.objects.get(uid=uid)
