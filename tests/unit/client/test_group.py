"""What all commands share: `--json` anywhere, plain errors of one line, and a start that loads little."""

import json
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner
from weir.cli import resources
from weir.cli.main import app
from weir.cli.work import running, submitting, workloads

from tests.unit.client.centre import Centre

BOX = "─│╭╰"


class Found(Centre):
    """A centre with one resource, whose file of jobs is on a full disk."""

    def workloads(self, **_filters):
        return [{"no": "W-1", "name": "a [b]"}]

    def environments(self):
        return []

    def workload_submit(self, **body):
        self.asked.append(body)
        return {"no": "W-1"}


@pytest.fixture
def centre(monkeypatch):
    found = Found()
    for module in (resources, workloads, running, submitting):
        monkeypatch.setattr(module, "caller", lambda _ctx: found)
    return found


def weir(*words):
    return CliRunner().invoke(app, words)


@pytest.mark.parametrize("words", [("--json", "resources"), ("resources", "--json")])
def test_json_is_asked_for_before_or_after_the_command(centre, words):
    assert json.loads(weir(*words).stdout) == centre.workloads()


@pytest.mark.parametrize("place", range(3))
def test_json_is_asked_for_at_any_place_of_a_groups_command(centre, place):
    words = ["environments", "list"]
    words.insert(place, "--json")
    assert json.loads(weir(*words).stdout) == []


def test_what_follows_a_programs_name_is_the_programs(centre):
    done = weir("submit", "--share", "5", "train", "--json")
    assert done.exit_code == 0, done.output
    assert centre.asked[0]["argv"] == ["train", "--json"]
    assert not done.stdout.startswith("{")


@pytest.mark.parametrize(
    "words", [("resources", "--bogus"), ("queues", "plam"), ("resourcs",), ("run",), ("logs",)]
)
def test_a_mistyped_line_is_told_in_plain_text(words):
    done = weir(*words)
    assert done.exit_code == 2
    assert not set(done.output) & set(BOX)
    assert "Error: " in done.output


def test_a_mistyped_name_is_answered_with_its_neighbours():
    assert "Did you mean 'resource'" in weir("resourc").output
    assert "Did you mean 'plan'?" in weir("queues", "plam").output


def test_what_a_file_refuses_is_one_line(centre, monkeypatch):
    def full(**_filters):
        raise OSError(28, "No space left on device", "report.csv")

    monkeypatch.setattr(centre, "workloads", full)
    done = weir("resources")
    assert (done.exit_code, done.output) == (1, "report.csv: No space left on device.\n")


def test_brackets_of_a_message_are_no_markup(centre, monkeypatch):
    def failing(**_filters):
        raise OSError("[Errno 2] [bold]x")

    monkeypatch.setattr(centre, "workloads", failing)
    assert weir("resources").output == "[Errno 2] [bold]x.\n"


def test_the_help_loads_neither_what_draws_nor_what_calls():
    """A start of half a second is felt at every command; the figure itself is `tests/bench/test_client_start.py`."""
    code = """
import sys
from weir.cli.main import app
try:
    app(["--help"], prog_name="weir")
except SystemExit:
    pass
print(sorted({name.partition(".")[0] for name in sys.modules} & {"rich", "httpx", "lightkube", "torch", "yaml"}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "conformance" in done.stdout


def test_shells_complete_commands():
    script = weir("completion", "bash")
    assert script.exit_code == 0
    assert "_WEIR_COMPLETE" in script.stdout
    assert "Name bash, zsh or fish" in weir("completion", "tcsh").output
    env = {**os.environ, "_WEIR_COMPLETE": "complete_bash", "COMP_WORDS": "weir subm", "COMP_CWORD": "1"}
    done = subprocess.run([sys.executable, "-m", "weir"], env=env, capture_output=True, text=True)
    assert sorted(done.stdout.split()) == ["submit", "submit-form"]


def test_the_help_is_ordered_by_what_people_do():
    told = weir("-h").stdout
    headings = [
        "Your work:",
        "Catalogue and orders:",
        "Money and messages:",
        "For operators:",
        "This client:",
    ]
    assert [line for line in told.splitlines() if line in headings] == headings
    assert (
        told.index("Your work:")
        < told.index("  submit ")
        < told.index("  catalogue ")
        < told.index("  nodes ")
    )
    assert "Usage" in weir("queues", "-h").stdout
    assert "Usage" in weir("submit", "-h").stdout
