"""Node agents run on the server's machine here, and still get none of its secrets."""

import json
from pathlib import Path

import pytest

from portal.devstack.environment import agent_environment, agent_server, has_joined
from portal.devstack.options import Options


def test_an_agent_gets_no_secret_of_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIR_SECRET_KEY", "the-server-s-own")
    monkeypatch.setenv("WEIR_DATABASE_URL", "postgresql://weir@127.0.0.1:1/weir")
    monkeypatch.setenv("WEIR_AGENT_LABELS", "zone=a")
    found = agent_environment(Options(port=8123), "node-1", tmp_path, "weirjoin_x")
    weir = {name for name in found if name.startswith(("WEIR_", "DJANGO_"))}
    assert weir == {
        "WEIR_AGENT_CA",
        "WEIR_AGENT_DEVICES",
        "WEIR_AGENT_JOIN_TOKEN",
        "WEIR_AGENT_LABELS",
        "WEIR_AGENT_NAME",
        "WEIR_AGENT_SERVER",
        "WEIR_AGENT_STATE_DIR",
        "WEIR_AGENT_STORAGE_DIR",
    }
    assert found["WEIR_AGENT_SERVER"] == "http://127.0.0.1:8123"


@pytest.mark.parametrize("kept", ["", "{", "[]", '{"server": "http://127.0.0.1:1"}'])
def test_a_node_joins_again_unless_it_knows_this_portal(tmp_path: Path, kept: str) -> None:
    options = Options(port=8123)
    assert not has_joined(options, tmp_path)
    (tmp_path / "credential.json").write_text(kept)
    assert not has_joined(options, tmp_path)
    (tmp_path / "credential.json").write_text(json.dumps({"server": agent_server(options)}))
    assert has_joined(options, tmp_path)


def test_the_demo_has_two_cards_a_node_and_simulated_ones_on_a_node_of_their_own(tmp_path: Path) -> None:
    options = Options(nodes=2)
    assert agent_environment(options, "node-2", tmp_path)["WEIR_AGENT_DEVICES"].startswith("2x")
    simulated = agent_environment(options, "node-3", tmp_path)
    assert simulated["WEIR_AGENT_DEVICES"] == "none"
    assert "ascend" in simulated["WEIR_AGENT_SIMULATE"]
