"""Room that is kept: for reservations, and for requests that are next or have room made for them."""

from __future__ import annotations

from collections.abc import Iterable

from apps.scheduling.engine.model.types import Alone, Grant, Reservation, RunningWorkload
from apps.scheduling.engine.placement.fit import Fit
from apps.scheduling.engine.placement.place import Placer
from apps.scheduling.engine.resources.pool import Card, Claim, Pool
from apps.scheduling.engine.resources.shapes import reservation_constraint


class Claims:
    """The claims of one cycle."""

    def __init__(self, pool: Pool, placer: Placer) -> None:
        self._pool = pool
        self._placer = placer
        self._on: dict[Card, None] = {}

    def keep(self, owner: str, start_s: int, spare: dict[Card, tuple[int, int]]) -> None:
        """From `start_s` on others have no more than this of each card: percent and MiB."""
        for card, (percent, mib) in spare.items():
            card.claims.append(Claim(owner, start_s, percent, mib))
            self._on[card] = None
        self._placer.claim_from(start_s)

    def keep_grants(self, owner: str, start_s: int, grants: Iterable[Grant]) -> None:
        """Keep these grants on their cards, in the state in which the pool is now."""
        needs: dict[Card, list[Grant]] = {}
        for grant in grants:
            card = self._pool.cards.get(grant.device_id)
            if card is not None:
                needs.setdefault(card, []).append(grant)
        self._press(start_s, needs)
        spare = {card: _left(card, own) for card, own in needs.items()}
        for card, own in needs.items():
            if any(grant.alone is Alone.NODE for grant in own):
                spare |= dict.fromkeys(card.server.cards, (0, 0))
        self.keep(owner, start_s, spare)

    def _press(self, start_s: int, needs: dict[Card, list[Grant]]) -> None:
        """What starts before another claim does runs across its start, and uses up what that spares."""
        for card, own in needs.items():
            for claim in card.claims:
                if claim.start_s >= start_s:
                    claim.spare_percent -= sum(grant.compute_percent for grant in own)
                    claim.spare_mib -= sum(grant.memory_mib for grant in own)

    def lift(self, owner: str) -> None:
        """The owner's claims are over."""
        for card in self._on:
            kept = [claim for claim in card.claims if claim.owner != owner]
            if len(kept) != len(card.claims):
                card.claims = kept
                self._pool.freed.append(card)

    def clear(self) -> None:
        """The cycle is over."""
        for card in self._on:
            card.claims = []
        self._on.clear()


def _left(card: Card, needs: list[Grant]) -> tuple[int, int]:
    # Of a card that takes only a number of shares, none: what runs across its start may be one too many.
    if card.bounds or any(grant.exclusive or grant.alone or grant.max_on_device for grant in needs):
        return 0, 0
    percent = card.free_percent - sum(grant.compute_percent for grant in needs)
    return percent, card.free_mib - sum(grant.memory_mib for grant in needs)


def reserve(
    claims: Claims,
    pool: Pool,
    fit: Fit,
    reservations: Iterable[Reservation],
    running: Iterable[RunningWorkload],
    now: int,
) -> dict[str, frozenset[str]]:
    """Keep what is reserved; the devices of each reservation that is not over."""
    works = tuple(running)
    devices: dict[str, frozenset[str]] = {}
    for each in sorted(reservations, key=lambda each: each.id):
        if each.to_s <= now:
            continue
        cards = _cards_of(each, pool, fit, works)
        devices[each.id] = frozenset(card.device.id for card in cards)
        claims.keep(each.id, max(now, each.from_s), _spared(each, cards, works))
    return devices


def _cards_of(each: Reservation, pool: Pool, fit: Fit, works: tuple[RunningWorkload, ...]) -> list[Card]:
    """The named devices, or those of the count: where its work runs already, then where the least will run."""
    if each.device_ids:
        return [card for card in pool.at if card.device.id in each.device_ids]
    area = fit.area(reservation_constraint(each))
    mine: dict[str, int] = {}
    others: dict[str, int] = {}
    for work in works:
        for grant in work.grants:
            if _holds(each, work):
                mine[grant.device_id] = mine.get(grant.device_id, 0) + 1
            elif _lasts(each, work):
                others[grant.device_id] = others.get(grant.device_id, 0) + grant.compute_percent
    cards = [card for card in pool.cards_in(area.usable) if card.device.memory_mib >= each.memory_mib]
    cards.sort(key=lambda card: (-mine.get(card.device.id, 0), others.get(card.device.id, 0), card.at))
    return cards[: each.count]


def _holds(each: Reservation, work: RunningWorkload) -> bool:
    asks = work.asks
    if asks is not None and asks.reservation_id is not None:
        return asks.reservation_id == each.id
    if each.closed or (each.tenant_id is None and each.queue_id is None):
        return False
    return each.tenant_id in (None, work.tenant_id) and each.queue_id in (None, work.queue_id)


def _lasts(each: Reservation, work: RunningWorkload) -> bool:
    return work.ends_at_s is None or work.ends_at_s > each.from_s


def _spared(
    each: Reservation, cards: list[Card], works: tuple[RunningWorkload, ...]
) -> dict[Card, tuple[int, int]]:
    """Nothing of a device reserved whole; else what its other work and the reserved part leave."""
    if each.device_ids or each.closed:
        return dict.fromkeys(cards, (0, 0))
    used: dict[str, list[int]] = {card.device.id: [0, 0] for card in cards}
    for work in works:
        for grant in work.grants:
            if grant.device_id in used and _lasts(each, work) and not _holds(each, work):
                used[grant.device_id][0] += grant.compute_percent
                used[grant.device_id][1] += grant.memory_mib
    return {
        card: (
            card.device.compute_capacity_percent - each.compute_percent - used[card.device.id][0],
            card.device.memory_capacity_mib - each.memory_mib - used[card.device.id][1],
        )
        for card in cards
    }
