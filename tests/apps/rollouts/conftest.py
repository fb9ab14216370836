from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.utils import translation

from apps.kernel.actor import SYSTEM
from apps.rollouts.models import Release
from apps.rollouts.release_build import public_key_of, release_sign
from apps.rollouts.services.releases import release_add, release_key_trust
from tests.apps.fleet.agent import Agent
from tests.unit.node_agent.releases import archive

FILES = {"node_agent/__init__.py": b"", "node_agent/node.py": b"x = 1\n"}


class Pool:
    """Nodes that say what a test tells them to."""

    def __init__(self) -> None:
        self.agents = {name: Agent(name) for name in ("n1", "n2", "n3")}
        for agent in self.agents.values():
            agent.sync()

    def uid(self, name: str) -> str:
        return self.agents[name].uid

    def say(self, name: str, **info: object):
        """One message with these facts of the node; the reply."""
        agent = self.agents[name]
        agent.info = agent.info.model_copy(update=info)
        return agent.sync()


@pytest.fixture
def pool(db) -> Pool:
    return Pool()


@pytest.fixture
def key(db) -> Ed25519PrivateKey:
    made = Ed25519PrivateKey.generate()
    release_key_trust(actor=SYSTEM, public_key=public_key_of(made), name="of the tests")
    return made


@pytest.fixture
def release(key) -> Callable[[str], Release]:
    """`release("2.0")`: a signed release of that version."""

    def make(version: str) -> Release:
        content = archive(version, FILES)
        return release_add(actor=SYSTEM, content=content, signature=release_sign(key, version, content))

    return make


@pytest.fixture(autouse=True)
def _english():
    with translation.override("en"):
        yield
