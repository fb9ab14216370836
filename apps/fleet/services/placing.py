"""Wanting many slices at once: what a scheduling cycle places, in a few statements."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from apps.fleet.models import Device, Slice
from apps.fleet.services.slices import work_check
from apps.fleet.states import Health, NodeState, SliceKind
from apps.fleet.vault import key_new, seal
from apps.kernel.acts import Actor
from apps.kernel.bulk import insert_many, update_many
from apps.kernel.queries import GivenAny, Kept
from apps.kernel.service import service


@dataclass(frozen=True, slots=True)
class Want:
    """One share of a device with the work that is to run in it: see `slice_desire`."""

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

    def takes(self, want: Want) -> bool:
        """Hold the share, if it may be held here; the same rules as of `device_hold`."""
        if not self.is_open or self.group != want.resource_group or self.is_sliced is want.exclusive:
            return False
        percent, mib = self.held_percent + self.more_percent, self.held_mib + self.more_mib
        if self.is_whole_held or (want.exclusive and (percent or mib)):
            return False
        if percent + want.compute_percent > self.room_percent or mib + want.memory_mib > self.room_mib:
            return False
        self.more_percent += want.compute_percent
        self.more_mib += want.memory_mib
        self.is_whole_held = want.exclusive
        return True

    def gives(self, want: Want) -> None:
        """Undo `takes`."""
        self.more_percent -= want.compute_percent
        self.more_mib -= want.memory_mib
        self.is_whole_held = False


_COLUMNS = (
    "uid", "pk", "node_id", "node__state", "node__is_leaving", "is_enabled", "is_leaving", "health", "group__code",
    "is_sliced", "whole_held", "oversubscribe_permille", "memory_mib", "memory_oversubscribe_permille",
    "held_percent", "held_mib",
)  # fmt: skip


_DEVICES = Kept(
    lambda: (
        Device.objects.select_for_update(no_key=True, of=("self",))
        .filter(uid=GivenAny("uids"))
        .order_by("pk")
        .values_list(*_COLUMNS)
    )
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


def gang_take(rooms: dict[str, Room], gang: Sequence[Want]) -> bool:
    """Hold all shares of a gang in memory, or none of them."""
    taken: list[Want] = []
    for want in gang:
        room = rooms.get(want.device_uid)
        if room is None or not room.takes(want):
            gang_give(rooms, taken)
            return False
        taken.append(want)
    return True


def gang_give(rooms: dict[str, Room], gang: Iterable[Want]) -> None:
    """Undo `gang_take`."""
    for want in gang:
        rooms[want.device_uid].gives(want)


@service(recorded=False, joins=True)
def slices_desire(*, actor: Actor, rooms: dict[str, Room], wants: Sequence[Want]) -> list[Slice]:
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
    slices = [_slice(want, rooms[want.device_uid]) for want in wants]
    insert_many(slices)
    return slices


def _slice(want: Want, room: Room) -> Slice:
    return Slice(
        tenant_id=want.tenant_id,
        workload_uid=want.workload_uid,
        device_id=room.pk,
        node_id=room.node_pk,
        compute_percent=want.compute_percent,
        memory_mib=want.memory_mib,
        is_exclusive=want.exclusive,
        kind=want.kind,
        driver=want.driver,
        group_code=want.resource_group,
        is_requeued=want.requeue_on_loss,
        session_key=seal(key_new()) if want.kind == SliceKind.SESSION else "",
        work=want.work,
        run_timeout_s=want.run_timeout_s,
        idle_timeout_s=want.idle_timeout_s,
    )


def work_shape(
    work: dict[str, Any], kind: str, run_timeout_s: int | None, idle_timeout_s: int | None
) -> dict[str, Any]:
    """The work as a slice keeps it; InvalidInput where no node could run it."""
    spec = work_check({**work, "kind": kind, "idle_timeout_s": idle_timeout_s}, run_timeout_s)
    return dict(spec.model_dump(mode="json", exclude={"kind", "run_timeout_s", "idle_timeout_s"}))
