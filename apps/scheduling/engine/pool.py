"""The pool while a cycle works on it: what is free on each device, kept as grants come and go."""

from __future__ import annotations

from collections import Counter

from apps.scheduling.engine.types import Amount, Device, Grant, Node, Snapshot


class Card:
    """A device and what is left of it."""

    __slots__ = (
        "affine", "device", "exclusives", "free_mib", "free_percent", "holders", "server", "shunned", "used_mib",
        "used_percent", "words",
    )  # fmt: skip

    def __init__(self, device: Device, server: Server, words: Counter[str]) -> None:
        self.device = device
        self.words = words
        """Affinity words of the whole pool, with how many grants carry each."""
        self.affine: Counter[str] = Counter()
        self.shunned: Counter[str] = Counter()
        self.server = server
        self.used_percent = self.used_mib = self.holders = self.exclusives = 0
        self.free_percent = device.compute_capacity_percent
        self.free_mib = device.memory_capacity_mib

    def add(self, grant: Grant, sign: int) -> None:
        """Count a grant in (1) or out (-1). A card held whole has nothing left, oversold or not."""
        self.used_percent += sign * grant.compute_percent
        self.used_mib += sign * grant.memory_mib
        self.holders += sign
        self.exclusives += sign * grant.exclusive
        self._add_words(grant, sign)
        closed = self.exclusives > 0
        self.free_percent = 0 if closed else self.device.compute_capacity_percent - self.used_percent
        self.free_mib = 0 if closed else self.device.memory_capacity_mib - self.used_mib

    def _add_words(self, grant: Grant, sign: int) -> None:
        if grant.affinity:
            self.affine[grant.affinity] += sign
            self.words[grant.affinity] += sign
        if grant.anti_affinity:
            self.shunned[grant.anti_affinity] += sign

    def joins(self, affinity: str) -> bool:
        """Whether work of this affinity may lie here: work of the same word does, or none runs anywhere."""
        return not affinity or self.affine[affinity] > 0 or self.words[affinity] == 0

    def tolerates(self, affinity: str, anti_affinity: str) -> bool:
        """Whether neither side keeps the other off."""
        if affinity and self.shunned[affinity]:
            return False
        return not (anti_affinity and (self.affine[anti_affinity] or self.shunned[anti_affinity]))

    @property
    def is_usable(self) -> bool:
        """Whether new work may start here at all."""
        device, node = self.device, self.server.node
        return device.enabled and device.healthy and node.ready and node.schedulable

    @property
    def use(self) -> int:
        """Compute and memory in use together, permille of each added."""
        return self.use_with(0, 0)

    def use_with(self, percent: int, mib: int) -> int:
        """The same with so much more in use."""
        device = self.device
        return combined_use(
            self.used_percent + percent, device.compute_capacity_percent,
            self.used_mib + mib, device.memory_capacity_mib,
        )  # fmt: skip


class Server:
    """A node with its cards."""

    __slots__ = ("cards", "mib", "node", "percent", "used_mib", "used_percent")

    def __init__(self, node: Node) -> None:
        self.node = node
        self.cards: list[Card] = []
        self.percent = self.mib = self.used_percent = self.used_mib = 0

    @property
    def use(self) -> int:
        """Compute and memory of all its cards in use together, permille of each added."""
        return combined_use(self.used_percent, self.percent, self.used_mib, self.mib)


def combined_use(used_percent: int, percent: int, used_mib: int, mib: int) -> int:
    """Permille of compute plus permille of memory: 0 idle, 2000 full; a capacity of 0 counts as full."""
    compute = 1000 * used_percent // percent if percent else 1000
    return compute + (1000 * used_mib // mib if mib else 1000)


class Pool:
    """Servers and cards by identity, in an order that does not depend on the snapshot's."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.servers = {node.id: Server(node) for node in sorted(snapshot.nodes, key=lambda node: node.id)}
        self.cards: dict[str, Card] = {}
        self.words: Counter[str] = Counter()
        self.touched: list[Server] = []
        """Servers that took a grant, in order: placement reads on from where it last stood."""
        for device in sorted(snapshot.devices, key=lambda device: device.id):
            self._adopt(device)
        for work in snapshot.running:
            for grant in work.grants:
                self.take(grant)

    def _adopt(self, device: Device) -> None:
        server = self.servers.get(device.node_id)
        if server is None:
            return
        card = Card(device, server, self.words)
        self.cards[device.id] = card
        server.cards.append(card)
        server.percent += device.compute_capacity_percent
        server.mib += device.memory_capacity_mib

    def take(self, grant: Grant) -> None:
        """Count a grant in. One on a device that the pool no longer knows changes nothing."""
        self._count(grant, 1)

    def give(self, grant: Grant) -> None:
        """Count a grant out."""
        self._count(grant, -1)

    def _count(self, grant: Grant, sign: int) -> None:
        card = self.cards.get(grant.device_id)
        if card is None:
            return
        card.add(grant, sign)
        card.server.used_percent += sign * grant.compute_percent
        card.server.used_mib += sign * grant.memory_mib
        self.touched.append(card.server)

    def capacity(self) -> Amount:
        """What the usable devices can hand out (ELA-304). Shares are 1 % or more: percents bound them."""
        usable = [card.device for card in self.cards.values() if card.is_usable]
        percent = sum(device.compute_capacity_percent for device in usable)
        return Amount(percent, sum(device.memory_capacity_mib for device in usable), percent)
