"""The engines, each started once for all its tests."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from apps.centers.adapters.base import OVER, CenterAdapter, JobSeen, JobState
from tests.engines.engines import REAL, Engine, ray_engine, slurm_engine

_numbers = itertools.count(1)
_WAIT_S = 90.0
# Of the kinds whose tests need not run in a row with the others'.
_GROUPS = {"ray": "engine ray"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of an engine is for every kind; in a file of a kind's name for that one."""
    if "engine" in metafunc.fixturenames:
        own = Path(metafunc.module.__file__).stem.removeprefix("test_")
        metafunc.parametrize("engine", [own] if own in REAL else sorted(REAL), indirect=True, scope="session")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Each engine runs beside the others, and never beside itself."""
    item.add_marker(pytest.mark.xdist_group(_GROUPS.get(_kind(item), "engines")))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What all kinds have in common comes before a kind's own tests, whose last one may leave its engine as no other
    test wants it."""
    ours = {item for item in items if "tests/engines/" in item.nodeid}
    for is_alone in (False, True):
        places = [
            at for at, item in enumerate(items) if item in ours and (_kind(item) in _GROUPS) is is_alone
        ]
        in_order = sorted((items[at] for at in places), key=lambda item: (_kind(item), *item.location[:2]))
        for at, item in zip(places, in_order, strict=True):
            items[at] = item


def _kind(item: pytest.Item) -> str:
    """The kind of the engine that a test is for; "" where it is for none."""
    return item.callspec.params.get("engine", "") if hasattr(item, "callspec") else ""


@pytest.fixture(scope="session")
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """The engine of a kind; where its programs are not installed, its tests are skipped."""
    made = {"slurm": slurm_engine, "ray": ray_engine}[request.param]
    with made(request.getfixturevalue(request.param)) as started:
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
