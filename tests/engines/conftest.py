"""The engines, each started once for all its tests."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator

import pytest

from apps.centers.adapters.base import OVER, CenterAdapter, JobSeen, JobState
from tests.engines.engines import REAL, Engine, slurm_engine

_numbers = itertools.count(1)
_WAIT_S = 90.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/engines/" in item.nodeid:
            item.add_marker(pytest.mark.xdist_group("engines"))


@pytest.fixture(scope="session", params=sorted(REAL))
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Each kind's engine; a kind whose programs are not installed is skipped."""
    with {"slurm": slurm_engine}[request.param](request.getfixturevalue(request.param)) as started:
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
