"""A vendor whose cards are known by its management tool. Each vendor is one file: what to run, how to read it."""

from __future__ import annotations

import importlib.util
import logging
import re
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from node_agent.config import AgentSettings
from node_agent.drivers.base import Device, Measurement
from node_agent.drivers.tool import ToolError, tool_run
from node_agent.protocol.fields import Health
from node_agent.sessions.available import torch_version

FRESH_S = 2.5
INDEX_MAX, MEMORY_MAX_MIB = 255, 64 * 1024 * 1024
PCI_DEVICES = Path("/sys/bus/pci/devices")
_VERSION = re.compile(r"\d+(?:\.[0-9A-Za-z]+)+")
_NO_KEY = {"N/A", "NA", "NONE", "UNKNOWN", "[N/A]"}
_NOT_UID = re.compile(r"[^A-Za-z0-9._:-]+")

log = logging.getLogger("weir.agent")


@dataclass(frozen=True, slots=True)
class Card:
    """One card as its tool tells of it; None where it does not. `key` is its serial number, uuid or bus."""

    index: int
    model: str
    memory_mib: int | None
    key: str = ""
    used_mib: int | None = None
    utilisation_percent: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    health: Health = "ok"
    health_reason: str = ""
    driver_version: str = ""
    apis: dict[str, str] = field(default_factory=dict)


class ToolDriver:
    """Discovers and measures by running the tool; a tool that hangs or prints garbage makes its cards
    degraded, and says so. Subclasses give the class attributes and `parse`."""

    vendor: ClassVar[str]
    tool: str
    arguments: ClassVar[tuple[str, ...]] = ()
    visible: ClassVar[str] = ""
    """The environment variable that lets a process see only some cards, by index."""
    torch_name: ClassVar[str] = ""
    """How PyTorch calls such a device, and the module that teaches it to (none: a CUDA look-alike)."""
    torch_module: ClassVar[str] = ""
    api: ClassVar[str] = ""
    api_file: ClassVar[str] = ""
    """The programming interface, and the file that tells its version."""

    def __init__(self, settings: AgentSettings) -> None:
        self._node = settings.name
        self._cards: dict[str, Card] = {}
        self._devices: tuple[Device, ...] = ()
        self._read_s = float("-inf")
        self._trouble = ""

    def parse(self, text: str) -> Sequence[Card]:
        """The cards in what the tool printed; none where it makes no sense. Pure."""
        raise NotImplementedError

    def discover(self) -> tuple[Device, ...]:
        if shutil.which(self.tool) is None:
            return ()
        self._look()
        return self._devices

    def measure(self, device: Device) -> Measurement:
        if time.monotonic() - self._read_s > FRESH_S:
            self._look()
        card = self._cards.get(device.uid)
        if card is None:
            return Measurement(health="failed", health_reason=f"{self.tool} no longer lists this card")
        if self._trouble:
            return Measurement(health="degraded", health_reason=self._trouble)
        return Measurement(
            utilisation_percent=card.utilisation_percent,
            memory_used_mib=card.used_mib,
            temperature_c=card.temperature_c,
            power_w=card.power_w,
            power_source="measured" if card.power_w is not None else "",
            health=card.health,
            health_reason=card.health_reason,
        )

    def _look(self) -> None:
        """Run the tool once. Cards once seen stay known while it gives no sensible answer."""
        self._read_s = time.monotonic()
        try:
            cards = [_sane(card) for card in self.parse(self._output()) if _is_card(card)]
            trouble = "" if cards else f"{self.tool} prints nothing that makes sense; run it by hand"
        except ToolError as error:
            cards, trouble = [], f"{error}; run it by hand"
        except Exception as error:  # a version of the tool nobody has met must not take the node along
            cards, trouble = [], f"what {self.tool} prints is not understood: {error!r}"[:400]
        if trouble and trouble != self._trouble:
            log.warning("%s cards: %s", self.vendor, trouble)
        self._trouble = trouble
        if not trouble:
            self._know(cards)

    def _output(self) -> str:
        return tool_run([self.tool, *self.arguments])

    def _know(self, cards: Sequence[Card]) -> None:
        self._cards = {}
        for card in cards:
            uid = self._uid(card)
            self._cards[f"{uid}-{card.index}" if uid in self._cards else uid] = card
        gone = tuple(device for device in self._devices if device.uid not in self._cards)
        self._devices = (*(self._device(uid, card) for uid, card in self._cards.items()), *gone)

    def _uid(self, card: Card) -> str:
        key = "" if card.key.upper() in _NO_KEY else _NOT_UID.sub("-", card.key).strip("-.:_")
        return f"{self.vendor}-{key or f'{self._node}-{card.index}'}"[:90]

    def _device(self, uid: str, card: Card) -> Device:
        return Device(
            uid=uid,
            index=card.index,
            vendor=self.vendor,
            model=card.model.strip()[:200] or self.vendor,
            memory_mib=card.memory_mib or 0,
            cores=0,
            driver_version=card.driver_version[:64],
            apis=card.apis or self._apis(),
            numa_node=numa_node(card.key),
            is_verified=False,
            torch_device=self._torch_device(),
            visible_env={self.visible: str(card.index)} if self.visible else {},
        )

    def _apis(self) -> dict[str, str]:
        try:
            match = _VERSION.search(Path(self.api_file).read_text(errors="replace")[:4096])
        except OSError:
            match = None
        return {self.api: match.group() if match else ""} if self.api else {}

    def _torch_device(self) -> str:
        """Empty where this node's PyTorch has no backend for such cards."""
        version = torch_version()
        if not version or not self.torch_name:
            return ""
        if self.torch_module:
            return self.torch_name if importlib.util.find_spec(self.torch_module) else ""
        return "" if version.endswith("+cpu") else self.torch_name


def _is_card(card: Card) -> bool:
    """Whether there can be such a card: it has a place and memory."""
    return 0 <= card.index <= INDEX_MAX and 0 < (card.memory_mib or 0) < MEMORY_MAX_MIB


def _sane(card: Card) -> Card:
    """The card without readings that no card can have, and without what cannot be shown."""
    return replace(
        card,
        model=_printable(card.model),
        driver_version=_printable(card.driver_version),
        health_reason=_printable(card.health_reason),
        apis={name: _printable(version) for name, version in card.apis.items()},
        used_mib=card.used_mib if 0 <= (card.used_mib or 0) <= MEMORY_MAX_MIB else None,
        utilisation_percent=_within(card.utilisation_percent, 0, 100),
        temperature_c=_within(card.temperature_c, -50, 200),
        power_w=_within(card.power_w, 0, 5000),
    )


def _within(value: float | None, least: float, most: float) -> float | None:
    return value if value is not None and least <= value <= most else None


def _printable(text: str) -> str:
    return "".join(character for character in text if character.isprintable())[:200]


def numa_node(bus: str) -> int | None:
    """Which part of the machine's memory is near a card on this PCI bus; None where nobody knows."""
    try:
        node = int((PCI_DEVICES / bus.lower() / "numa_node").read_text()) if bus else -1
    except (OSError, ValueError):
        return None
    return node if node >= 0 else None
