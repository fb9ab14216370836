"""What a request asks of devices, apart from who asks: requests of one shape are judged once in a cycle."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from apps.scheduling.engine.model.types import (
    WHOLE_CARD_PERCENT,
    Alone,
    Labels,
    Placing,
    Policy,
    Queue,
    Reason,
    ReasonCode,
    Request,
    Reservation,
)


@dataclass(frozen=True, slots=True)
class Constraint:
    """Where a request may go, apart from what is free there."""

    device_id: str | None
    node_id: str | None
    groups: frozenset[str]
    vendor: str | None
    models: frozenset[str]
    labels: Labels
    driver: str | None
    local_node_id: str | None
    """Of LOCAL placing: the one node that will do."""
    whole: bool | None
    """Whole cards, or shares of cut ones; None is work on the host alone, which takes nothing of a device."""
    device_ids: frozenset[str] | None = None
    """Of a request that names a reservation: the devices of that."""
    storage: str = ""
    containers: str = ""
    packages: bool = False
    program: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """All of a request that matters to placement. `Shapes` gives equal requests the same object."""

    constraint: Constraint
    compute_percent: int
    memory_mib: int
    shares: int
    exclusive: bool
    distinct_devices: bool
    single_node: bool
    placing: Placing
    first_node_id: str | None = None
    """Of LOCAL_FIRST placing: the node to be tried before all others."""
    affinity: str = ""
    anti_affinity: str = ""
    host_cpu_milli: int = 0
    host_memory_mib: int = 0
    shares_per_replica: int = 1
    """So many lie on one node together; 1 where all shares do, or none need to."""
    alone: Alone = Alone.NO
    max_on_device: int = 0
    scratch_disk_mib: int = 0

    @property
    def is_of_host(self) -> bool:
        """Whether a share takes something of its node beside what it takes of a card."""
        return bool(self.host_cpu_milli or self.host_memory_mib or self.scratch_disk_mib)

    @property
    def is_worded(self) -> bool:
        """Whether it joins or shuns other work."""
        return bool(self.affinity or self.anti_affinity)

    @property
    def is_picky(self) -> bool:
        """Whether other work on the card, and not only what is free there, keeps it off."""
        return bool(self.affinity or self.anti_affinity or self.alone or self.max_on_device)

    @property
    def is_simple(self) -> bool:
        """Whether what is free on a card decides alone, where nothing of it is claimed."""
        return not (self.exclusive or self.is_picky or self.is_of_host)


class Shapes:
    """One object for each shape, so that shapes are compared by identity."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Shape] = {}

    def of(self, request: Request, queue: Queue, policy: Policy) -> Shape:
        """The request's shape in its queue. Its own placing goes before the queue's, that before the policy's."""
        placing = request.placing or queue.placing or policy.placing
        per = request.shares_per_replica
        single_node = request.single_node or 1 < per >= request.shares
        return self._intern(
            Shape(
                _constraint(request, queue, placing), request.compute_percent, request.memory_mib, request.shares,
                request.exclusive, request.distinct_devices, single_node, placing,
                request.local_node_id if placing is Placing.LOCAL_FIRST else None,
                request.affinity, request.anti_affinity, request.host_cpu_milli, request.host_memory_mib,
                1 if single_node else per, request.alone, request.max_on_device, request.scratch_disk_mib,
            )
        )  # fmt: skip

    def sized(self, shape: Shape, shares: int) -> Shape:
        """The shape with another number of shares; those of one replica, or of less than one, lie on one node."""
        if shape.shares == shares:
            return shape
        if shares > shape.shares_per_replica or shape.shares_per_replica == 1:
            return self._intern(replace(shape, shares=shares))
        return self._intern(replace(shape, shares=shares, single_node=True, shares_per_replica=1))

    def packed(self, shape: Shape) -> Shape:
        """The shape, placed so that whole cards stay free, whatever placing it had."""
        return self._intern(replace(shape, placing=Placing.DEVICE_COMPACT, first_node_id=None))

    def within(self, shape: Shape, device_ids: frozenset[str]) -> Shape:
        """The shape, held to these devices."""
        return self._intern(replace(shape, constraint=replace(shape.constraint, device_ids=device_ids)))

    def of_models(self, shape: Shape, models: frozenset[str]) -> Shape:
        """The shape, held to devices of these models."""
        return self._intern(replace(shape, constraint=replace(shape.constraint, models=models)))

    def _intern(self, shape: Shape) -> Shape:
        return self._known.setdefault(tuple(getattr(shape, name) for name in FIELDS), shape)


FIELDS = tuple(field.name for field in fields(Shape))


def _constraint(request: Request, queue: Queue, placing: Placing) -> Constraint:
    groups = frozenset(group for group in (request.resource_group, queue.resource_group) if group is not None)
    models = request.models if request.model is None else request.models | {request.model}
    local = request.local_node_id if placing is Placing.LOCAL else None
    return Constraint(
        request.device_id, request.node_id, groups, request.vendor, models, request.labels, request.driver,
        local, request.exclusive if request.compute_percent else None, storage=request.storage,
        containers=request.containers, packages=request.packages, program=request.program,
    )  # fmt: skip


def reservation_constraint(each: Reservation) -> Constraint:
    """Where a reservation of a number of devices may take them."""
    groups: frozenset[str] = frozenset() if each.resource_group is None else frozenset({each.resource_group})
    return Constraint(
        None, each.node_id, groups, None, each.models, each.labels, None, None,
        each.compute_percent == WHOLE_CARD_PERCENT,
    )  # fmt: skip


def invalid(request: Request) -> Reason | None:
    """What is wrong with the request in itself; None when nothing is."""
    whole = request.compute_percent == WHOLE_CARD_PERCENT
    least, per = request.min_shares, request.shares_per_replica
    checks = (
        ("shares", request.shares, request.shares >= 1),
        ("shares_per_replica", per, per >= 1 and request.shares % per == 0),
        (
            "compute_percent",
            request.compute_percent,
            _least_percent(request) <= request.compute_percent <= WHOLE_CARD_PERCENT,
        ),
        ("memory_mib", request.memory_mib, request.memory_mib >= 0),
        ("exclusive", request.exclusive, whole or not request.exclusive),
        ("affinity", request.affinity, request.shares == 1 or not request.affinity),
        ("min_shares", least, least is None or (1 <= least <= request.shares and least % per == 0)),
        ("max_on_device", request.max_on_device, request.max_on_device >= 0),
        ("duration_s", request.duration_s, request.duration_s is None or request.duration_s > 0),
        ("host_cpu_milli", request.host_cpu_milli, request.host_cpu_milli >= 0),
        ("host_memory_mib", request.host_memory_mib, request.host_memory_mib >= 0),
        ("scratch_disk_mib", request.scratch_disk_mib, request.scratch_disk_mib >= 0),
    )
    for name, value, ok in checks:
        if not ok:
            return Reason(ReasonCode.REQUEST_INVALID, (("field", name), ("value", value)))
    return _contradiction(request)


def _least_percent(request: Request) -> int:
    """A share has 1 % of a device at least; one that asks for host CPU or memory alone has none."""
    host = request.host_cpu_milli > 0 or request.host_memory_mib > 0
    return 0 if host and not request.memory_mib else 1


def _contradiction(request: Request) -> Reason | None:
    """Two demands that no pool can meet together."""
    several = request.device_id is not None and request.shares > 1
    start, end = request.earliest_start_s, request.deadline_s
    too_short = start is not None and end is not None and start + (request.duration_s or 0) > end
    for first, second, clash in (
        ("device_id", "distinct_devices", several and request.distinct_devices),
        ("device_id", "exclusive", several and request.exclusive),
        ("device_id", "anti_affinity", several and bool(request.anti_affinity)),
        ("affinity", "anti_affinity", bool(request.affinity) and request.affinity == request.anti_affinity),
        ("earliest_start_s", "deadline_s", too_short),
    ):
        if clash:
            return Reason(ReasonCode.CONTRADICTION, (("first", first), ("second", second)))
    return None
