"""What the menus of both sides are made of: groups of pages, shown as far as the active role may go."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from django.urls import reverse
from django.utils.functional import Promise

from apps.kernel.actor import Actor
from apps.kernel.reach import Records


@dataclass(frozen=True, slots=True)
class Entry:
    """A page of the menu: open to who holds one of `permissions`, to everybody if there are none.

    Pages under its address belong to it, and those of the views that `beside` names. What is the whole tenant's is
    shown to who reaches all records of the kind `whole`. `counted` names the figure that stands beside it, which is
    `urgent` where somebody should look at once.
    """

    label: str | Promise
    icon: str
    view: str
    permissions: frozenset[str] = frozenset()
    beside: frozenset[str] = frozenset()
    whole: Records | None = None
    counted: str = ""
    is_urgent: bool = False

    @property
    def url(self) -> str:
        return reverse(self.view)

    @property
    def key(self) -> str:
        return self.view.replace(":", "-")

    def is_open_to(self, actor: Actor) -> bool:
        is_reached = self.whole is None or actor.reaches_all(self.whole)
        return is_reached and (not self.permissions or any(map(actor.may, self.permissions)))


@dataclass(frozen=True, slots=True)
class Group:
    """Pages under one heading, which a reader may fold away; `code` tells it apart."""

    code: str
    label: str | Promise
    icon: str
    entries: tuple[Entry, ...]


def entry(
    label: str | Promise,
    icon: str,
    view: str,
    *permissions: str,
    beside: Iterable[str] = (),
    whole: Records | None = None,
    counted: str = "",
    is_urgent: bool = False,
) -> Entry:
    return Entry(label, icon, view, frozenset(permissions), frozenset(beside), whole, counted, is_urgent)


def open_groups(groups: Iterable[Group], actor: Actor) -> list[Group]:
    """The groups with at least one page that the actor may open, with those pages only."""
    found = []
    for group in groups:
        entries = tuple(one for one in group.entries if one.is_open_to(actor))
        if entries:
            found.append(replace(group, entries=entries))
    return found


def place_of(
    groups: Iterable[Group], view: str, path: str, homes: Iterable[str]
) -> tuple[Group, Entry] | None:
    """The group and the entry that a page belongs to: by its view, else those with the nearest address above `path`.

    Every address begins as those of `homes` do: nothing belongs to them but themselves.
    """
    places = [(group, one) for group in groups for one in group.entries]
    for place in places:
        if view == place[1].view or view in place[1].beside:
            return place
    above = [place for place in places if place[1].view not in homes and path.startswith(place[1].url)]
    return max(above, key=lambda place: len(place[1].url), default=None)


def counts_within(group: Group, counts: Mapping[str, int]) -> int:
    """What waits on the pages of a group that is folded: the sum of its urgent figures."""
    return sum(counts.get(one.counted, 0) for one in group.entries if one.is_urgent)
