"""Cards that give shares of a few sizes only: what is planned is what the node's card makes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.scheduling.engine.cycle.explain import sentence
from apps.scheduling.engine.model.types import Placing, Policy, ReasonCode, RunningWorkload, Size, Snapshot
from apps.scheduling.engine.simulate.eta import eta
from node_agent.drivers.slices.mig import profile_name
from node_agent.drivers.slices.mig_card import Profile
from tests.unit.engine.pools import ask, device, holding, pool, reasons, run
from tests.unit.node_agent.test_slice_drivers import CARD, Nvml, mig, wish

SIZES = (Size(14, 4864, 7), Size(28, 9856, 3), Size(42, 19968, 2), Size(57, 19968, 1), Size(100, 40192, 1))
MIB = 40_960


def sized(cards: int = 1, *running: RunningWorkload, **more: Any) -> Snapshot:
    """A node of cards that give shares of these sizes, all of one size at a time."""
    rows = tuple(device("n0", number, memory_mib=MIB, sizes=SIZES) for number in range(cards))
    return replace(pool(), devices=rows, running=running, **more)


@pytest.mark.req("ELA-105")
def test_a_card_gives_as_many_shares_of_a_size_as_its_node_can_make() -> None:
    """By percent three of 30 would go on it; its node makes three of three sevenths, and has room for two."""
    for size in SIZES:
        asked = [ask(i, size.compute_percent, size.memory_mib) for i in range(9)]
        assert len(run(sized(), *asked).placements) == size.most


@pytest.mark.parametrize("placing", list(Placing))
def test_all_shares_of_a_card_are_of_one_size_however_they_are_placed(placing: Placing) -> None:
    snapshot = sized(2, holding("w", "n0/0", 14, 4864), policy=Policy(placing=placing))
    made = run(snapshot, *[ask(i, 42, 19968) for i in range(3)], ask(5, 14, 4864))
    on = {each.request_id: each.grants[0].device_id for each in made.placements}
    assert [on.pop(f"r{i}", None) for i in range(3)] == ["n0/1", "n0/1", None]
    assert on == {"r5": "n0/0"}


@pytest.mark.parametrize(
    ("percent", "mib", "code", "told"),
    [
        (30, 4096, ReasonCode.SIZE, "none of 30 % with 4096 MiB: ask for 42 % with 19968 MiB."),
        (14, 4000, ReasonCode.SIZE, "ask for 14 % with 4864 MiB."),
        (100, MIB, ReasonCode.NO_SIZE, "the largest is 100 % with 40192 MiB."),
    ],
)
def test_what_is_no_size_is_refused_for_ever_and_told_the_nearest(
    percent: int, mib: int, code: ReasonCode, told: str
) -> None:
    (refusal,) = run(sized(), ask(1, percent, mib)).refusals
    assert refusal.permanent
    assert refusal.reason.code is code
    assert sentence(code, dict(refusal.reason.params)).endswith(told)


def test_a_whole_card_is_none_of_its_sizes() -> None:
    made = run(sized(), ask(1, 100, 1, exclusive=True))
    assert reasons(made)["r1"].code is ReasonCode.SIZE


def test_other_cards_take_what_is_no_size_and_any_card_what_needs_only_its_host() -> None:
    snapshot = replace(sized(), devices=(*sized().devices, device("n0", 1)))
    (placement,) = run(snapshot, ask(1, 30, 1000)).placements
    assert placement.grants[0].device_id == "n0/1"
    assert len(run(sized(1, holding("w", "n0/0", 14, 4864)), ask(1, 0, 0, host_cpu_milli=1)).placements) == 1


def test_a_share_of_another_size_starts_when_the_card_is_empty() -> None:
    snapshot = sized(1, replace(holding("w", "n0/0", 14, 4864), ends_at_s=500))
    found = eta(snapshot, ask(1, 42, 19968), now=0)
    assert found.start_at_s == 500


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 6)), max_size=25), st.integers(0, 99))
def test_whatever_is_planned_in_whatever_order_the_node_makes(
    steps: list[tuple[bool, int]], seed: int
) -> None:
    """The driver's own sizes, and its own making, on a card that answers as NVML does."""
    with TemporaryDirectory() as folder:
        driver = mig(Path(folder), Nvml())
        sizes = tuple(Size(each.compute_percent, each.memory_mib, each.count) for each in driver.sizes(CARD))
        card = device("n0", 0, memory_mib=MIB, sizes=sizes)
        running: dict[str, RunningWorkload] = {}
        for number, (leaves, which) in enumerate(steps):
            if leaves and running:
                name = sorted(running)[which % len(running)]
                driver.remove(name)
                del running[name]
                continue
            size = sizes[which % len(sizes)]
            snapshot = replace(pool(), devices=(card,), running=tuple(running.values()))
            asked = ask(number, size.compute_percent, size.memory_mib)
            for placement in run(snapshot, asked, seed=seed).placements:
                (grant,) = placement.grants
                name = f"w{number}"
                driver.make(wish(name, grant.compute_percent, grant.memory_mib), CARD)
                running[name] = holding(name, "n0/0", grant.compute_percent, grant.memory_mib)
        assert len(driver._nvml.made) == len(running)


@pytest.mark.parametrize(
    ("slices", "memory_mib", "card_mib", "name"),
    [
        (1, 4864, 40_960, "1g.5gb"),
        (3, 19968, 40_960, "3g.20gb"),
        (7, 40192, 40_960, "7g.40gb"),
        (1, 9856, 81_559, "1g.10gb"),
        (1, 20096, 81_559, "1g.20gb"),
        (7, 80384, 81_920, "7g.80gb"),
        (1, 16384, 143_771, "1g.18gb"),
    ],
)
def test_a_profile_is_called_what_its_vendor_calls_it(
    slices: int, memory_mib: int, card_mib: int, name: str
) -> None:
    """As `nvidia-smi mig -lgip` of an A100 of 40 GB, an H100 of 80 GB, an A100 of 80 GB and an H200 shows them."""
    assert profile_name(Profile(0, slices, memory_mib), card_mib) == name
