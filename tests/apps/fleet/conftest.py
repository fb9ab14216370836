import pytest
from django.utils import translation

from apps.fleet import events as fleet_events
from apps.kernel import wiring
from apps.kernel.events import Event
from tests.apps.fleet.agent import Agent


@pytest.fixture
def node(db):
    """A joined node `n1` with one device of 8192 MiB."""
    return Agent()


@pytest.fixture
def heard(monkeypatch):
    """The events of the fleet in the order they are told, beside what is wired."""
    told = []
    wired = wiring.handlers_within
    kinds = {
        kind for kind in vars(fleet_events).values() if isinstance(kind, type) and issubclass(kind, Event)
    }

    def within(event):
        extra = [lambda happened, actor: told.append(happened)] if event in kinds else []
        return [*wired(event), *extra]

    monkeypatch.setattr(wiring, "handlers_within", within)
    return lambda kind: [event for event in told if type(event) is kind]


@pytest.fixture(autouse=True)
def _english():
    """Refusals are compared by their words."""
    with translation.override("en"):
        yield
