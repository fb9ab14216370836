"""`mig`: a share of an NVIDIA card as a hardware instance of its own, made and destroyed beside its neighbours.

What is to be made is written down before it is made, so that an agent killed in between finds it again.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pynvml

from node_agent.config import AgentSettings
from node_agent.drivers.base import Device, DriverError, Setting, SliceSize
from node_agent.drivers.slices.mig_card import Instance, MigCard, Profile
from node_agent.protocol.slices import DesiredSlice

log = logging.getLogger("weir.agent")


def profile_choose(profiles: Sequence[Profile], compute_percent: int, memory_mib: int) -> Profile | None:
    """The smallest profile that gives at least the share and the memory; None if none does. Pure."""
    whole = max((profile.slices for profile in profiles), default=1)
    enough = [
        profile
        for profile in profiles
        if 100 * profile.slices >= compute_percent * whole and profile.memory_mib >= memory_mib
    ]
    return min(enough, key=lambda profile: (profile.slices, profile.memory_mib, profile.id), default=None)


def start_choose(places: Iterable[tuple[int, int]], taken: Iterable[Instance]) -> tuple[int, int] | None:
    """The first place that no existing instance overlaps. Pure."""
    others = list(taken)
    for start, size in places:
        if all(start + size <= item.start or item.start + item.size <= start for item in others):
            return start, size
    return None


def profile_name(profile: Profile, card_mib: int) -> str:
    """What NVIDIA calls a profile, as `nvidia-smi mig -lgip` shows it: 1g.10gb. The gigabytes are its eighths of the
    card's, which are counted in whole ones: of what the profile really has some is kept by the card. Pure."""
    card_gb = math.ceil(card_mib / 1024)
    eighths = math.ceil(8 * profile.memory_mib / max(card_mib, 1))
    return f"{profile.slices}g.{round(eighths * card_gb / 8)}gb"


def sizes_choose(profiles: Iterable[tuple[Profile, int]], card_mib: int) -> tuple[SliceSize, ...]:
    """What the profiles of a card of so much memory give, each with its places on an empty card; the smallest first.
    Whole percent, rounded down, so that as many as fit add up to no more than a card. Pure."""
    known = list(profiles)
    whole = max((profile.slices for profile, _ in known), default=1)
    found: dict[tuple[int, int], int] = {}
    names: dict[tuple[int, int], str] = {}
    for profile, places in known:
        size = (100 * profile.slices // whole, profile.memory_mib)
        found[size] = max(min(places, whole // profile.slices), found.get(size, 0))
        names[size] = profile_name(profile, card_mib)
    return tuple(SliceSize(*size, count, names[size]) for size, count in sorted(found.items()) if count)


class MigSlices:
    """Needs a card in MIG mode (`nvidia-smi -mig 1`); compute comes in the card's own slices, never less."""

    kinds = frozenset({"program", "session"})
    is_verified = False

    def __init__(self, settings: AgentSettings, nvml: Any = pynvml) -> None:
        self._nvml, self._records = nvml, settings.home / "mig"

    def refusal(self, device: Device) -> str:
        if device.vendor != "nvidia" or device.simulated:
            return "MIG is NVIDIA's"
        try:
            is_enabled = MigCard(self._nvml, device.uid).is_enabled
        except DriverError as error:
            return str(error)
        return "" if is_enabled else "the card is not in MIG mode: nvidia-smi -mig 1"

    def sizes(self, device: Device) -> tuple[SliceSize, ...]:
        """What the card offers; nothing where it does not say."""
        try:
            card = MigCard(self._nvml, device.uid)
            places = ((profile, len(card.starts(profile))) for profile in card.profiles())
            return sizes_choose(places, device.memory_mib)
        except DriverError as error:
            log.error("the sizes of %s are not known: %s", device.uid, error)
            return ()

    def make(self, wanted: DesiredSlice, device: Device) -> Setting:
        card = MigCard(self._nvml, device.uid)
        record = self._read(wanted.slice_uid) or self._plan(wanted, device, card)
        instance_id = self._found(record, card)
        if instance_id is None:
            profile = next(item for item in card.profiles() if item.id == record["profile_id"])
            instance_id = card.create(profile, record["start"], record["size"])
        uid = card.compute_uid(instance_id)
        self._write(wanted.slice_uid, record | {"instance_id": instance_id})
        return Setting(
            env={**device.visible_env, "CUDA_VISIBLE_DEVICES": uid},
            is_throttled=False,
            memory_enforced_by="mig",
            compute_enforced_by="mig",
            metered_uid=uid,
        )

    def resize(self, wanted_uid: str, compute_percent: int, memory_mib: int) -> None:
        raise DriverError("a MIG instance keeps its size: start the work anew, or use a session")

    def remove(self, slice_uid: str) -> None:
        record = self._read(slice_uid)
        if record is None:
            return
        card = MigCard(self._nvml, record["card"])
        instance_id = self._found(record, card)
        if instance_id is not None:
            card.destroy(instance_id)
        self._path(slice_uid).unlink(missing_ok=True)

    def _plan(self, wanted: DesiredSlice, device: Device, card: MigCard) -> dict[str, Any]:
        profile = profile_choose(card.profiles(), wanted.compute_percent, wanted.memory_mib)
        if profile is None:
            raise DriverError(f"no MIG profile gives {wanted.compute_percent} % and {wanted.memory_mib} MiB")
        place = start_choose(card.starts(profile), card.instances())
        if place is None:
            raise DriverError("no room on the card for a MIG instance of this size")
        record = {"card": device.uid, "profile_id": profile.id, "start": place[0], "size": place[1]}
        self._write(wanted.slice_uid, record)
        return record

    def _found(self, record: dict[str, Any], card: MigCard) -> int | None:
        """The instance of this record, made by whichever agent: by its number, else by its place."""
        for item in card.instances():
            is_placed = (item.profile_id, item.start) == (record["profile_id"], record["start"])
            if item.id == record.get("instance_id", item.id) and is_placed:
                return item.id
        return None

    def _path(self, slice_uid: str) -> Path:
        return self._records / f"{slice_uid}.json"

    def _read(self, slice_uid: str) -> dict[str, Any] | None:
        try:
            record = json.loads(self._path(slice_uid).read_text())
        except (OSError, ValueError):
            return None
        needed = {"card", "profile_id", "start", "size"}
        return record if isinstance(record, dict) and needed <= record.keys() else None

    def _write(self, slice_uid: str, record: dict[str, Any]) -> None:
        try:
            self._records.mkdir(mode=0o700, parents=True, exist_ok=True)
            part = self._records / f".{slice_uid}"
            part.write_text(json.dumps(record))
            part.replace(self._path(slice_uid))
        except OSError as error:
            raise DriverError(
                f"the MIG instance cannot be written down: {error.strerror}; look at the node's disk"
            ) from error
