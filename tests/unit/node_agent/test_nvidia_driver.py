"""NVIDIA cards as NVML tells of them, and what is made of it; tests/cards looks at a real one."""

from dataclasses import dataclass
from typing import Any

import pynvml
import pytest

from node_agent.config import AgentSettings
from node_agent.drivers.nvidia import NvidiaDriver

pytestmark = pytest.mark.req("POOL-10.2", "POOL-5-2")
MIB = 1 << 20


@dataclass
class Memory:
    total: int
    used: int
    reserved: int = 0


class H100:
    """What a real H100 answered (driver 580.159.04), by the name of the question."""

    answers: dict[str, Any] = {
        "nvmlInit": None,
        "nvmlDeviceGetCount": 1,
        "nvmlSystemGetDriverVersion": "580.159.04",
        "nvmlSystemGetCudaDriverVersion_v2": 13000,
        "nvmlDeviceGetHandleByIndex": "card",
        "nvmlDeviceGetUUID": "GPU-7fff539b",
        "nvmlDeviceGetName": "NVIDIA H100 80GB HBM3",
        "nvmlDeviceGetNumGpuCores": 16896,
        "nvmlDeviceGetCudaComputeCapability": (9, 0),
        "nvmlDeviceGetPowerUsage": 71_819,
        "nvmlDeviceGetTemperature": 34,
        "nvmlDeviceGetTotalEccErrors": 0,
    }
    knows_version_2 = True

    def __getattr__(self, name: str) -> Any:
        def asked(*_: Any) -> Any:
            if name not in self.answers:
                raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
            return self.answers[name]

        return asked

    def memory(self, _handle: Any, version: int | None = None) -> Memory:
        """The driver keeps 480 MiB; asked in the old way it counts them among what is used."""
        if version is None:
            return Memory(81559 * MIB, 483 * MIB)
        if not self.knows_version_2:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)
        return Memory(81559 * MIB, 3 * MIB, 480 * MIB)


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> H100:
    card = H100()
    card.answers = dict(H100.answers)
    for name in dir(pynvml):
        if name.startswith(("nvmlDeviceGet", "nvmlSystemGet")) or name == "nvmlInit":
            monkeypatch.setattr(pynvml, name, getattr(card, name))
    monkeypatch.setattr(pynvml, "nvmlDeviceGetMemoryInfo", card.memory)
    return card


def test_a_card_offers_what_programs_may_hold_of_it(nvml: H100) -> None:
    driver = NvidiaDriver(AgentSettings())
    (card,) = driver.discover()
    assert (card.model, card.cores, card.apis["CUDA"]) == ("NVIDIA H100 80GB HBM3", 132, "13.0")
    assert card.memory_mib == 81079
    assert card.is_verified
    found = driver.measure(card)
    assert (found.memory_used_mib, found.power_w, found.health) == (3, 71.819, "ok")


def test_an_old_driver_counts_what_it_keeps(nvml: H100) -> None:
    nvml.knows_version_2 = False
    driver = NvidiaDriver(AgentSettings())
    (card,) = driver.discover()
    assert card.memory_mib == 81559
    assert driver.measure(card).memory_used_mib == 483


@pytest.mark.parametrize(
    ("cores", "capability", "multiprocessors"),
    [
        (6912, (8, 0), 108),
        (10752, (8, 6), 84),
        (5120, (7, 0), 80),
        (21760, (12, 0), 170),
        (1, (99, 0), 0),
        (0, (9, 0), 0),
    ],
)
def test_multiprocessors_by_generation(
    nvml: H100, cores: int, capability: tuple[int, int], multiprocessors: int
) -> None:
    nvml.answers |= {"nvmlDeviceGetNumGpuCores": cores, "nvmlDeviceGetCudaComputeCapability": capability}
    (card,) = NvidiaDriver(AgentSettings()).discover()
    assert card.cores == multiprocessors


def test_a_card_that_says_little_is_a_card(nvml: H100) -> None:
    for name in ("nvmlDeviceGetNumGpuCores", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetTemperature"):
        del nvml.answers[name]
    driver = NvidiaDriver(AgentSettings())
    (card,) = driver.discover()
    found = driver.measure(card)
    assert (card.cores, found.power_w, found.temperature_c, found.health) == (0, None, None, "ok")


def test_bad_memory_and_a_silent_card_are_told(nvml: H100, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = NvidiaDriver(AgentSettings())
    (card,) = driver.discover()
    nvml.answers["nvmlDeviceGetTotalEccErrors"] = 2
    assert driver.measure(card).health_reason == "2 uncorrected memory errors since the driver started"

    def lost(*_: Any, **__: Any) -> None:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_GPU_IS_LOST)

    monkeypatch.setattr(pynvml, "nvmlDeviceGetMemoryInfo", lost)
    assert driver.measure(card).health == "failed"
