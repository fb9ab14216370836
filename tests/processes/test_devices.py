"""The devices of a node: plugged in and out while it runs, pretended, hanging, raising."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from node_agent import devices as watching
from node_agent.address import bind_address, data_address
from node_agent.config import AgentSettings, CpuPlan, SimulatedPlan
from node_agent.devices import Devices, DriverWatch, report_of
from node_agent.drivers.base import Device, DriverError, Measurement
from node_agent.drivers.cpu import CpuDriver
from node_agent.drivers.machine_meter import CpuMeter, Rapl, modelled_w
from node_agent.node import Node
from node_agent.protocol.messages import DesiredSlice, WorkSpec
from node_agent.remote_config import Configured
from node_agent.runtime.process_runtime import ProcessRuntime

CARD = Device(uid="card", index=0, vendor="x", model="X1", memory_mib=100, cores=1, driver_version="1")


@pytest.mark.req("POOL-12.25")
def test_a_card_is_plugged_in_by_an_edit_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "devices.json"
    driver = CpuDriver(AgentSettings(name="a", devices=CpuPlan(1, 1, 512), devices_file=file))
    first = driver.discover()
    assert len(first) == 1
    file.write_text(json.dumps({"count": 2, "memory_mib": 512, "cores": 1}))
    assert [device.uid for device in driver.discover()][:1] == [first[0].uid]
    assert len(driver.discover()) == 2
    for nonsense in ("", "[]", '{"count": -1}', '{"count": "2"}', '{"count": 9999}', "{"):
        file.write_text(nonsense)
        assert len(driver.discover()) == 2, nonsense
    file.write_text('{"count": 1}')
    assert len(driver.discover()) == 1


@pytest.mark.req("POOL-12.26")
def test_pretended_cards_say_so_and_keep_their_uid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIR_AGENT_SIMULATE", "ascend:2:Ascend 910B:65536, cambricon:1:MLU370:49152")
    settings = AgentSettings(name="a", devices=CpuPlan(0))
    assert settings.simulate[0] == SimulatedPlan("ascend", 2, "Ascend 910B", 65536)
    reports = Node(Configured(settings)).reports()
    seen = [(item.vendor, item.model, item.memory_mib, item.simulated, item.is_verified) for item in reports]
    assert seen == [("ascend", "Ascend 910B", 65536, True, False)] * 2 + [
        ("cambricon", "MLU370", 49152, True, False)
    ]
    assert len({item.uid for item in reports}) == 3
    assert [item.uid for item in Node(Configured(settings)).reports()] == [item.uid for item in reports]
    assert all("cpu" in item.slice_drivers and "time-slice" not in item.slice_drivers for item in reports)


@pytest.mark.parametrize("text", ["ascend", "ascend:0:A:1", "ASC:1:A:1", "a:1::1", "a:1:b:0", "a:100:b:1"])
def test_a_wrong_pretence_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("WEIR_AGENT_SIMULATE", text)
    with pytest.raises(ValueError, match="write <vendor>"):
        AgentSettings()


class Odd:
    """A driver that does what a test says."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.error: Exception | None = None
        self.cards: tuple[Device, ...] = (CARD,)

    def discover(self) -> tuple[Device, ...]:
        self.gate.wait(30)
        return self.cards

    def measure(self, device: Device) -> Measurement:
        if self.error:
            raise self.error
        return Measurement(utilisation_percent=5)


def looked(found: Devices, is_so: Callable[..., bool]) -> bool:
    """Whether one of the next looks shows it: the drivers are asked by threads of their own."""
    return any(is_so(*found.look()) for _ in range(200))


@pytest.mark.req("POOL-10.2")
def test_a_driver_that_hangs_or_raises_costs_only_its_own_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MEASURE_S", "DISCOVER_S"):
        monkeypatch.setattr(watching, name, 0.0)
    odd, good = Odd(), Odd()
    good.cards = (
        Device(uid="good", index=1, vendor="y", model="Y", memory_mib=1, cores=1, driver_version="1"),
    )
    found = Devices({"x": odd, "y": good}, {})
    assert [item.measured.health for item in found.look()] == ["ok", "ok"]
    monkeypatch.setattr(watching, "WAIT_S", 0.2)
    monkeypatch.setattr(watching, "SILENT_S", 0.1)
    odd.gate.clear()
    began = time.monotonic()
    looks = [found.look() for _ in range(3)]
    assert time.monotonic() - began < 60
    assert "has not answered for" in looks[-1][0].measured.health_reason
    monkeypatch.setattr(watching, "SILENT_S", 60)
    assert looked(found, lambda bad, fine: fine.measured.health == "ok")
    odd.gate.set()
    odd.error = RuntimeError("lost its mind")
    assert looked(found, lambda bad, _fine: "lost its mind" in bad.measured.health_reason)
    odd.error = None
    assert looked(found, lambda bad, _fine: bad.measured.health == "ok")


def test_a_device_that_makes_no_sense_is_left_out() -> None:
    odd = Odd()
    odd.cards = (
        CARD,
        Device(uid="../x", index=0, vendor="x", model="", memory_mib=-1, cores=1, driver_version="1"),
    )
    watch = DriverWatch("x", odd, {})
    watch.begin()
    reports = [report_of(item) for item in watch.found(time.monotonic() + 60)]
    assert [report and report.uid for report in reports] == ["card", None]


@pytest.mark.req("POOL-8.1-1")
def test_the_data_address_is_the_set_one_or_the_way_to_the_server() -> None:
    assert data_address("10.1.2.3", "http://localhost:1") == "10.1.2.3"
    assert data_address("", "http://127.0.0.1:8000") == "127.0.0.1"
    assert data_address("", "http://no-such-host.invalid") == "127.0.0.1"
    assert bind_address("127.0.0.1") == "127.0.0.1"
    assert bind_address("203.0.113.7") == "0.0.0.0"


def wish(**changes: object) -> DesiredSlice:
    facts = {"slice_uid": "a", "generation": 1, "device_uid": "card", "compute_percent": 5, "memory_mib": 64,
             "state": "running", "work": WorkSpec(argv=("true",))}  # fmt: skip
    return DesiredSlice.model_validate(facts | changes)


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"driver": "magic"}, "no slice driver magic: there are"),
        ({"driver": "time-slice"}, "time-slice: it is no card"),
        ({"driver": "session"}, "session: it serves no program"),
        ({"driver": "cpu", "work": WorkSpec(kind="session")}, "cpu: it serves no session"),
        ({"work": WorkSpec(kind="session")}, "a session needs a token"),
    ],
)
def test_a_way_of_cutting_that_a_device_does_not_have_is_refused_with_its_cause(
    tmp_path: Path, changes: dict[str, object], cause: str
) -> None:
    settings = AgentSettings(name="a", state_dir=tmp_path, devices=CpuPlan(1, 1, 512))
    (device,) = CpuDriver(settings).discover()
    with pytest.raises(DriverError, match=cause):
        ProcessRuntime(Configured(settings)).make(wish(**changes), device)
    assert not (tmp_path / "slices" / "a").exists()


@pytest.mark.req("POOL-6f")
def test_power_is_measured_where_the_processor_counts_it_else_modelled_and_named_so(tmp_path: Path) -> None:
    for index, start in enumerate((1_000_000, 2**32 - 1_000_000)):
        zone = tmp_path / f"intel-rapl:{index}"
        zone.mkdir()
        (zone / "energy_uj").write_text(str(start))
        (zone / "max_energy_range_uj").write_text(str(2**32))
    (tmp_path / "intel-rapl:0:0").mkdir()
    rapl = Rapl(tmp_path)
    assert rapl.watts(10.0) is None
    (tmp_path / "intel-rapl:0" / "energy_uj").write_text("41000000")
    (tmp_path / "intel-rapl:1" / "energy_uj").write_text("9000000")
    assert rapl.watts(12.0) == pytest.approx((40 + 10) / 2)
    assert Rapl(tmp_path / "none").watts(1.0) is None
    assert modelled_w(0, 4) == 6
    assert modelled_w(100, 4) == 32
    meter = CpuMeter(tmp_path / "none")
    whole = meter.measure_all()
    assert whole.power_source == "modelled"
    assert 0 < (meter.measure(1).power_w or 0) <= (whole.power_w or 0)
    info = Node(Configured(AgentSettings(name="a"))).info()
    assert (info.power_w or 0) > 0
    assert info.power_source in ("measured", "modelled")
