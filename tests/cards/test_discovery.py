"""What the agent says of a card against what `nvidia-smi` says of it."""

import pytest

from node_agent.config import AgentSettings
from node_agent.drivers.nvidia import NvidiaDriver
from node_agent.drivers.registry import sizes_of, slice_drivers_load, supported
from tests.cards.smi import smi

pytestmark = pytest.mark.req("POOL-10.2", "POOL-5-2")


def test_what_it_is(card):
    name, uid, driver = smi(card.uid, "name", "uuid", "driver_version")
    print(card)
    assert (card.vendor, card.model, card.uid) == ("nvidia", name, uid)
    # What programs may hold: the driver keeps the rest for itself.
    whole_mib, kept_mib = map(int, smi(card.uid, "memory.total", "memory.reserved"))
    assert abs(card.memory_mib - (whole_mib - kept_mib)) <= 1
    assert card.driver_version == driver
    assert not card.simulated
    major, _, minor = card.apis["CUDA"].partition(".")
    assert int(major) >= 11
    assert minor.isdigit()


def test_how_much_pytorch_finds(card):
    torch = pytest.importorskip("torch", reason="PyTorch is not here")
    found = torch.cuda.get_device_properties(0)
    assert card.cores == found.multi_processor_count
    assert abs(card.memory_mib - (found.total_memory >> 20)) <= 1


@pytest.mark.req("POOL-12.19")
def test_what_it_does_now(card):
    driver = NvidiaDriver(AgentSettings())
    driver.discover()
    found = driver.measure(card)
    used_mib, temperature_c, power_w = smi(card.uid, "memory.used", "temperature.gpu", "power.draw.instant")
    print(found)
    assert abs(found.memory_used_mib - int(used_mib)) <= 64
    assert abs(found.temperature_c - float(temperature_c)) <= 3
    assert abs(found.power_w - float(power_w)) <= max(20.0, 0.2 * float(power_w))
    assert found.power_source == "measured"
    assert 0 <= found.utilisation_percent <= 100
    errors = smi(card.uid, "ecc.errors.uncorrected.volatile.total")[0]
    assert found.health == ("degraded" if errors.isdigit() and int(errors) else "ok")


@pytest.mark.req("POOL-7.3b")
def test_which_ways_of_cutting_it_offers(card):
    drivers = slice_drivers_load(AgentSettings())
    mode = smi(card.uid, "mig.mode.current")[0]
    is_mig = mode == "Enabled"
    assert ("mig" in supported(drivers, card)) == is_mig
    if not is_mig:
        assert "time-slice" in supported(drivers, card)
        assert drivers["mig"].refusal(card) == "the card is not in MIG mode: nvidia-smi -mig 1"
        assert sizes_of(drivers, card) == ()
