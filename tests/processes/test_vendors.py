"""Vendors' management tools: each parser on output written from the vendor's documentation, and the tools'
bad days. None of it has run on such hardware."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from node_agent.config import AgentSettings
from node_agent.devices import Found, report_of
from node_agent.drivers import registry, tool_driver
from node_agent.drivers.parsing import blocks, csv_rows, json_object, mib, number
from node_agent.drivers.registry import DEVICE_DRIVERS, device_drivers_load
from node_agent.drivers.tool import ToolError, tool_run
from node_agent.drivers.tool_driver import Card, ToolDriver
from tests.examples import examples

pytestmark = pytest.mark.req("POOL-10.2", "POOL-10.3", "ELA-106")
SAMPLES = Path(__file__).parent / "samples"
SETTINGS = AgentSettings(name="a")
VENDORS = [name for name in DEVICE_DRIVERS if name not in ("cpu", "nvidia", "simulated")]

Row = tuple[int, str, int | None, str, int | None, float | None, float | None, float | None, str, str]
EXPECTED: dict[str, list[Row]] = {
    "ascend": [
        (0, "Ascend 910B3", 65536, "0000:C1:00.0", 3318, 12, 43, 101.8, "ok", "24.1.0"),
        (1, "Ascend 910B3", 65536, "0000:C2:00.0", 59356, 0, 39, 92.0, "failed", "24.1.0"),
    ],
    "ascend_310": [
        (0, "Ascend 310P3", 21534, "0000:01:00.0", 1003, 0, 41, None, "ok", "23.0.0"),
        (1, "Ascend 310P3", 21534, "0000:02:00.0", 1203, 7, 44, None, "degraded", "23.0.0"),
    ],
    "cambricon": [
        (0, "MLU370-X4", 23308, "MLU-20001012-1622-0000-0000-000000000000", 1024, 25, 32, 30, "ok", "v4.20.11"),
        (1, "MLU370-X4", 23308, "612032101235", None, None, None, None, "ok", "v4.20.11"),
    ],
    "hygon": [
        (0, "K100_AI", 65520, "TC4T1234567890", 1302, 37, 41, 112, "ok", "6.3.13-V1.12.0a"),
        (1, "K100_AI", 65520, "TC4T1234567891", 2, 0, 38, 80, "ok", "6.3.13-V1.12.0a"),
    ],
    "hygon_old": [(0, "Z100L", 32752, "", 6, 7, 50, None, "ok", "")],
    "amd": [(0, "AMD Instinct MI300X", 196592, "0x8d1a5a1b2c3d4e5f", 284, 64, 41, 133, "ok", "6.8.5")],
    "amd_amdsmi": [
        (0, "AMD Instinct MI300X OAM", 196592, "0x5F6E1A2B3C4D5E6F", 2048, 64, 41, 133, "ok", "6.8.5"),
        (1, "AMD Instinct MI300X OAM", 196592, "N/A", 284, None, 35, None, "ok", "6.8.5"),
    ],
    "kunlunxin": [
        (0, "Kunlunxin P800 OAM", 98304, "0000:52:00.0", 90440, 55, 36, 86, "ok", ""),
        (1, "Kunlunxin P800 OAM", 98304, "0000:53:00.0", 12, 0, 39, None, "ok", ""),
    ],
    "enflame": [
        (0, "Enflame S60", 42976, "TR6Y46010302", 1129, 3.5, 35, 96, "ok", "1.4.3.4"),
        (1, "Enflame S60", 42976, "A0A1650510677", 0, None, 36, None, "failed", "1.4.3.4"),
    ],
    "iluvatar": [
        (0, "Iluvatar MR-V100", 32768, "GPU-1ac807aa-cbcd-5579-8591-d59d436d6eca", 27780, 12, 44, 37, "ok", "4.2.0"),
        (1, "Iluvatar MR-V100", 32768, "GPU-9d1b3d54-9e0a-5c8e-8f6f-0f7f2f1f3c11", 114, 0, None, None, "ok",
         "4.2.0"),
    ],
    "biren": [
        (0, "Biren 106M", 32512, "GPU-7f3c", 1024, 12, 40, 96.5, "ok", ""),
        (1, "Biren 106M", 32512, "GPU-7f3d", 0, None, 39, None, "ok", ""),
    ],
    "mthreads": [
        (0, "MTT S4000", 49152, "4f0b5d6e-0000-1111-2222-333344445555", 3419, 17, 48, 80.52, "ok", "2.7.0"),
    ],
    "metax": [
        (0, "MetaX N260", 65536, "0000:01:00.0", 666, 8, 37, 29, "ok", "3.0.11"),
        (1, "MetaX N260", 65536, "0000:02:00.0", 660, 0, 36, None, "failed", "3.0.11"),
    ],
}  # fmt: skip


LOADED = device_drivers_load(SETTINGS)


def driver_of(vendor: str) -> ToolDriver:
    driver = type(LOADED[vendor])(SETTINGS)  # type: ignore[call-arg]
    assert isinstance(driver, ToolDriver)
    return driver


def row(card: Card) -> Row:
    return (card.index, card.model, card.memory_mib, card.key, card.used_mib, card.utilisation_percent,
            card.temperature_c, card.power_w, card.health, card.driver_version)  # fmt: skip


def test_every_vendor_has_a_sample() -> None:
    assert {name.split("_")[0] for name in EXPECTED} == set(VENDORS)
    assert {path.stem for path in SAMPLES.glob("*.txt")} == set(EXPECTED)


@pytest.mark.req("PLAT-GEN-3")
@pytest.mark.parametrize("sample", EXPECTED)
def test_a_tool_is_read_as_its_vendor_documents_it(sample: str) -> None:
    cards = driver_of(sample.split("_")[0]).parse((SAMPLES / f"{sample}.txt").read_text())
    assert [row(card) for card in cards] == EXPECTED[sample]
    assert all(card.health == "ok" or card.health_reason for card in cards)


@pytest.mark.parametrize("vendor", VENDORS)
@settings(max_examples=examples(40), deadline=None)
@given(data=st.data())
def test_no_output_makes_a_parser_invent_or_crash(vendor: str, data: st.DataObject) -> None:
    """Cut, mixed and noisy output: the driver above a parser takes anything, and what is found is in bounds."""
    sample = (SAMPLES / f"{vendor}.txt").read_text()
    begin, end = sorted((data.draw(st.integers(0, len(sample))), data.draw(st.integers(0, len(sample)))))
    noise = data.draw(st.text(max_size=40))
    driver = driver_of(vendor)
    driver._told = lambda: sample[:begin] + noise + sample[end:]  # type: ignore[method-assign]
    driver._look()
    for device in driver._devices:
        measured = driver.measure(device)
        assert report_of(Found(device, measured)) is not None


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(tool_driver, "FRESH_S", 0.0)

    def put(name: str, script: str) -> None:
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    return put


def test_a_vendor_s_bad_day_makes_its_cards_degraded_and_says_why(
    tools: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = driver_of("ascend")
    assert driver.discover() == ()
    tools("npu-smi", f"cat {SAMPLES / 'ascend.txt'}")
    first, second = driver.discover()
    assert (first.uid, first.model, first.is_verified) == ("ascend-0000-C1-00.0".replace("0000-C1-00", "0000:C1:00"),
                                                          "Ascend 910B3", False)  # fmt: skip
    assert first.visible_env == {"ASCEND_RT_VISIBLE_DEVICES": "0"}
    assert driver.measure(first).power_source == "measured"
    assert "Alarm" in driver.measure(second).health_reason

    for script, timeout_s, cause in (
        ("sleep 600", 0.3, "has not answered"),
        ("yes garbage", 60, "prints more than"),
        ("head -c 3000 /dev/urandom", 60, "nothing that makes sense"),
        ("exit 3", 60, "exit code 3"),
        ("echo", 60, "nothing that makes sense"),
    ):
        tools("npu-smi", script)
        impatient = partial(tool_run, timeout_s=timeout_s, limit_bytes=10_000)
        monkeypatch.setattr(tool_driver, "tool_run", impatient)
        began = time.monotonic()
        assert [device.uid for device in driver.discover()] == [first.uid, second.uid]
        measured = driver.measure(first)
        assert time.monotonic() - began < 60
        assert (measured.health, cause in measured.health_reason) == ("degraded", True), measured

    tools("npu-smi", f"grep -v C2:00.0 {SAMPLES / 'ascend.txt'}")
    driver.discover()
    assert driver.measure(first).health == "ok"
    assert "no longer lists" in driver.measure(second).health_reason


def test_a_vendor_with_a_newer_tool_is_asked_by_it(tools: Callable[[str, str], None]) -> None:
    answers = json.loads((SAMPLES / "amd_amdsmi.txt").read_text())
    cases = "\n".join(f"  {word}) echo '{json.dumps(answer)}';;" for word, answer in answers.items())
    tools("amd-smi", f"case $1 in\n{cases}\nesac")
    first, second = driver_of("amd").discover()
    assert (first.index, first.uid, second.index) == (0, "amd-0x5F6E1A2B3C4D5E6F", 1)
    tools("amd-smi", "exit 1")
    driver = driver_of("amd")
    assert driver.discover() == ()
    assert "amd-smi ended with exit code 1" in driver._trouble


def test_a_tool_that_hangs_leaves_no_process_behind(
    tools: Callable[[str, str], None], tmp_path: Path
) -> None:
    mark = f"{30_000 + os.getpid()}"
    tools("hanging", f"sleep {mark} & sleep {mark}")
    with pytest.raises(ToolError, match="hanging has not answered for 0 s"):
        tool_run([str(tmp_path / "hanging")], timeout_s=0.3)
    time.sleep(0.2)
    found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert f"sleep {mark}" not in found


def test_a_tool_that_is_not_there_is_no_device() -> None:
    with pytest.raises(ToolError, match="cannot be started"):
        tool_run(["no-such-tool-here"])
    assert all(driver_of(vendor).discover() == () for vendor in VENDORS)


def test_two_chips_of_one_card_are_two_devices() -> None:
    driver = driver_of("enflame")
    cards = [Card(0, "S60", 1, key="same"), Card(1, "S60", 1, key="same"), Card(2, "S60", 1, key="../..")]
    driver._know([*cards, Card(3, "S60", 1, key="N/A")])
    assert [device.uid for device in driver._devices] == [
        "enflame-same",
        "enflame-same-1",
        "enflame-a-2",
        "enflame-a-3",
    ]


def test_the_memory_near_a_card_is_known_by_its_bus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_driver, "PCI_DEVICES", tmp_path)
    for bus, text in (("0000:c1:00.0", "1"), ("0000:c2:00.0", "-1"), ("0000:c3:00.0", "?")):
        (tmp_path / bus).mkdir()
        (tmp_path / bus / "numa_node").write_text(text)
    buses = ("0000:C1:00.0", "0000:C2:00.0", "0000:C3:00.0", "serial", "")
    assert [tool_driver.numa_node(bus) for bus in buses] == [1, None, None, None, None]


def test_adding_a_vendor_is_one_file_and_one_line() -> None:
    folder = Path(registry.__file__).parent
    assert all((folder / f"{vendor}.py").is_file() for vendor in VENDORS)
    assert len(VENDORS) == 10


def test_numbers_and_sizes() -> None:
    assert [number(text) for text in ("12 %", "-3.5 C", "N/A", None, "", 7)] == [
        12,
        -3.5,
        None,
        None,
        None,
        7,
    ]
    assert [mib(text) for text in ("2 GiB", "846264 KB", "10MiB", "5", "N/A", None)] == [
        2048,
        826,
        10,
        5,
        None,
        None,
    ]
    assert mib("34342961152", "b") == 32752
    assert dict(blocks("DEV 1\n A\n  x : 1\n y : 2\n", r"DEV (\d)")) == {
        "1": {"A/x": "1", "x": "1", "/y": "2", "y": "2"}
    }
    assert csv_rows("a, b\n1, x\n2\n", ("a", "b")) == [{"a": "1", "b": "x"}]
    assert json_object("warn\n{}") == json_object("[1]") == json_object("{" * 10_000) == {}
