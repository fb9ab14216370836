"""On which hardware a test ran: the kinds of device it used, and what may be said of a level shown on them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from apps.conformance.catalogue.entries import Text

Json = Mapping[str, Any]
# The vendor that a node's own processor is listed under. It is offered as an accelerator, and is no vendor's card.
CPU = "cpu"
_NAMES = {
    "cards": Text("on cards", "在加速卡上"),
    "cpu": Text("on CPU devices", "在CPU设备上"),
    "simulated": Text("simulated", "为模拟设备"),
    "none": Text("without a device", "不涉及设备"),
}


def is_card(device: Json) -> bool:
    """Whether it is an accelerator of a vendor, real or simulated, and not a processor offered as one."""
    return bool(device["vendor"] != CPU)


def kinds_of(devices: Iterable[Json]) -> list[dict[str, Any]]:
    """Vendor, model and whether it is simulated, each kind once."""
    names = ("vendor", "model", "is_simulated")
    found = {tuple(device[name] for name in names) for device in devices}
    return [dict(zip(names, kind, strict=True)) for kind in sorted(found)]


def kind_of(hardware: Iterable[Json]) -> str:
    """What a test ran on, by its weakest part: simulated, cpu, cards; none where it used no device."""
    kinds = list(hardware)
    if any(kind["is_simulated"] for kind in kinds):
        return "simulated"
    if any(not is_card(kind) for kind in kinds):
        return CPU
    return "cards" if kinds else "none"


def counted(tests: Iterable[Iterable[Json]]) -> dict[str, int]:
    """How many of the tests ran on which hardware."""
    found = Counter(kind_of(hardware) for hardware in tests)
    return {name: found[name] for name in _NAMES if found[name]}


def sentence(counts: Mapping[str, int]) -> Text:
    """`25 on CPU devices; 1 simulated`, in both languages."""
    parts = [(count, _NAMES[name]) for name, count in counts.items()]
    return Text(
        "; ".join(f"{count} {text.en}" for count, text in parts),
        "；".join(f"{count}项{text.zh}" for count, text in parts),
    )
