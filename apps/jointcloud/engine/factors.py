"""The scheduling factors of a snapshot (JC-6.6.1) as one figure for every centre, in the order of their IDs.

Each is computed when first asked for and kept, by what it depends on: a cycle asks for thousands of tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.jointcloud.engine.scores import UNKNOWN, Row
from apps.jointcloud.engine.types import MOST, MOST_COUNT, Centre, Image, Job, Offer, Snapshot, Spec, Task

BITS_PER_MEGABIT = 10**6
REFERENCE_BITS = 8 * 64 * 2**20
"""The message by which ways are compared: 64 MiB."""


class Ask(NamedTuple):
    """A task as filters and policies see it: with its job, and where its job's other replicas are (by place)."""

    task: Task
    job: Job
    siblings: tuple[int, ...] = ()


class Factors:
    """What does not change within a cycle."""

    def __init__(self, snapshot: Snapshot, now: int) -> None:
        self.snapshot, self.settings, self.now = snapshot, snapshot.settings, now
        self.centres: tuple[Centre, ...] = tuple(sorted(snapshot.centres, key=lambda centre: centre.id))
        self.place = {centre.id: i for i, centre in enumerate(self.centres)}
        self.resources = sorted({name for spec in snapshot.specs for name, _ in spec.amounts})
        self.spec: dict[str, Spec] = {spec.id: spec for spec in snapshot.specs}
        self.image: dict[str, Image] = {image.id: image for image in snapshot.images}
        self.data = {data.id: data for data in snapshot.data}
        self._offers = [{offer.spec_id: offer for offer in centre.offers} for centre in self.centres]
        self._kept: dict[Hashable, Row] = {}
        self._table: tuple[Row, NDArray[np.bool_] | None] | None = None
        nothing = np.zeros(len(self.centres), np.int64)
        self._away: tuple[tuple[int, ...], Row, NDArray[np.bool_]] = ((), nothing, nothing != 0)

    def kept(self, key: Hashable, figures: Callable[[], Row]) -> Row:
        """The row called `key`, made by `figures` the first time."""
        row = self._kept.get(key)
        if row is None:
            row = self._kept[key] = figures()
        return row

    def offer(self, place: int, spec_id: str) -> Offer | None:
        """What this centre offers of a specification."""
        return self._offers[place].get(spec_id)

    def each(self, key: Hashable, figure: Callable[[Centre], int | None]) -> Row:
        """A row of one figure a centre, None being unknown."""
        return self.kept(key, lambda: row(figure(centre) for centre in self.centres))

    def offered(self, name: str, spec_id: str) -> Row:
        """A figure of the centres' offers of a specification; unknown where there is none."""
        return self.kept(
            (name, spec_id), lambda: row(self._offered(name, i, spec_id) for i in range(len(self.centres)))
        )

    def _offered(self, name: str, place: int, spec_id: str) -> int | None:
        offer = self.offer(place, spec_id)
        return None if offer is None else getattr(offer, name)

    def price(self, spec_id: str) -> Row:
        """Minor currency per hour and replica."""
        return self.offered("price", spec_id)

    def power(self, name: str, spec_id: str) -> Row:
        """Watts, "static_w" or "executing_w": the centre's, or else the specification's."""

        def figures() -> Row:
            own = self.offered(name, spec_id)
            spec = self.spec.get(spec_id)
            usual = None if spec is None else getattr(spec, name)
            return own if usual is None else np.where(own == UNKNOWN, usual, own)

        return self.kept(("power", name, spec_id), figures)

    def missing_bytes(self, data_ids: tuple[str, ...]) -> Row:
        """How much of these data sets each centre lacks; data nobody knows has no size."""

        def figures() -> Row:
            lacks = np.zeros(len(self.centres), np.int64)
            for data in (self.data[name] for name in data_ids if name in self.data):
                lacks += [0 if centre.id in data.centre_ids else data.size_bytes for centre in self.centres]
                lacks = np.minimum(lacks, MOST)
            return lacks

        return self.kept(("missing", data_ids), figures)

    def transfer_s(self, data_ids: tuple[str, ...]) -> Row:
        """How long copying what is lacking takes, in whole seconds, rounded up; unknown without a bandwidth."""

        def figures() -> Row:
            lacks = self.missing_bytes(data_ids)
            rate = self.each("bandwidth", _bandwidth)
            bytes_per_s = np.where(rate == UNKNOWN, 1, rate) * (BITS_PER_MEGABIT // 8)
            copying = np.minimum(-(-lacks // bytes_per_s), MOST_COUNT)
            return np.where(lacks == 0, 0, np.where(rate == UNKNOWN, UNKNOWN, copying))

        return self.kept(("transfer", data_ids), figures)

    def way_us(self) -> Row:
        """How long a message of 64 MiB is under way, in microseconds: latency, jitter, and its bits over the
        bandwidth, all of it longer by the part that is lost and sent again. Nothing arrives where all is lost."""
        return self.each("way", _way_us)

    def latency_us(self) -> Row:
        """The measured latency of the way to each centre."""
        return self.each(
            "latency", lambda centre: None if centre.network is None else centre.network.latency_us
        )

    def duration_s(self, task: Task) -> int:
        """How long the task will run, as far as is known."""
        return self.settings.usual_duration_s if task.duration_s is None else task.duration_s

    def away(self, places: tuple[int, ...]) -> tuple[Row, NDArray[np.bool_] | None]:
        """Of each centre the sum of its distances to these, and which of the sums are not known; None: all are.

        The last sum is kept: a job's tasks are asked for one after the other, each with what was bound before it.
        """
        table, unknown = self._distances()
        known, total, gaps = self._away
        if places[: len(known)] != known:
            known, total, gaps = (
                (),
                np.zeros(len(self.centres), np.int64),
                np.zeros(len(self.centres), np.bool_),
            )
        added = list(places[len(known) :])
        if added:
            total = total + (table[added[0]] if len(added) == 1 else table[added].sum(axis=0))
            gaps = gaps if unknown is None else gaps | unknown[added].any(axis=0)
        self._away = places, total, gaps
        return total, None if unknown is None else gaps

    def _distances(self) -> tuple[Row, NDArray[np.bool_] | None]:
        if self._table is None:
            count = len(self.centres)
            table, unknown = np.zeros((count, count), np.int64), ~np.eye(count, dtype=np.bool_)
            for one, other, distance in self.snapshot.distances:
                i, k = self.place.get(one), self.place.get(other)
                if i is not None and k is not None and i != k:
                    table[i, k] = table[k, i] = distance
                    unknown[i, k] = unknown[k, i] = False
            self._table = table, (unknown if unknown.any() else None)
        return self._table

    def need(self, spec_id: str) -> Row:
        """What a replica of a specification takes of every resource, a column."""

        def figures() -> Row:
            spec = self.spec.get(spec_id)
            amounts = {} if spec is None else dict(spec.amounts)
            return row(amounts.get(name, 0) for name in self.resources)[:, None]

        return self.kept(("need", spec_id), figures)


def row(figures: Iterable[int | None]) -> Row:
    """An array of figures, None being `UNKNOWN`."""
    return np.array([UNKNOWN if figure is None else figure for figure in figures], np.int64)


def _bandwidth(centre: Centre) -> int | None:
    return None if centre.network is None else centre.network.bandwidth_mbps


def _way_us(centre: Centre) -> int | None:
    way = centre.network
    if way is None:
        return None
    if way.loss_ppm >= 10**6:
        return MOST
    whole = way.latency_us + way.jitter_us + REFERENCE_BITS // way.bandwidth_mbps
    return min(MOST - 1, whole * 10**6 // (10**6 - way.loss_ppm))
