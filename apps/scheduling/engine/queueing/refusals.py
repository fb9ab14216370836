"""What a plan refuses, kept by group: the rows, and the places in line, are worked out when somebody asks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from apps.scheduling.engine.model.reasons import Reason, Refusal
from apps.scheduling.engine.queueing.backlog import Entry


class GroupRefusal:
    """Requests of one kind that wait for one reason.

    `urgent` and `standing` give its place among the others of the queue, `step` how far each member moves the
    standing of the next of its tenant.
    """

    __slots__ = ("_entries", "permanent", "queue_id", "reason", "standing", "step", "tenant_id", "urgent")

    def __init__(
        self,
        entries: tuple[Entry, ...],
        reason: Reason,
        *,
        permanent: bool,
        standing: tuple[int, int],
        step: int,
    ) -> None:
        self._entries = entries
        self.reason = reason
        self.permanent = permanent
        self.standing = standing
        self.step = step
        sample = entries[0].group.sample
        self.queue_id = sample.queue_id
        self.tenant_id = sample.tenant_id
        self.urgent = sample.urgent

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def request_ids(self) -> Iterator[str]:
        """Who they are, in the order of service."""
        return (entry.request_id for entry in self._entries)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The backlog's entries of the refused requests, in the order of service."""
        return self._entries


class Refusals(Sequence[Refusal]):
    """All refusals of a plan: queue by queue, and in each in the order of service."""

    def __init__(self, groups: Sequence[GroupRefusal] = (), queue_order: Sequence[str] = ()) -> None:
        self.groups = tuple(groups)
        self._queue_order = queue_order
        self._length = sum(len(group) for group in self.groups)
        self._by_queue: dict[str, dict[str, Refusal]] = {}
        self._queue_of: dict[str, str] | None = None

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Refusal]:
        for queue_id in self._queue_order:
            yield from self._queue(queue_id).values()

    @overload
    def __getitem__(self, index: int) -> Refusal: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Refusal]: ...
    def __getitem__(self, index: int | slice) -> Refusal | Sequence[Refusal]:
        return tuple(self)[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def get(self, request_id: str) -> Refusal | None:
        """The refusal of that request; None where it is not refused."""
        if self._queue_of is None:
            self._queue_of = {each: group.queue_id for group in self.groups for each in group.request_ids}
        queue_id = self._queue_of.get(request_id)
        return None if queue_id is None else self._queue(queue_id)[request_id]

    def _queue(self, queue_id: str) -> dict[str, Refusal]:
        rows = self._by_queue.get(queue_id)
        if rows is None:
            groups = [group for group in self.groups if group.queue_id == queue_id]
            rows = self._by_queue[queue_id] = _numbered(groups, queue_id)
        return rows


def _numbered(groups: list[GroupRefusal], queue_id: str) -> dict[str, Refusal]:
    """The queue's refusals in the order of service, numbered from 1."""
    by_tenant: dict[object, list[GroupRefusal]] = {}
    for group in groups:
        by_tenant.setdefault((group.urgent, group.tenant_id if group.step else ""), []).append(group)
    line = sorted(each for own in by_tenant.values() for each in _in_turn(own))
    return {
        entry.request_id: Refusal(entry.request_id, queue_id, group.reason, at, permanent=group.permanent)
        for at, (_, entry, _, group) in enumerate(line, 1)
    }


def _in_turn(groups: list[GroupRefusal]) -> Iterator[tuple[tuple[bool, int, int], Entry, int, GroupRefusal]]:
    """One tenant's members; each start moves its standing, so that tenants take turns."""
    members = sorted((entry, i) for i, group in enumerate(groups) for entry in group.entries)
    served = 0
    for entry, i in members:
        group = groups[i]
        yield (not group.urgent, group.standing[0], group.standing[1] + served), entry, i, group
        # What never starts moves nobody's standing.
        served += 0 if group.permanent else group.step
