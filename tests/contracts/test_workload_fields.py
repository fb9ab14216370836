"""A field of a workload is declared once: API, bulk, form, commands and row follow, and few files name it."""

import re
import subprocess
from dataclasses import dataclass, field, fields
from pathlib import Path

import pytest
from weir.cli.main import app
from weir.cli.work.work_options import options_of

from apps.scheduling.api.serializers import workloads as serializers
from apps.scheduling.forms import submit as forms
from apps.scheduling.models import Workload
from apps.scheduling.services.workloads.submission import submit
from weir_wire.asks import Ask
from weir_wire.workload_request import WorkloadRequest, asks

ROOT = Path(__file__).resolve().parents[2]
MOST_FILES = 8
KINDS = ("text", "lines", "count", "flag", "instant", "words", "names", "variables", "choice")


@dataclass(frozen=True, slots=True)
class Wider(WorkloadRequest):
    """With a field more, declared and nothing else."""

    cooled: bool = field(default=False, metadata={"ask": Ask("flag", help="Cooled.", label="Cooled")})
    most_watts: int | None = field(
        default=None,
        metadata={
            "ask": Ask("count", 1, 5000, option="watts", help="At most.", label="Watts", offered=(1, 900))
        },
    )


def test_a_field_more_is_on_every_face_by_its_declaration_alone():
    body = serializers.fields_of(Wider)
    assert {"cooled", "most_watts"} <= body.keys()
    assert (body["most_watts"].min_value, body["most_watts"].max_value) == (1, 5000)
    form = forms.fields_of(Wider)
    assert (form["cooled"].label, form["most_watts"].max_value) == ("Cooled", 900)
    assert [options_of(Wider)[name][0] for name in ("cooled", "watts")] == ["cooled", "most_watts"]


def test_what_every_face_takes_is_what_is_declared():
    declared = {each.name for each in fields(WorkloadRequest)}
    assert set(serializers.WorkloadIn().fields) == declared
    own_words = {"mark": None, "command": "argv", "run_minutes": "run_timeout_s"}
    form = forms.SubmitForm(queues=[], specs=[], environments=[])
    assert {own_words.get(name, name) for name in form.fields} - {None} <= declared
    assert forms.fields_of().keys() <= form.fields.keys()
    marks = {name: field.widget.attrs.get("data-test") for name, field in form.fields.items()}
    assert marks == {name: f"submit-{name}" for name in form.fields}, "each looks like the portal's"
    (submit,) = app.entries["submit"].registered_commands
    taken = set(submit.callback.__annotations__)
    assert options_of().keys() - taken == {"idle_timeout"}, "programs have none"


def test_a_row_keeps_what_is_declared_or_says_what_it_makes_of_it():
    columns = {each.name for each in Workload._meta.get_fields()}
    assert set(submit._COPIED) <= columns
    assert asks().keys() >= submit._READ, "what is read otherwise is still declared"


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_that_may_be_declared_is_read_by_the_api(kind):
    assert serializers._field_of(Ask(kind, 0, 9, 3, ("a",)), "a" if kind == "choice" else None)


def _checklist():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    (section,) = re.findall(r"## A field of a workload\n(.*?)\n## ", text, re.DOTALL)
    return re.findall(r"^- \[ \] (?:[^`]*?)`([^`]+)`", section, re.MULTILINE)


def test_the_checklist_of_a_new_field_has_eight_files_at_most():
    files = _checklist()
    assert 3 <= len(files) <= MOST_FILES
    assert [name for name in files if not (ROOT / name).exists()] == []


# Fields that are asked for and decided on nowhere but in the engine: what a new one of that sort touches.
PLAIN = (
    "anti_affinity",
    "distinct_devices",
    "single_node",
    "earliest_start_at",
    "max_attempts",
    "local_node",
)


@pytest.mark.parametrize("name", PLAIN)
def test_a_field_is_named_by_eight_files_at_most_outside_of_where_it_is_acted_on(name):
    """Not counted: the engine, which acts on it; migrations and what is generated; pages, tests and documents; and what
    other systems' files call it; and what a form says again of earlier work, which needs no new field."""
    listed = subprocess.run(
        ["git", "grep", "-lw", name, "--", "apps", "client", "portal", "weir_wire", "node_agent"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
    aside = (
        "/migrations/",
        "/engine/",
        "client/weir/api_types.py",
        "client/weir/cli/job_files/",
        "/forms/again.py",
    )
    named = [path for path in listed if not any(part in path for part in aside)]
    assert "weir_wire/workload_request.py" in named
    assert len(named) <= MOST_FILES, named


def test_every_field_of_the_form_is_dressed_as_the_portals_are():
    form = forms.SubmitForm(queues=[], specs=[], environments=[])
    bare = [
        name
        for name, field in form.fields.items()
        if not field.widget.attrs.get("class", "").startswith("form-")
    ]
    assert bare == []
    assert all(field.widget.attrs["data-test"] == f"submit-{name}" for name, field in form.fields.items())
