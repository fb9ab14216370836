"""Every way of cutting a card is a provider behind one interface (ELA-105)."""

from __future__ import annotations

import inspect

import pytest

from node_agent.config import AgentSettings
from node_agent.drivers.base import Device, SliceDriver
from node_agent.drivers.registry import SLICE_DRIVERS, slice_drivers_load, supported

METHODS = ("refusal", "make", "resize", "remove")
CPU = Device(uid="cpu", index=0, vendor="cpu", model="CPU", memory_mib=100, cores=1, driver_version="1")


@pytest.mark.req("ELA-105")
def test_each_way_of_cutting_has_the_one_interface_and_says_what_it_serves() -> None:
    drivers = slice_drivers_load(AgentSettings(name="a"))
    assert set(drivers) == set(SLICE_DRIVERS), "each can be loaded, whatever the machine has"
    for name, driver in drivers.items():
        for method in METHODS:
            ours = list(inspect.signature(getattr(driver, method)).parameters)
            assert ours == list(inspect.signature(getattr(SliceDriver, method)).parameters)[1:], (
                name,
                method,
            )
        assert driver.kinds <= {"program", "session"}, name
    kinds = {name: driver.kinds for name, driver in drivers.items()}
    assert {"mig", "hami", "session", "time-slice"} <= set(kinds), "MIG, shared memory, remote, time"
    assert "session" in kinds["session"]


@pytest.mark.req("ELA-105")
def test_a_card_is_cut_by_those_ways_that_do_not_refuse_it_and_each_refusal_says_why() -> None:
    drivers = slice_drivers_load(AgentSettings(name="a"))
    able = supported(drivers, CPU)
    assert "mig" not in able
    for name, driver in drivers.items():
        assert bool(driver.refusal(CPU)) is (name not in able)
