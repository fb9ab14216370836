"""Reads: the MIG profiles that the pool's cards give, by the names that their vendor has for them."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext as _

from apps.fleet.errors import NoSuchMigProfile
from apps.fleet.models import Device
from apps.kernel.unit_text import mib_text

MIG_DRIVER = "mig"


@dataclass(frozen=True, slots=True)
class MigProfile:
    """A profile of the cards of one model: percent and MiB of an instance, and how many all of them give together."""

    name: str
    compute_percent: int
    memory_mib: int
    vendor: str
    model: str
    count: int

    @property
    def text(self) -> str:
        """As pickers show it."""
        return f"{self.name} · {self.model} · {self.compute_percent} % · {mib_text(self.memory_mib)}"


def mig_profiles(*, vendor: str = "", model: str = "") -> list[MigProfile]:
    """What the cards in MIG mode give, the smallest first; those of one vendor or model where one is named."""
    rows = Device.objects.filter(left_at=None, is_enabled=True, missing_at=None).exclude(slice_sizes=[])
    wanted = {name: word for name, word in (("vendor", vendor), ("model", model)) if word}
    counts: dict[tuple[str, int, int, str, str], int] = {}
    for maker, card, sizes in rows.filter(**wanted).values_list("vendor", "model", "slice_sizes"):
        for size in sizes:
            if size.get("name"):
                key = (size["name"], size["compute_percent"], size["memory_mib"], maker, card)
                counts[key] = counts.get(key, 0) + size["count"]
    made = [MigProfile(*key, count) for key, count in counts.items()]
    return sorted(made, key=lambda one: (one.compute_percent, one.memory_mib, one.name, one.model))


def mig_profile_get(name: str, *, vendor: str = "", model: str = "") -> MigProfile:
    """The profile of that name. NoSuchMigProfile lists those that there are; where cards of several models give it in
    different sizes, it asks for the model."""
    there = mig_profiles(vendor=vendor, model=model)
    found = [one for one in there if one.name == name.strip().lower()]
    if not found:
        raise NoSuchMigProfile(
            _("No card here gives the MIG profile %(name)s.") % {"name": name},
            cure=_names_cure({one.name: one for one in there}),
            fields={"mig_profile": _("No card here gives it.")},
        )
    if len({(one.compute_percent, one.memory_mib) for one in found}) > 1:
        told = "; ".join(f"{one.model}: {one.compute_percent} %, {mib_text(one.memory_mib)}" for one in found)
        raise NoSuchMigProfile(
            _("%(name)s is not the same on all cards: %(sizes)s.") % {"name": name, "sizes": told},
            cure=_("Name the card model too."),
            fields={"model": _("Name the card model too.")},
        )
    return found[0]


def _names_cure(names: Iterable[str]) -> str:
    listed = ", ".join(names)
    if not listed:
        return str(_("The centre has no card in MIG mode."))
    return str(_("There are: %(names)s.") % {"names": listed})
