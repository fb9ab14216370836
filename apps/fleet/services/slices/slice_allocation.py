"""Wanting many slices at once: what a scheduling cycle places, in a few statements."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from apps.fleet.models import Device, Slice
from apps.fleet.services.slices.slice_lifecycle import work_check
from apps.fleet.session_keys import key_new, seal
from apps.fleet.states import Health, NodeState, SliceKind
from apps.kernel.actor import Actor
from apps.kernel.bulk import insert_many, update_many
from apps.kernel.prepared_queries import ArrayParam, PreparedValues
from apps.kernel.service import service


@dataclass(frozen=True, slots=True)
class ShareRequest:
    """One share of a device with the work that is to run in it: see `slice_desire`. A share of 0 % and 0 MiB is work on
    the host of the device's node alone."""

    tenant_id: int
    workload_uid: UUID
    device_uid: str
    compute_percent: int
    memory_mib: int
    work: dict[str, Any]
    run_timeout_s: int | None = None
    exclusive: bool = False
    kind: str = SliceKind.PROGRAM
    idle_timeout_s: int | None = None
    driver: str = ""
    resource_group: str = ""
    requeue_on_loss: bool = False
    host_cpu_milli: int = 0
    host_memory_mib: int = 0
    scratch_disk_mib: int = 0
    share: int = 0
    attempt: int = 1
    secrets: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Room:
    """What a locked device has left."""

    pk: int
    node_pk: int
    is_open: bool
    group: str
    is_sliced: bool
    is_whole_held: bool
    room_percent: int
    room_mib: int
    held_percent: int
    held_mib: int
    more_percent: int = 0
    more_mib: int = 0

    def takes(self, share: ShareRequest) -> bool:
        """Hold the share, if it may be held here; the same rules as of `device_hold`."""
        if not self.is_open or self.group != share.resource_group:
            return False
        if not share.compute_percent:
            return True
        if self.is_sliced is share.exclusive:
            return False
        percent, mib = self.held_percent + self.more_percent, self.held_mib + self.more_mib
        if self.is_whole_held or (share.exclusive and (percent or mib)):
            return False
        if percent + share.compute_percent > self.room_percent or mib + share.memory_mib > self.room_mib:
            return False
        self.more_percent += share.compute_percent
        self.more_mib += share.memory_mib
        self.is_whole_held = share.exclusive
        return True

    def gives(self, share: ShareRequest) -> None:
        """Undo `takes`."""
        if not share.compute_percent:
            return
        self.more_percent -= share.compute_percent
        self.more_mib -= share.memory_mib
        self.is_whole_held = False


_COLUMNS = (
    "uid", "pk", "node_id", "node__state", "node__is_leaving", "is_enabled", "is_leaving", "health", "group__code",
    "is_sliced", "whole_held", "oversubscribe_permille", "memory_mib", "memory_oversubscribe_permille",
    "held_percent", "held_mib",
)  # fmt: skip


_DEVICES = PreparedValues(
    lambda: (
        Device.objects.select_for_update(no_key=True, of=("self",))
        .filter(uid=ArrayParam("uids"))
        .order_by("pk")
    ),
    *_COLUMNS,
)


@service(recorded=False, joins=True)
def devices_room(*, actor: Actor, uids: Iterable[str]) -> dict[str, Room]:
    """Lock devices in key order, as a node that gives several shares back does, and say what each has left."""
    return {values[0]: _room(*values[1:]) for values in _DEVICES.all(uids=list(set(uids)))}


def _room(
    pk: int, node_pk: int, state: str, is_node_leaving: bool, is_enabled: bool, is_leaving: bool, health: str,
    group: str | None, is_sliced: bool, is_whole_held: bool, permille: int, mib: int, mib_permille: int,
    held_percent: int, held_mib: int,
) -> Room:  # fmt: skip
    is_ready = state == NodeState.READY and not is_node_leaving
    return Room(
        pk=pk,
        node_pk=node_pk,
        is_open=is_ready and is_enabled and not is_leaving and health == Health.OK,
        group=group or "",
        is_sliced=is_sliced,
        is_whole_held=is_whole_held,
        room_percent=permille // 10,
        room_mib=mib * mib_permille // 1000,
        held_percent=held_percent,
        held_mib=held_mib,
    )


def gang_take(rooms: dict[str, Room], gang: Sequence[ShareRequest]) -> bool:
    """Hold all shares of a gang in memory, or none of them."""
    taken: list[ShareRequest] = []
    for share in gang:
        room = rooms.get(share.device_uid)
        if room is None or not room.takes(share):
            gang_give(rooms, taken)
            return False
        taken.append(share)
    return True


def gang_give(rooms: dict[str, Room], gang: Iterable[ShareRequest]) -> None:
    """Undo `gang_take`."""
    for share in gang:
        rooms[share.device_uid].gives(share)


@service(recorded=False, joins=True)
def slices_desire(
    *, actor: Actor, rooms: dict[str, Room], share_requests: Sequence[ShareRequest]
) -> list[Slice]:
    """Hold what `gang_take` found room for and want its slices, in the order given. `rooms` are still locked."""
    more = [
        (room.pk, room.more_percent, room.more_mib, room.is_whole_held)
        for room in rooms.values()
        if room.more_percent
    ]
    columns = {
        "held_percent": "bigint: t.held_percent + v.held_percent",
        "held_mib": "bigint: t.held_mib + v.held_mib",
        "whole_held": "boolean",
    }
    update_many("fleet_device", columns, more)
    slices = [_slice(share, rooms[share.device_uid]) for share in share_requests]
    insert_many(slices)
    return slices


def _slice(share: ShareRequest, room: Room) -> Slice:
    return Slice(
        tenant_id=share.tenant_id,
        workload_uid=share.workload_uid,
        device_id=room.pk,
        node_id=room.node_pk,
        compute_percent=share.compute_percent,
        memory_mib=share.memory_mib,
        is_exclusive=share.exclusive,
        kind=share.kind,
        driver=share.driver,
        group_code=share.resource_group,
        is_requeued=share.requeue_on_loss,
        session_key=seal(key_new()) if share.kind == SliceKind.SESSION else "",
        work=share.work,
        run_timeout_s=share.run_timeout_s,
        idle_timeout_s=share.idle_timeout_s,
        host_cpu_milli=share.host_cpu_milli,
        host_memory_mib=share.host_memory_mib,
        scratch_disk_mib=share.scratch_disk_mib,
        share=share.share,
        attempt=share.attempt,
        secrets=dict(share.secrets),
    )


def work_shape(
    work: dict[str, Any], kind: str, run_timeout_s: int | None, idle_timeout_s: int | None
) -> dict[str, Any]:
    """The work as a slice keeps it; InvalidInput where no node could run it."""
    spec = work_check({**work, "kind": kind, "idle_timeout_s": idle_timeout_s}, run_timeout_s)
    return dict(spec.model_dump(mode="json", exclude={"kind", "run_timeout_s", "idle_timeout_s"}))
