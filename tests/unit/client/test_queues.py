"""`weir queues`: a file is planned, applied to what was planned for, exported; queues are opened and closed."""

import json

import pytest
from typer.testing import CliRunner
from weir.cli.centre import queues
from weir.cli.main import app

from tests.unit.client.centre import Centre

OUTCOME = {
    "changes": [
        {"name": "normal", "act": "change", "settings": [{"name": "weight", "before": 1, "after": 50}]},
        {"name": "old", "act": "remove", "settings": []},
    ],
    "kept": ["default"],
    "notes": ["Preemption is off as a whole."],
    "state": "abc",
}


class Filed(Centre):
    """Answers as a centre does."""

    def queue_file_plan(self, text, **more):
        self.asked.append(("plan", text, more))
        return OUTCOME

    def queue_file_apply(self, text, **more):
        self.asked.append(("apply", text, more))
        return OUTCOME | {"changes": []}

    def queue_file(self, **more):
        self.asked.append(("export", more))
        return {"text": "queues: []\n", "state": "abc"}

    def queue_close(self, code):
        self.asked.append(("close", code))
        return {"code": code}

    def queue_open(self, code):
        self.asked.append(("open", code))
        return {"code": code}


@pytest.fixture
def centre(monkeypatch):
    found = Filed()
    monkeypatch.setattr(queues, "caller", lambda _ctx: found)
    return found


def weir(*words, **options):
    done = CliRunner().invoke(app, words, **options)
    assert done.exit_code == 0, done.output
    return done


@pytest.mark.req("ELA-1701")
def test_a_plan_tells_each_setting_and_what_is_left_alone(centre, tmp_path):
    file = tmp_path / "queues.yaml"
    file.write_text("queues: [{name: normal, weight: 50}]\n")
    told = weir("queues", "plan", "--prune", str(file))
    assert centre.asked == [("plan", file.read_text(), {"prune": True})]
    for words in (("change", "normal", "weight", "1", "50"), ("remove", "old")):
        assert any(line.split()[: len(words)] == list(words) for line in told.output.splitlines()), (
            told.output
        )
    assert "State: abc" in told.output
    assert "default" in told.output
    assert "Preemption is off" in told.output
    assert json.loads(weir("--json", "queues", "plan", str(file)).stdout) == OUTCOME


@pytest.mark.req("ELA-1701", "ELA-1704")
def test_a_file_is_applied_from_standard_input_and_queues_are_closed(centre):
    told = weir("queues", "apply", "--state", "abc", "-", input="queues: [{name: a}]\n")
    assert "Nothing changes." in told.output
    weir("queues", "close", "a")
    weir("queues", "open", "a")
    assert centre.asked == [
        ("apply", "queues: [{name: a}]\n", {"prune": False, "state": "abc"}),
        ("close", "a"),
        ("open", "a"),
    ]


@pytest.mark.req("ELA-1703")
def test_an_export_is_the_file_and_nothing_else(centre):
    assert weir("queues", "export", "--volcano", "--resource", "amd.com/gpu").stdout == "queues: []\n"
    assert centre.asked == [("export", {"form": "volcano", "resource": "amd.com/gpu"})]
