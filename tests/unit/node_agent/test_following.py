"""What the agent tells of itself and follows: its log, an operator's configuration."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest

from node_agent.config import AgentSettings
from node_agent.events import EventLog
from node_agent.node import Node
from node_agent.protocol.sync import AgentConfig
from node_agent.remote_config import Configured


@pytest.fixture
def log() -> logging.Logger:
    made = logging.Logger("weir.agent", logging.INFO)
    made.propagate = False
    return made


@pytest.mark.req("POOL-12.18")
def test_lines_are_numbered_and_kept_until_they_are_stored(log: logging.Logger) -> None:
    events = EventLog()
    log.addHandler(events)
    for number in range(300):
        log.info("line %d", number, extra={"slice_uid": "s1"} if number == 0 else {})
    first = events.pending()
    assert [row.seq for row in first] == list(range(1, 201))
    assert (first[0].slice_uid, first[0].component, first[0].level) == ("s1", "agent", "info")
    assert events.pending() == first
    assert events.ack(200)
    assert not events.ack(200)
    assert [row.seq for row in events.pending()] == list(range(201, 301))
    assert not events.ack(300)
    assert events.pending() == ()


@pytest.mark.req("POOL-12.18")
def test_a_portal_that_is_away_costs_lines_and_says_so(log: logging.Logger) -> None:
    events = EventLog(kept=10)
    log.addHandler(events)
    for number in range(25):
        log.info("line %d", number)
    assert [row.text for row in events.pending()][-1] == "line 9"
    events.ack(10)
    log.error("again")
    assert [(row.seq, row.level) for row in events.pending()] == [(11, "warning"), (12, "error")]
    assert events.pending()[0].text.startswith("15 lines")


def test_any_line_becomes_a_message(log: logging.Logger) -> None:
    events = EventLog()
    log.addHandler(events)
    log.warning("a\0b %s", "x" * 2000)
    try:
        raise ValueError("cause")
    except ValueError:
        log.error("failed", exc_info=sys.exc_info())
    log.log(7, "below the level")
    long, failed = events.pending()
    assert len(long.text) == 500
    assert failed.text == "failed: ValueError('cause')"


@pytest.fixture
def agent_level() -> object:
    agent_log = logging.getLogger("weir.agent")
    before = agent_log.level
    yield agent_log
    agent_log.setLevel(before)


@pytest.mark.req("POOL-12.20")
def test_a_configuration_is_in_force_at_once_and_after_a_restart(
    tmp_path: Path, agent_level: logging.Logger
) -> None:
    own = AgentSettings(name="a", state_dir=tmp_path, labels={"zone": "a"})
    configured = Configured(own)
    node = Node(configured)
    wish = AgentConfig(generation=3, meter_s=7, log_level="error", log_limit_mib=2, labels={"zone": "b"})
    configured.follow(wish)
    for now in (configured, Configured(own)):
        settings = now.settings
        assert (settings.meter_s, settings.log_limit_mib, settings.labels) == (7, 2, {"zone": "b"})
        assert (now.generation, now.problem) == (3, "")
    assert agent_level.level == logging.ERROR
    info = node.info()
    assert (info.labels, info.config_generation) == ({"zone": "b"}, 3)
    configured.follow(wish.model_copy(update={"generation": 2, "meter_s": 9}))
    assert configured.settings.meter_s == 7
    configured.follow(AgentConfig(generation=4))
    assert (configured.settings.meter_s, configured.settings.labels) == (5, {"zone": "a"})


@pytest.mark.req("POOL-12.20")
def test_a_configuration_that_makes_no_sense_changes_nothing_and_says_why(tmp_path: Path) -> None:
    configured = Configured(AgentSettings(name="a", state_dir=tmp_path))
    configured.follow(AgentConfig(generation=1, meter_s=0.5, log_limit_mib=3))
    assert (configured.generation, configured.settings.log_limit_mib) == (0, 16)
    assert configured.problem.startswith("meter_s:")
    (tmp_path / "config.json").write_text('{"generation": "x"')
    assert Configured(AgentSettings(name="a", state_dir=tmp_path)).generation == 0
    configured.follow(AgentConfig(generation=2, meter_s=2))
    assert (configured.generation, configured.problem) == (2, "")
