"""An NVIDIA card for tests, as the agent finds it. Where there is none, they are skipped and say so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from node_agent.config import AgentSettings
from node_agent.drivers.base import Device
from node_agent.drivers.nvidia import NvidiaDriver
from tests.cards.node import Node


@pytest.fixture(scope="session")
def card() -> Device:
    """The first card of this machine."""
    found = NvidiaDriver(AgentSettings()).discover()
    if not found:
        pytest.skip("no GPU")
    return found[0]


@pytest.fixture
def node(card: Device) -> Iterator[Node]:
    """An agent's runtime on this machine, whose work ends with the test."""
    made = Node(card)
    yield made
    made.close()


@pytest.fixture
def folder(card: Device, tmp_path: Path) -> Path:
    """A folder for workers that run as this process's user."""
    return tmp_path
