"""The engines, each started once for all its tests."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from apps.centers.adapters.base import OVER, CenterAdapter, JobSeen, JobState
from tests.engines.engines import REAL, WIRELESS, Engine, local_engine, ray_engine, slurm_engine
from tests.harness.local_pool import LocalPool, running_local_pool

_numbers = itertools.count(1)
_WAIT_S = 90.0
_STARTS = {"local": local_engine, "ray": ray_engine, "slurm": slurm_engine}
# Of the kinds whose tests need not run in a row with the others'.
_GROUPS = {"local": "engine local", "ray": "engine ray"}
_wireless: Counter[str] = Counter()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of an engine is for every kind; in a file of a kind's name, or marked `of_kind`, for that one."""
    if "engine" in metafunc.fixturenames:
        own = Path(metafunc.module.__file__).stem.removeprefix("test_")
        kinds = [own] if own in REAL else sorted(REAL)
        if marked := metafunc.definition.get_closest_marker("of_kind"):
            kinds = list(marked.args)
        metafunc.parametrize("engine", kinds, indirect=True, scope="session")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Each engine runs beside the others, and never beside itself."""
    item.add_marker(pytest.mark.xdist_group(_GROUPS.get(_kind(item), "engines")))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What all kinds have in common comes before a kind's own tests, whose last one may leave its engine as no other
    test wants it. Of kinds without a wire what is about one is taken out, and counted with its reason."""
    without = {item for item in items if _kind(item) in WIRELESS and item.get_closest_marker("wire")}
    if without:
        _wireless.update(_kind(item) for item in without)
        config.hook.pytest_deselected(items=list(without))
        items[:] = [item for item in items if item not in without]
    ours = {item for item in items if "tests/engines/" in item.nodeid}
    for kind in ("", *_GROUPS):
        places = [at for at, item in enumerate(items) if item in ours and _group(item) == kind]
        in_order = sorted((items[at] for at in places), key=lambda item: (_kind(item), *item.location[:2]))
        for at, item in zip(places, in_order, strict=True):
            items[at] = item


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for kind, count in _wireless.items():
        terminalreporter.write_line(f"{kind}: {count} tests of a wire do not apply: {WIRELESS[kind]}")


def _kind(item: pytest.Item) -> str:
    """The kind of the engine that a test is for; "" where it is for none."""
    return item.callspec.params.get("engine", "") if hasattr(item, "callspec") else ""


def _group(item: pytest.Item) -> str:
    """The kind of the engine that a test is for if its tests run beside the others', else ""."""
    return _kind(item) if _kind(item) in _GROUPS else ""


@pytest.fixture(scope="session")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalPool]:
    """A portal with its pool for all tests of a worker."""
    with running_local_pool(tmp_path_factory) as pool:
        yield pool


@pytest.fixture(scope="session")
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """The engine of a kind; where its programs are not installed, its tests are skipped."""
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
