"""Quotas as a tree: each holder's bound, and what is kept back for holders with an idle guarantee."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from apps.scheduling.engine.model.types import Amount, Grant, Limit, Param, Quota, Reason, ReasonCode

DIMENSIONS = ("compute_percent", "memory_mib", "shares")

Triple = tuple[int, int, int]
ZERO: Triple = (0, 0, 0)
NOTHING_KEPT = [0, 0, 0]
ROOT_ID = ""


def triple(amount: Amount) -> Triple:
    """The amount in the order of `DIMENSIONS`."""
    return (amount.compute_percent, amount.memory_mib, amount.shares)


def granted(grants: Iterable[Grant]) -> Triple:
    """What the grants add up to."""
    percent = mib = count = 0
    for grant in grants:
        percent += grant.compute_percent
        mib += grant.memory_mib
        count += 1
    return (percent, mib, count)


def _bound(nominal: Limit, borrow: Amount) -> tuple[int | None, ...]:
    owned = (nominal.compute_percent, nominal.memory_mib, nominal.shares)
    return tuple(None if own is None else own + more for own, more in zip(owned, triple(borrow), strict=True))


class Holder:
    """One queue or tenant: its bound, its use (with all below it) and what it keeps from its siblings."""

    __slots__ = (
        "bound",
        "bounded",
        "guaranteed",
        "id",
        "is_guaranteed",
        "kept",
        "kept_below",
        "lend",
        "line",
        "parent",
        "used",
    )

    def __init__(self, holder_id: str, quota: Quota, parent: Holder | None) -> None:
        self.id = holder_id
        self.parent = parent
        self.bound = _bound(quota.nominal, quota.borrow)
        self.guaranteed = triple(quota.guaranteed)
        self.is_guaranteed = self.guaranteed != ZERO
        self.lend = (quota.lend.compute_percent, quota.lend.memory_mib, quota.lend.shares)
        self.used = [0, 0, 0]
        self.kept_below = [0, 0, 0]
        self.kept = [0, 0, 0]
        self.line: tuple[Holder, ...] = (self, *(parent.line if parent else ()))
        """It and all above it."""
        self.bounded = tuple((above, self.line[i - 1] if i else None) for i, above in enumerate(self.line)
                             if above.bound != (None, None, None) and above.parent is not None)  # fmt: skip
        """Those of them that have a bound, each with the next below; without the root."""
        self.keep()

    def keep(self) -> None:
        """Work out anew what is kept: the idle part of the guarantee less what may be lent."""
        for i, lend in enumerate(self.lend):
            idle = max(0, self.guaranteed[i] - self.used[i])
            kept = 0 if lend is None else max(0, idle - lend)
            if self.parent is not None:
                self.parent.kept_below[i] += kept - self.kept[i]
            self.kept[i] = kept

    @property
    def is_below_guarantee(self) -> bool:
        """Whether it has a guarantee, and none of it is used up."""
        return self.guaranteed != ZERO and all(
            self.used[i] < own for i, own in enumerate(self.guaranteed) if own
        )

    def within_guarantee(self, amount: Triple) -> bool:
        """Whether its use and so much more is all guaranteed, in each dimension that has a guarantee."""
        return self.guaranteed != ZERO and all(
            not own or self.used[i] + amount[i] <= own for i, own in enumerate(self.guaranteed)
        )

    def keeps_guarantee_without(self, amount: Triple) -> bool:
        """Whether it has its guarantee still when so much less is used."""
        return all(self.used[i] - amount[i] >= own for i, own in enumerate(self.guaranteed) if own)


class QuotaTree:
    """All holders of one kind. `capacity` is what the root has to divide when guarantees are kept back."""

    def __init__(
        self,
        code: ReasonCode,
        quotas: Mapping[str, Quota],
        *,
        parents: Mapping[str, str | None] | None = None,
        capacity: Amount | None = None,
    ) -> None:
        self._code = code
        self._quotas = quotas
        self._parents = parents or {}
        self.has_guarantees = any(triple(quota.guaranteed) != ZERO for quota in quotas.values())
        self._root = Holder(ROOT_ID, Quota(), None)
        self.divide(capacity)
        self._holders: dict[str, Holder] = {}
        for holder_id in sorted(quotas):
            self.holder(holder_id)

    def divide(self, capacity: Amount | None) -> None:
        """The root has so much to divide now."""
        nominal = Limit() if capacity is None else Limit(*triple(capacity))
        self._root.bound = _bound(nominal, Amount())

    def holder(self, holder_id: str, below: frozenset[str] = frozenset()) -> Holder:
        """The holder of this identity; without a quota of its own it has no bound."""
        holder = self._holders.get(holder_id)
        return holder or self._make(holder_id, below)

    def _make(self, holder_id: str, below: frozenset[str]) -> Holder:
        if holder_id in below:
            raise ValueError(
                f"The queues form a cycle through {holder_id!r}: give one of them another parent."
            )
        parent_id = self._parents.get(holder_id)
        parent = self._root if parent_id is None else self.holder(parent_id, below | {holder_id})
        quota = self._quotas.get(holder_id, Quota())
        made = self._holders[holder_id] = Holder(holder_id, quota, parent)
        return made

    def add(self, holder_id: str, amount: Triple, sign: int = 1) -> None:
        """Count use in (or out, sign -1) for the holder and all above it."""
        percent, mib, shares = amount if sign > 0 else (-amount[0], -amount[1], -amount[2])
        for holder in (self._holders.get(holder_id) or self.holder(holder_id)).line:
            used = holder.used
            used[0] += percent
            used[1] += mib
            used[2] += shares
            if holder.is_guaranteed:
                holder.keep()

    def shortage(self, holder_id: str, amount: Triple) -> Reason | None:
        """What stands against `amount` more for the holder; None when nothing does."""
        asking = self._holders.get(holder_id) or self.holder(holder_id)
        if not asking.bounded and self._root.kept_below == NOTHING_KEPT:
            return None
        found = self.short(holder_id, amount)
        return None if found is None else self._reason(*found, amount)

    def short(self, holder_id: str, amount: Triple) -> tuple[Holder, int, int] | None:
        """The first holder in whose bound `amount` more does not go, in which dimension, and what it keeps."""
        asking = self.holder(holder_id)
        for holder, child in asking.bounded:
            found = _too_much(holder, child, amount)
            if found is not None:
                return holder, *found
        # The root is no limit of its own: the devices are. It only keeps guarantees.
        root = self._root
        if root.kept_below != NOTHING_KEPT:
            found = _too_much(root, asking.line[-2], amount, least_kept=1)
            if found is not None:
                return root, *found
        return None

    def exceeds(self, holder_id: str, amount: Triple) -> bool:
        """Whether `amount` is beyond a bound even when nothing is used."""
        return any(
            holder is not self._root and bound is not None and amount[i] > bound
            for holder in self.holder(holder_id).line
            for i, bound in enumerate(holder.bound)
        )

    def used(self, holder_id: str) -> Triple:
        """What the holder and all below it use now."""
        percent, mib, shares = self.holder(holder_id).used
        return (percent, mib, shares)

    @property
    def capacity(self) -> tuple[int, int]:
        """Percent and MiB that the root has to divide, 1 at least."""
        percent, mib, _ = self._root.bound
        return (percent or 1, mib or 1)

    def _reason(self, holder: Holder, i: int, kept: int, amount: Triple) -> Reason:
        params: tuple[tuple[str, Param], ...] = (
            ("holder", holder.id), ("dimension", DIMENSIONS[i]), ("limit", holder.bound[i]),
            ("used", holder.used[i]), ("kept", kept), ("asked", amount[i]),
        )  # fmt: skip
        return Reason(self._code, params)


def _too_much(
    holder: Holder, child: Holder | None, amount: Triple, least_kept: int = 0
) -> tuple[int, int] | None:
    """In which dimension the amount goes beyond the holder's bound, and what is kept there for others; only those
    dimensions in which `least_kept` is."""
    for i, bound in enumerate(holder.bound):
        if bound is not None:
            kept = holder.kept_below[i] - (child.kept[i] if child else 0)
            if kept >= least_kept and holder.used[i] + amount[i] + kept > bound:
                return i, kept
    return None
