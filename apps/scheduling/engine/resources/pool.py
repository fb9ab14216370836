"""The pool while it is worked on: what is free on each device, kept as grants come and go.

Cards stand in lists of equal free percent, servers in lists of equal use; a list is a bit mask over their places,
so that "the fullest with 30 % free" costs a few operations on whole numbers, however many cards there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from apps.scheduling.engine.model.types import Alone, Amount, Device, Grant, Node, RunningWorkload
from apps.scheduling.engine.resources.level_index import Levels
from apps.scheduling.engine.resources.masks import places

if TYPE_CHECKING:
    from apps.scheduling.engine.resources.shapes import Shape

FULL_USE = 2000
PLENTY = 1 << 40


class Claim:
    """Part of a card kept from `start_s` on. `spare` is what others may use across that moment."""

    __slots__ = ("owner", "spare_mib", "spare_percent", "start_s")

    def __init__(self, owner: str, start_s: int, spare_percent: int, spare_mib: int) -> None:
        self.owner = owner
        self.start_s = start_s
        self.spare_percent = spare_percent
        self.spare_mib = spare_mib


class Card:
    """A device and what is left of it. `at` is its place in the pool, `bit` the mask of that place alone, `column`
    its place among the cards of its server."""

    __slots__ = (
        "affine", "alone", "at", "bit", "bounds", "claims", "column", "device", "exclusives", "free_mib",
        "free_percent", "holders", "leavers", "level", "mib", "percent", "server", "shunned", "sizes", "use",
        "used_mib", "used_percent", "words",
    )  # fmt: skip

    def __init__(self, device: Device, server: Server, at: int, words: Counter[str]) -> None:
        self.at = at
        self.bit = 1 << at
        self.column = len(server.cards)
        self.words = words
        """Affinity words of the whole pool, with how many grants carry each."""
        self.affine: dict[str, int] = {}
        self.shunned: dict[str, int] = {}
        self.bounds: dict[int, int] = {}
        """So many shares on it at most, with how many grants say so."""
        self.claims: list[Claim] = []
        self.server = server
        self.used_percent = self.used_mib = self.holders = self.exclusives = self.alone = self.leavers = 0
        self.renew(device)
        self.level = max(0, self.free_percent)

    def renew(self, device: Device) -> None:
        """Take the device's present row."""
        self.device = device
        self.sizes = device.sizes
        self.percent = device.compute_capacity_percent
        self.mib = device.memory_capacity_mib
        self.settle()

    def add(self, grant: Grant, sign: int) -> None:
        """Count a grant in (1) or out (-1), here and on the node; `settle` follows."""
        (
            _, _, percent, mib, exclusive, affinity, anti_affinity, cpu_milli, memory_mib, disk_mib, alone,
            max_on_device, is_leaving,
        ) = grant  # fmt: skip
        if percent:  # work on the host alone leaves the card to others
            self.holders += sign
        if exclusive:
            self.exclusives += sign
        if affinity or anti_affinity:
            self._add_words(grant, sign)
        if alone or max_on_device or is_leaving:
            self._add_terms(grant, sign)
        server = self.server
        if cpu_milli or memory_mib or disk_mib:
            server.scratch_disk_mib += sign * disk_mib
            server.host_cpu_milli += sign * cpu_milli
            server.host_memory_mib += sign * memory_mib
        if sign < 0:
            percent, mib = -percent, -mib
        self.used_percent += percent
        self.used_mib += mib
        server.used_percent += percent
        server.used_mib += mib

    def _add_terms(self, grant: Grant, sign: int) -> None:
        """With whom the grant shares the card: work on the host alone has nothing of it to share."""
        if grant.alone is Alone.NODE:
            self.server.alone += sign
        if not grant.compute_percent:
            return
        if grant.alone:
            self.alone += sign
        if grant.is_leaving:
            self.leavers += sign
        elif grant.max_on_device:
            count = self.bounds.get(grant.max_on_device, 0) + sign
            self.bounds[grant.max_on_device] = count
            if not count:
                del self.bounds[grant.max_on_device]

    @property
    def sharers(self) -> int:
        """Shares on it that count: those that are being stopped do not."""
        return self.holders - self.leavers

    @property
    def is_shared_out(self) -> bool:
        """Whether what lies here lets nothing more beside it, be there room or not."""
        return bool(self.alone or self.server.alone or (self.bounds and self.sharers >= min(self.bounds)))

    def settle(self) -> None:
        """What is left after what was counted. A card held whole, or shared out, has nothing left, oversold or not."""
        self.use = (1000 * self.used_percent // self.percent if self.percent else 1000) + (
            1000 * self.used_mib // self.mib if self.mib else 1000
        )
        """Compute and memory in use together: as `combined_use`, without the call."""
        if self.exclusives or self.alone or self.server.alone or (self.bounds and self.is_shared_out):
            self.free_percent = self.free_mib = 0
        else:
            self.free_percent = self.percent - self.used_percent
            self.free_mib = self.mib - self.used_mib

    def _add_words(self, grant: Grant, sign: int) -> None:
        if grant.affinity:
            self.affine[grant.affinity] = self.affine.get(grant.affinity, 0) + sign
            self.words[grant.affinity] += sign
        if grant.anti_affinity:
            self.shunned[grant.anti_affinity] = self.shunned.get(grant.anti_affinity, 0) + sign

    def joins(self, affinity: str) -> bool:
        """Whether work of this affinity may lie here: work of the same word does, or none runs anywhere."""
        return not affinity or self.affine.get(affinity, 0) > 0 or self.words[affinity] == 0

    def tolerates(self, affinity: str, anti_affinity: str) -> bool:
        """Whether neither side keeps the other off."""
        if affinity and self.shunned.get(affinity):
            return False
        return not (anti_affinity and (self.affine.get(anti_affinity) or self.shunned.get(anti_affinity)))

    @property
    def is_usable(self) -> bool:
        """Whether new work may start here at all."""
        device, node = self.device, self.server.node
        return device.enabled and device.healthy and node.ready and node.schedulable

    def use_with(self, percent: int, mib: int) -> int:
        """Compute and memory in use together with so much more, permille of each added."""
        return combined_use(self.used_percent + percent, self.percent, self.used_mib + mib, self.mib)


class Server:
    """A node with its cards."""

    __slots__ = ("alone", "at", "bit", "cards", "host_cpu_milli", "host_memory_mib", "level", "mib", "node",
                 "percent", "scratch_disk_mib", "used_mib", "used_percent")  # fmt: skip

    def __init__(self, node: Node, at: int) -> None:
        self.at = at
        self.bit = 1 << at
        self.node = node
        self.cards: list[Card] = []
        self.percent = self.mib = self.used_percent = self.used_mib = 0
        self.host_cpu_milli = self.host_memory_mib = self.scratch_disk_mib = 0
        """In use by work."""
        self.alone = 0
        """Grants on its cards whose work has the node to itself."""
        self.level = 0

    @property
    def use(self) -> int:
        """Compute and memory of all its cards in use together, permille of each added."""
        return combined_use(self.used_percent, self.percent, self.used_mib, self.mib)

    def host_left(self) -> tuple[int, int, int]:
        """Milli-cores, MiB of memory and MiB of scratch disk that work may still take; `PLENTY` where nobody says how
        much there is."""
        node = self.node
        cpu, memory, disk = node.host_cpu_milli, node.host_memory_mib, node.scratch_disk_mib
        return (
            PLENTY if cpu is None else cpu - self.host_cpu_milli,
            PLENTY if memory is None else memory - self.host_memory_mib,
            PLENTY if disk is None else disk - self.scratch_disk_mib,
        )

    @property
    def is_empty(self) -> bool:
        """Whether no work is here, on a card or on the host alone."""
        return not (self.host_cpu_milli or self.host_memory_mib or any(card.holders for card in self.cards))

    def host_room(self, shape: Shape, most: int) -> int:
        """How many of the shape's shares its host takes, at most `most`."""
        return _host_room(self.host_left(), shape, most)

    def host_room_when_empty(self, shape: Shape) -> int:
        """How many of the shape's shares its host would take if nothing ran here."""
        node = self.node
        return _host_room(
            (
                PLENTY if node.host_cpu_milli is None else node.host_cpu_milli,
                PLENTY if node.host_memory_mib is None else node.host_memory_mib,
                PLENTY if node.scratch_disk_mib is None else node.scratch_disk_mib,
            ),
            shape,
            shape.shares,
        )


def _host_room(left: tuple[int, int, int], shape: Shape, most: int) -> int:
    asked = (shape.host_cpu_milli, shape.host_memory_mib, shape.scratch_disk_mib)
    for each, room in zip(asked, left, strict=True):
        if each:
            most = min(most, room // each)
    return max(0, most)


def combined_use(used_percent: int, percent: int, used_mib: int, mib: int) -> int:
    """Permille of compute plus permille of memory: 0 idle, 2000 full; a capacity of 0 counts as full."""
    compute = 1000 * used_percent // percent if percent else 1000
    return compute + (1000 * used_mib // mib if mib else 1000)


class Pool:
    """Servers and cards by identity and by place; the places do not depend on the order of the rows."""

    def __init__(
        self, nodes: Iterable[Node], devices: Iterable[Device], running: Iterable[RunningWorkload] = ()
    ) -> None:
        self.at: list[Card] = []
        self.server_at: list[Server] = []
        self.servers: dict[str, Server] = {}
        self.cards: dict[str, Card] = {}
        self.words: Counter[str] = Counter()
        self.terms = 0
        """Grants whose work does not share its devices with any other."""
        self._moved: set[Card] = set()
        """Cards that changed since the lists were last looked at; servers, by the stamp up to which that is so."""
        self._levelled = 0
        self.stamp = 0
        self.recent: dict[int, int] = {}
        """When each server last changed, the latest last: whoever mirrors the pool reads back to its own stamp."""
        self.freed: list[Card] = []
        """Cards that got room, in order: whoever remembers what was full reads on from where it last stood."""
        for node in sorted(nodes, key=lambda node: node.id):
            self.servers[node.id] = server = Server(node, len(self.server_at))
            self.server_at.append(server)
        for device in sorted(devices, key=lambda device: device.id):
            self._adopt(device)
        self._rank()
        for work in running:
            for grant in work.grants:
                self.take(grant)

    def _adopt(self, device: Device) -> None:
        server = self.servers.get(device.node_id)
        if server is None:
            return
        card = Card(device, server, len(self.at), self.words)
        self.at.append(card)
        self.cards[device.id] = card
        server.cards.append(card)
        server.percent += device.compute_capacity_percent
        server.mib += device.memory_capacity_mib

    def _rank(self) -> None:
        top = max((card.level for card in self.at), default=0)
        self._by_free = Levels(top)
        self._by_use = Levels(FULL_USE)
        self._idle = (1 << len(self.at)) - 1
        for card in self.at:
            self._by_free.add(card.level, card.bit)
        for server in self.server_at:
            server.level = min(FULL_USE, server.use)
            self._by_use.add(server.level, server.bit)

    @property
    def by_free(self) -> Levels:
        """Cards by free percent."""
        if self._moved:
            self._level_cards()
        return self._by_free

    @property
    def idle(self) -> int:
        """Cards on which nothing runs."""
        if self._moved:
            self._level_cards()
        return self._idle

    @property
    def by_use(self) -> Levels:
        """Servers by use."""
        if self._levelled != self.stamp:
            self._level_servers()
        return self._by_use

    def renew(self, device: Device) -> bool:
        """Take a device's new row in place; False where its node, capacity or model is another: build anew."""
        card = self.cards.get(device.id)
        if card is None or card.device.node_id != device.node_id:
            return False
        old = card.device
        same = (old.compute_capacity_percent, old.model) == (device.compute_capacity_percent, device.model)
        if not same or old.memory_capacity_mib != device.memory_capacity_mib:
            return False
        card.renew(device)
        self.freed.append(card)
        return True

    def take(self, grant: Grant) -> None:
        """Count a grant in. One on a device that the pool no longer knows changes nothing."""
        self._count(grant, 1)

    def give(self, grant: Grant) -> None:
        """Count a grant out."""
        self._count(grant, -1)

    def give_all(self, grants: Iterable[Grant]) -> None:
        """Count many grants out: what is left of a card is worked out once."""
        on: dict[Card, None] = {}
        for grant in grants:
            card = self.cards.get(grant.device_id)
            if card is not None:
                card.add(grant, -1)
                on[card] = None
                if grant.alone or grant.max_on_device:
                    self.terms -= 1
                    on |= dict.fromkeys(card.server.cards if grant.alone is Alone.NODE else ())
        for card in on:
            card.settle()
        self._moved.update(on)
        self.freed += on
        for server in dict.fromkeys(card.server for card in on):
            self.touch(server)

    def _count(self, grant: Grant, sign: int) -> None:
        card = self.cards.get(grant.device_id)
        if card is None:
            return
        card.add(grant, sign)
        card.settle()
        self._moved.add(card)
        if grant.alone or grant.max_on_device:
            self._count_terms(card, grant, sign)
        self.touch(card.server)
        if sign < 0:
            self.freed.append(card)

    def _count_terms(self, card: Card, grant: Grant, sign: int) -> None:
        """Whoever has a node alone closes and opens all its cards."""
        self.terms += sign
        if grant.alone is Alone.NODE:
            for each in card.server.cards:
                each.settle()
                self._moved.add(each)
                if sign < 0:
                    self.freed.append(each)

    def _level_cards(self) -> None:
        """Put the cards that changed in their lists."""
        for card in self._moved:
            level = card.free_percent if card.free_percent > 0 else 0
            if level != card.level:
                self._by_free.move(card.level, level, card.bit)
                card.level = level
            if bool(self._idle & card.bit) is (card.holders > 0):
                self._idle ^= card.bit
        self._moved.clear()

    def _level_servers(self) -> None:
        """Put the servers that changed in their lists."""
        for at in self.changed(self._levelled):
            server = self.server_at[at]
            level = min(FULL_USE, server.use)
            if level != server.level:
                self._by_use.move(server.level, level, server.bit)
                server.level = level
        self._levelled = self.stamp

    def changed(self, since: int) -> Iterator[int]:
        """The places of the servers that changed after that stamp, the latest first."""
        for at in reversed(self.recent):
            if self.recent[at] <= since:
                return
            yield at

    def touch(self, server: Server) -> None:
        """The server is another than before: its use, its row or that of a card."""
        self.stamp += 1
        self.recent.pop(server.at, None)
        self.recent[server.at] = self.stamp

    def cards_in(self, mask: int) -> Iterator[Card]:
        """The cards of a mask, first place first."""
        return map(self.at.__getitem__, places(mask))

    def servers_in(self, mask: int) -> Iterator[Server]:
        """The servers of a mask, first place first."""
        return map(self.server_at.__getitem__, places(mask))

    def capacity(self) -> Amount:
        """What the usable devices can hand out (ELA-304). Shares are 1 % or more: percents bound them."""
        usable = [card.device for card in self.at if card.is_usable]
        percent = sum(device.compute_capacity_percent for device in usable)
        return Amount(percent, sum(device.memory_capacity_mib for device in usable), percent)
