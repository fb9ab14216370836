"""The engines, each started once for all its tests."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from apps.centers.adapters.base import OVER, CenterAdapter, JobSeen, JobState
from tests.engines.engines import REAL, WIRELESS, Engine, local_engine, slurm_engine
from tests.harness.local_pool import LocalPool, running_local_pool

_numbers = itertools.count(1)
_WAIT_S = 90.0
_STARTS = {"local": local_engine, "slurm": slurm_engine}


_wireless: Counter[str] = Counter()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A kind's own file is about its engine alone, the suite about all."""
    if "engine" in metafunc.fixturenames:
        own = [kind for kind in REAL if metafunc.definition.path.name == f"test_{kind}.py"]
        metafunc.parametrize("engine", own or sorted(REAL), indirect=True, scope="session")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of kinds without a wire what is about one is taken out, and counted with its reason."""
    without: list[pytest.Item] = []
    for item in items:
        if "tests/engines/" in item.nodeid:
            item.add_marker(pytest.mark.xdist_group("engines"))
            kind = getattr(item, "callspec", None) and item.callspec.params.get("engine")
            if kind in WIRELESS and item.get_closest_marker("wire"):
                without.append(item)
                _wireless[kind] += 1
    if without:
        config.hook.pytest_deselected(items=without)
        items[:] = [item for item in items if item not in set(without)]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for kind, count in _wireless.items():
        terminalreporter.write_line(f"{kind}: {count} tests of a wire do not apply: {WIRELESS[kind]}")


@pytest.fixture(scope="session")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalPool]:
    """A portal with its pool for all tests of a worker."""
    with running_local_pool(tmp_path_factory) as pool:
        yield pool


@pytest.fixture(scope="session")
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Each kind's engine; a kind whose programs are not installed is skipped."""
    with _STARTS[request.param](request.getfixturevalue(request.param)) as started:
        yield started


@pytest.fixture
def adapter(engine: Engine) -> Iterator[CenterAdapter]:
    made = engine.adapter()
    yield made
    made.close()


@pytest.fixture
def key() -> str:
    """A key that no other test has."""
    return f"weir-t-{next(_numbers)}-1"


@pytest.fixture
def until(adapter: CenterAdapter) -> Callable[..., JobSeen]:
    """Wait until a job has a state, by its engine's id."""

    def wait(native_id: str, *states: JobState) -> JobSeen:
        wanted = states or tuple(OVER)
        ends_s = time.monotonic() + _WAIT_S
        while (seen := adapter.job_get(native_id)).state not in wanted:
            assert time.monotonic() < ends_s, f"{seen} and not {wanted}"
            assert seen.state not in OVER, f"{seen} and not {wanted}"
            time.sleep(0.15)
        return seen

    return wait
