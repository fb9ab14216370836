"""One NVIDIA card in MIG mode, through NVML's library: its profiles, and instances made and destroyed."""

from __future__ import annotations

from ctypes import byref, c_uint
from dataclasses import dataclass
from typing import Any

from node_agent.drivers.base import DriverError

_MOST = 16


@dataclass(frozen=True, slots=True)
class Profile:
    """One size of instance the card offers: `slices` of all its compute slices, MiB of memory."""

    id: int
    slices: int
    memory_mib: int


@dataclass(frozen=True, slots=True)
class Instance:
    """A GPU instance that exists, by the card's number for it."""

    id: int
    profile_id: int
    start: int
    size: int


class MigCard:
    """`nvml` is the pynvml module. Every method raises DriverError with the card's own words."""

    def __init__(self, nvml: Any, uid: str) -> None:
        self._nvml = nvml
        try:
            nvml.nvmlInit()
            self._card = nvml.nvmlDeviceGetHandleByUUID(uid)
        except nvml.NVMLError as error:
            raise DriverError(f"the card {uid} does not answer: {error}") from error

    @property
    def is_enabled(self) -> bool:
        """Whether the card is in MIG mode now."""
        try:
            return bool(self._nvml.nvmlDeviceGetMigMode(self._card)[0])
        except self._nvml.NVMLError:
            return False

    def profiles(self) -> list[Profile]:
        """The profiles of this card; those it does not know are passed over."""
        found = []
        for number in range(self._nvml.NVML_GPU_INSTANCE_PROFILE_COUNT):
            try:
                info = self._nvml.nvmlDeviceGetGpuInstanceProfileInfo(self._card, number)
            except self._nvml.NVMLError:
                continue
            found.append(Profile(info.id, info.sliceCount, info.memorySizeMB))
        return found

    def starts(self, profile: Profile) -> list[tuple[int, int]]:
        """Start and size of each place where the profile fits on an empty card."""
        places, count = (self._nvml.c_nvmlGpuInstancePlacement_t * _MOST)(), c_uint(_MOST)
        self._ask(
            self._nvml.nvmlDeviceGetGpuInstancePossiblePlacements,
            self._card,
            profile.id,
            places,
            byref(count),
        )
        return [(place.start, place.size) for place in places[: count.value]]

    def instances(self) -> list[Instance]:
        """Everything that exists on the card, ours or not."""
        return [item for profile in self.profiles() for item in self._instances(profile.id)]

    def _instances(self, profile_id: int) -> list[Instance]:
        rows, count = (self._nvml.c_nvmlGpuInstance_t * _MOST)(), c_uint(_MOST)
        self._ask(self._nvml.nvmlDeviceGetGpuInstances, self._card, profile_id, rows, byref(count))
        infos = [self._ask(self._nvml.nvmlGpuInstanceGetInfo, row) for row in rows[: count.value]]
        return [
            Instance(info.id, info.profileId, info.placement.start, info.placement.size) for info in infos
        ]

    def create(self, profile: Profile, start: int, size: int) -> int:
        """Make an instance at a place, neighbours untouched; returns its number."""
        place = self._nvml.c_nvmlGpuInstancePlacement_t(start, size)
        made = self._ask(
            self._nvml.nvmlDeviceCreateGpuInstanceWithPlacement, self._card, profile.id, byref(place)
        )
        return int(self._ask(self._nvml.nvmlGpuInstanceGetInfo, made).id)

    def compute_uid(self, instance_id: int) -> str:
        """The uid by which a work sees the instance; its one compute instance is made if it is missing."""
        found = self._find_uid(instance_id)
        if found:
            return found
        instance = self._ask(self._nvml.nvmlDeviceGetGpuInstanceById, self._card, instance_id)
        self._ask(self._nvml.nvmlGpuInstanceCreateComputeInstance, instance, self._whole(instance).id)
        found = self._find_uid(instance_id)
        if not found:
            raise DriverError(f"the card made MIG instance {instance_id} and does not show it")
        return found

    def destroy(self, instance_id: int) -> None:
        """Take an instance and its compute instance away; one already gone is passed over."""
        if all(item.id != instance_id for item in self.instances()):
            return
        instance = self._ask(self._nvml.nvmlDeviceGetGpuInstanceById, self._card, instance_id)
        rows, count = (self._nvml.c_nvmlComputeInstance_t * _MOST)(), c_uint(_MOST)
        self._ask(
            self._nvml.nvmlGpuInstanceGetComputeInstances,
            instance,
            self._whole(instance).id,
            rows,
            byref(count),
        )
        for row in rows[: count.value]:
            self._ask(self._nvml.nvmlComputeInstanceDestroy, row)
        self._ask(self._nvml.nvmlGpuInstanceDestroy, instance)

    def _whole(self, instance: Any) -> Any:
        """The compute profile that takes the whole instance: the one of most slices."""
        infos = []
        for number in range(self._nvml.NVML_COMPUTE_INSTANCE_PROFILE_COUNT):
            try:
                infos.append(self._nvml.nvmlGpuInstanceGetComputeInstanceProfileInfo(instance, number, 0))
            except self._nvml.NVMLError:
                continue
        if not infos:
            raise DriverError("the MIG instance offers no compute profile")
        return max(infos, key=lambda info: info.sliceCount)

    def _find_uid(self, instance_id: int) -> str:
        nvml = self._nvml
        for index in range(self._ask(nvml.nvmlDeviceGetMaxMigDeviceCount, self._card)):
            try:
                part = nvml.nvmlDeviceGetMigDeviceHandleByIndex(self._card, index)
                if nvml.nvmlDeviceGetGpuInstanceId(part) == instance_id:
                    return str(nvml.nvmlDeviceGetUUID(part))
            except nvml.NVMLError:
                continue
        return ""

    def _ask(self, question: Any, *arguments: Any) -> Any:
        try:
            return question(*arguments)
        except self._nvml.NVMLError as error:
            raise DriverError(f"the card refused ({question.__name__}): {error}") from error
