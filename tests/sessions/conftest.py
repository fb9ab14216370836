"""Devices for tests: sessions in this process, one or more, gone after the test."""

from collections.abc import Callable, Iterator

import pytest


@pytest.fixture
def attach() -> Iterator[Callable[..., object]]:
    """`attach(quota_mib=64)`: a new device weir:0, weir:1 … over a session in this process."""
    torch = pytest.importorskip("torch", reason="sessions need PyTorch")
    import weir.torch
    from weir.torch import devices

    from node_agent.sessions.execution.core import Session
    from tests.sessions.inprocess import InProcessLink

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield lambda quota_mib=64: weir.torch.attach(InProcessLink(Session("cpu", quota_mib)))
    for device in devices.attached():
        weir.torch.detach(device.index)
    torch.set_num_threads(threads)


@pytest.fixture
def weir0(attach: Callable[..., object]) -> object:
    """The device weir:0 with 64 MiB."""
    return attach()
