"""The study of GPU allocation on hand-made lists: its rules, the published policies, what is printed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from apps.scheduling.engine.bench.__main__ import main
from apps.scheduling.engine.bench.openb import (
    Host,
    Task,
    Weir,
    arrivals,
    capacity_milli,
    read_hosts,
    read_tasks,
    run,
)
from apps.scheduling.engine.bench.openb_baselines import (
    Baseline,
    BestFit,
    DotProduct,
    Fgd,
    GpuClustering,
    GpuPacking,
    RandomNode,
)
from apps.scheduling.engine.bench.openb_policies import ENGINE, PUBLISHED, known_policy, study
from apps.scheduling.engine.model.types import Placing

NODES = "sn,cpu_milli,memory_mib,gpu,model\n" + "".join(
    f"n{i},16000,65536,2,{'T4' if i else 'P100'}\n" for i in range(4)
)
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
    "a,1000,1024,1,500,\nb,2000,2048,1,1000,P100|T4\nc,2000,2048,2,1000,\nd,4000,1024,0,0,\ne,500,10,1,250,T4\n"
)


def host(name: str = "n", cpu: int = 64_000, gpus: int = 2, model: str = "T4") -> Host:
    return Host(name, cpu, 65_536, gpus, model)


def task(milli: int, gpus: int = 1, cpu: int = 1_000, models: Sequence[str] = ()) -> Task:
    return Task(cpu, 1_024, gpus, milli if gpus else 0, frozenset(models))


@pytest.fixture
def lists(tmp_path: Path) -> tuple[Path, Path]:
    nodes, pods = tmp_path / "nodes.csv", tmp_path / "pods.csv"
    nodes.write_text(NODES)
    pods.write_text(PODS)
    return nodes, pods


def test_lists_are_read_by_their_columns(lists: tuple[Path, Path]) -> None:
    hosts, tasks = read_hosts(lists[0]), read_tasks(lists[1])
    assert (len(hosts), hosts[0]) == (4, Host("n0", 16_000, 65_536, 2, "P100"))
    assert tasks[1] == Task(2_000, 2_048, 1, 1_000, frozenset({"P100", "T4"}))
    assert [each.asked_milli for each in tasks] == [500, 1_000, 2_000, 0, 250]


def test_a_list_without_a_column_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "pods.csv"
    path.write_text("name,cpu_milli\na,1\n")
    with pytest.raises(ValueError, match="no column 'gpu_milli'"):
        read_tasks(path)


@pytest.mark.parametrize("asked", [900, 4_000, 20_000])
def test_what_arrives_asks_for_as_much_as_was_said(asked: int) -> None:
    tasks = [task(500), task(250), task(0, gpus=0)]
    queue = arrivals(tasks, asked, Random(1))
    assert asked - 500 < sum(each.asked_milli for each in queue) <= asked
    assert set(queue) <= set(tasks)
    assert arrivals(tasks, asked, Random(1)) == queue
    assert any(arrivals(tasks, asked, Random(seed)) != queue for seed in range(2, 9))


def test_a_list_without_gpus_is_refused() -> None:
    with pytest.raises(ValueError, match="asks for a GPU"):
        arrivals([task(0, gpus=0)], 1_000, Random(1))


class Half:
    """Places every second task."""

    count = 0

    def place(self, tasks: Sequence[Task]) -> list[bool]:
        self.count += len(tasks)
        return [(self.count - len(tasks) + i) % 2 == 0 for i in range(len(tasks))]


def test_allocation_is_told_by_what_has_arrived() -> None:
    at = run(Half(), [task(100) for _ in range(26)], 2_000, 1.3)
    assert at == {"90": 45.0, "100": 50.0, "110": 55.0, "130": 65.0}
    assert run(Half(), [task(100) for _ in range(20)], 2_000, 1.0) == {"90": 45.0, "100": 50.0}


def chosen(policy: Baseline, each: Task) -> int:
    return policy.choose(each, policy.cluster.fits(each))


def test_no_policy_places_what_does_not_fit() -> None:
    policy = BestFit([host(cpu=1_000, model="A10")])
    wanted = [
        task(500, cpu=2_000),
        task(500, models=["T4"]),
        task(1_000, gpus=3),
        task(500),
        task(600, cpu=0),
    ]
    assert policy.place(wanted) == [False, False, False, True, True]
    assert policy.place([task(600, cpu=0), task(400, cpu=0)]) == [False, True]


def test_best_fit_takes_the_node_with_the_least_left() -> None:
    policy = BestFit([host(cpu=64_000), host(cpu=32_000), host(cpu=32_000)])
    assert chosen(policy, task(500)) == 1
    policy.cluster.take(task(900), 2, policy.cluster.columns(task(900), 2))
    assert chosen(policy, task(500)) == 2


def test_dot_product_weighs_by_what_the_task_asks_for() -> None:
    policy = DotProduct([host(cpu=16_000, gpus=8), host(cpu=128_000, gpus=1)])
    assert chosen(policy, task(1_000, cpu=100)) == 1
    assert chosen(policy, task(10, cpu=16_000)) == 0


def test_clustering_puts_work_of_one_size_together() -> None:
    policy = GpuClustering([host(), host(), host()])
    assert policy.place([task(500), task(1_000)]) == [True, True]
    assert [chosen(policy, task(200)), chosen(policy, task(1_000)), chosen(policy, task(1_000, gpus=2))] == [
        0,
        1,
        2,
    ]


def test_packing_opens_cards_late_and_nodes_last() -> None:
    policy = GpuPacking([host(gpus=2), host(gpus=1), host(gpus=2)])
    policy.cluster.take(task(600), 2, policy.cluster.columns(task(600), 2))
    assert chosen(policy, task(300)) == 2
    assert chosen(policy, task(500)) == 2
    policy.cluster.take(task(1_000), 2, policy.cluster.columns(task(1_000), 2))
    assert chosen(policy, task(500)) in (0, 1)


def test_random_uses_every_node_in_the_end() -> None:
    policy = RandomNode([host(gpus=1) for _ in range(6)], seed=3)
    assert policy.place([task(1_000)] * 7) == [True] * 6 + [False]
    drawn = RandomNode([host() for _ in range(6)], seed=3)
    assert len({chosen(drawn, task(10)) for _ in range(60)}) == 6


def test_fgd_makes_the_fragment_that_matters_least() -> None:
    popular = [task(500)] * 9 + [task(300)]
    policy = Fgd([host(gpus=1), host(gpus=1)], popular)
    policy.cluster.take(task(600), 1, policy.cluster.columns(task(600), 1))
    assert chosen(policy, task(300)) == 1
    assert chosen(policy, task(500)) == 0


def test_fgd_judges_a_node_again_when_it_changed() -> None:
    policy = Fgd([host(gpus=1), host(gpus=1)], [task(500)] * 9 + [task(300)])
    assert policy.place([task(500), task(500), task(500)]) == [True] * 3
    assert sorted(policy.cluster.left[:, 0]) == [0, 500]


def test_the_engine_runs_tasks_of_every_kind() -> None:
    weir = Weir(
        [host(cpu=4_000, gpus=2), host(cpu=4_000, gpus=1, model="P100")], Placing.FRAGMENTATION, seed=1
    )
    wanted = [
        task(1_000, gpus=2, cpu=2_000),
        task(500, models=["P100"]),
        task(0, gpus=0, cpu=2_000),
        task(500),
    ]
    assert weir.place(wanted) == [True] * 4
    assert weir.place([task(10), task(0, gpus=0, cpu=2_001)]) == [False, False]


def test_the_engine_pairs_what_the_published_policies_leave_apart() -> None:
    hosts = [host(gpus=1, cpu=1_000_000) for _ in range(40)]
    tasks = [task(810, cpu=10), task(190, cpu=10), task(470, cpu=10), task(530, cpu=10)]
    by = {name: study(hosts, tasks, seed=1, arrived=1.3, policy=name) for name in ("fragmentation", "random")}
    at = {name: row["allocated_percent_at"] for name, row in by.items()}
    assert isinstance(at["fragmentation"], dict)
    assert isinstance(at["random"], dict)
    assert at["fragmentation"]["130"] > at["random"]["130"] + 2


@pytest.mark.parametrize("policy", [*ENGINE, *PUBLISHED])
def test_every_policy_runs_and_prints_its_row(
    policy: str, lists: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [
        "openb",
        "--nodes",
        str(lists[0]),
        "--pods",
        str(lists[1]),
        "--seed",
        "7",
        "--policy",
        policy,
        "--json",
    ]
    assert main(arguments) == 0
    row = json.loads(capsys.readouterr().out)
    assert list(row) == ["policy", "allocated_percent_at", "seconds"]
    assert row["policy"] == policy
    assert list(row["allocated_percent_at"]) == ["90", "100", "110", "130"]
    assert 50 < row["allocated_percent_at"]["130"] <= 100


def test_names_are_read_kindly_and_unknown_ones_refused(
    lists: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert [known_policy(name) for name in ("Dot Product", "DotProd", "best-fit", "FGD")] == [
        "dotproduct", "dotproduct", "bestfit", "fgd",
    ]  # fmt: skip
    assert main(["openb", "--nodes", str(lists[0]), "--pods", str(lists[1]), "--policy", "magic"]) == 2
    assert "no policy 'magic'" in capsys.readouterr().err
    assert main(["openb", "--nodes", str(lists[1]), "--pods", str(lists[1])]) == 2


def test_capacity_counts_every_gpu() -> None:
    assert capacity_milli([host(gpus=8), host(gpus=1)]) == 9_000
