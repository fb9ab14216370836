"""The waiting requests, by group: requests that differ in nothing but who came first are judged as one."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from operator import attrgetter
from typing import NamedTuple

from apps.scheduling.engine.model.types import Feasibility, Ordering, Policy, Queue, Reason, Request
from apps.scheduling.engine.resources.shapes import Shape

OWN_FIELDS = {"id", "submitted_seq", "submitted_at_s"}
kind_of = attrgetter(*(field.name for field in fields(Request) if field.name not in OWN_FIELDS))


class Group:
    """Requests of one kind in the order in which they are served."""

    __slots__ = (
        "_frozen",
        "epoch",
        "invalid_reason",
        "least",
        "members",
        "number",
        "prospect",
        "sample",
        "shape",
    )

    def __init__(self, sample: Request, number: int) -> None:
        self.sample = sample
        self.number = number
        self.members: list[Entry] = []
        self._frozen: tuple[Entry, ...] | None = None
        self.epoch = -1
        """Of which state of the registry the rest here speaks."""
        self.shape: Shape | None = None
        self.invalid_reason: Reason | None = None
        """What is wrong with all of them in themselves."""
        self.prospect: Feasibility | None = None
        self.least: tuple[int, int, int] = (0, 0, 0)
        """What each uses at least; whole cards may bring more memory."""

    def put(self, entry: Entry) -> None:
        """Add an entry at its place in line."""
        insort(self.members, entry)
        self._frozen = None

    def drop(self, entry: Entry) -> None:
        """Take an entry out, which has to be here."""
        del self.members[bisect_left(self.members, entry)]
        self._frozen = None

    def frozen(self) -> tuple[Entry, ...]:
        """The members as they are now; later changes do not show in it."""
        if self._frozen is None:
            self._frozen = tuple(self.members)
        return self._frozen

    def request_of(self, entry: Entry) -> Request:
        """The member as a request."""
        if entry.request_id == self.sample.id:
            return self.sample
        return replace(
            self.sample,
            id=entry.request_id,
            submitted_seq=entry.seq,
            submitted_at_s=entry.submitted_at_s,
        )


class Entry(NamedTuple):
    """A waiting request in its group: sorted, entries stand in the order of service."""

    rank: int
    """The less, the sooner, within one queue."""
    seq: int
    """Its place in line, by submission."""
    request_id: str
    submitted_at_s: int
    group: Group


def rank_of(request: Request, queue: Queue | None, policy: Policy) -> int:
    """The less, the sooner, within one queue. First come knows no ranks; else the priority counts, and with aging
    each `aging_s` of waiting as much as one priority: so the difference of two stays as it is while both wait."""
    ordering = (queue.ordering if queue else None) or policy.ordering
    if ordering is Ordering.FIRST_COME:
        return 0
    if not policy.aging_s:
        return -request.priority
    return request.submitted_at_s - request.priority * policy.aging_s


class Backlog:
    """All that waits, by identity and by kind."""

    def __init__(self) -> None:
        self.groups: dict[tuple[object, ...], Group] = {}
        self._entries: dict[str, Entry] = {}
        self._made = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, request_id: object) -> bool:
        return request_id in self._entries

    def put(self, request: Request, queue: Queue | None, policy: Policy) -> None:
        """Let a request wait, in the group of its kind; it takes the place of an earlier one with its id."""
        if request.id in self._entries:
            self.drop(request.id)
        kind = kind_of(request)
        group = self.groups.get(kind)
        if group is None:
            group = self.groups[kind] = Group(request, self._made)
            self._made += 1
        rank = rank_of(request, queue, policy)
        entry = Entry(rank, request.submitted_seq, request.id, request.submitted_at_s, group)
        self._entries[request.id] = entry
        group.put(entry)

    def drop(self, request_id: str) -> None:
        """It waits no more; nothing happens where it never did."""
        entry = self._entries.pop(request_id, None)
        if entry is None:
            return
        group = entry.group
        group.drop(entry)
        if not group.members:
            del self.groups[kind_of(group.sample)]

    def entry(self, request_id: str) -> Entry | None:
        """The member of that identity."""
        return self._entries.get(request_id)

    def request(self, request_id: str) -> Request | None:
        """The waiting request of that identity."""
        entry = self._entries.get(request_id)
        return None if entry is None else entry.group.request_of(entry)

    def requests(self) -> Iterator[Request]:
        """All of them."""
        return (entry.group.request_of(entry) for entry in self._entries.values())

    def rank_anew(self, queues: Mapping[str, Queue], policy: Policy) -> None:
        """The order of service changed."""
        waiting = list(self.requests())
        self.groups.clear()
        self._entries.clear()
        for request in waiting:
            self.put(request, queues.get(request.queue_id), policy)
