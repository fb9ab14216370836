"""The arithmetic that holds a share: over time exactly what was sold, whatever the kernels are like."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from node_agent.sessions.execution.pace import Pacer
from tests.examples import examples


def delivered(percent: int, kernels: list[float], wall_s: float = 20.0) -> float:
    """Busy share of a session that always has work, its kernels of these lengths in turn."""
    now = busy = 0.0
    pacer = Pacer(percent, now)
    n = 0
    while now < wall_s:
        kernel = kernels[n % len(kernels)]
        n += 1
        now += kernel
        busy += kernel
        now += pacer.spent(kernel, now)
    return busy / now * 100


@pytest.mark.req("POOL-12.1", "ELA-1404")
@settings(deadline=None, max_examples=examples(50))
@given(st.integers(1, 100), st.lists(st.floats(1e-3, 0.05), min_size=1, max_size=5))
def test_within_one_point_of_what_was_sold(percent, kernels):
    assert abs(delivered(percent, kernels) - percent) <= 1


def test_idle_time_is_not_saved_up():
    pacer = Pacer(10, 0.0)
    assert pacer.spent(0.0, 1000.0) == 0
    assert pacer.spent(1.0, 1001.0) == pytest.approx((0.9 - 0.002) / 0.1)


def test_a_long_kernel_is_paid_for_later():
    pacer = Pacer(50, 0.0)
    assert pacer.spent(2.0, 2.0) == pytest.approx(2.0, rel=0.02)


@pytest.mark.req("POOL-12.2")
def test_a_new_share_holds_from_now_on():
    pacer = Pacer(10, 0.0)
    pacer.share_set(100, 1.0)
    assert pacer.spent(5.0, 6.0) == 0
    pacer.share_set(25, 6.0)
    assert pacer.spent(1.0, 7.0) == pytest.approx(3.0, rel=0.1)
