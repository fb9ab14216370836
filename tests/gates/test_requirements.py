"""The catalogues, the states and the marks belong together, and the check that says so can fail."""

import re
from pathlib import Path

import pytest

from gates import requirements

ROOT = Path(__file__).resolve().parents[2]
# Numbers of questions that a source leaves open, as texts cite them.
QUESTION = re.compile(r"(?<![A-Z0-9-])(N-\d+|JC-Q-\d+|ORCH-Q-\d+)(?![\d.])")
TREES = (
    "apps",
    "client",
    "deploy",
    "docs",
    "gates",
    "node_agent",
    "portal",
    "templates",
    "tests",
    "workflows",
)
KINDS = {".py", ".md", ".html", ".toml", ".sh"}


def sources() -> list[Path]:
    found = [path for tree in TREES for path in (ROOT / tree).rglob("*") if path.suffix in KINDS]
    return [ROOT / "README.md", *(path for path in found if path.parent != requirements.FOLDER)]


@pytest.fixture(scope="module")
def tests() -> dict[str, list[str]]:
    return requirements.marks()


def test_every_citation_leads_somewhere():
    known = requirements.known()
    questions = set()
    for catalogue in requirements.CATALOGUES:
        questions |= set(QUESTION.findall((requirements.FOLDER / f"{catalogue}.md").read_text()))
    lost = []
    for path in sources():
        if path == Path(__file__):
            continue
        text = path.read_text()
        lost += [(str(path), name) for name in requirements.cited(text) if name not in known]
        lost += [(str(path), name) for name in QUESTION.findall(text) if name not in questions]
    assert lost == []


def test_marks_and_states_name_requirements_and_what_works_has_a_test(tests):
    assert requirements.faults(tests) == []


def test_a_requirement_stands_in_one_catalogue_only():
    names = [name for catalogue in requirements.CATALOGUES for name in requirements.requirements(catalogue)]
    assert len(names) == len(set(names)) > 1400


def test_a_mark_that_names_nothing_is_told_with_its_file(tmp_path):
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "test_it.py").write_text(
        'import pytest\n\n\n@pytest.mark.req("PLAT-CLU-31", "PLAT-CLU-999", *more)\ndef test_it():\n    pass\n'
    )
    tests = requirements.marks(folder)
    assert tests["PLAT-CLU-31"] == ["tests/test_it.py"]
    wrong = [sentence for sentence in requirements.faults(tests) if sentence.startswith("tests/test_it.py")]
    assert [name for name in ("PLAT-CLU-999", "*more") if any(name in sentence for sentence in wrong)] == [
        "PLAT-CLU-999",
        "*more",
    ]
    assert len(wrong) == 2


def test_what_is_said_to_work_without_a_test_is_told(tests):
    working = next(name for name, state in requirements.states("platform").items() if state.name == "works")
    others = {name: files for name, files in tests.items() if name != working}
    assert [sentence for sentence in requirements.faults(others) if working in sentence]


def test_the_table_has_every_requirement_with_its_tests(tests):
    rows = dict(re.findall(r"^\| (\S+) \| (.*) \|$", requirements.table(tests), re.MULTILINE))
    for catalogue in requirements.CATALOGUES:
        assert set(requirements.requirements(catalogue)) <= set(rows)
    assert all(file in rows[name] for name, files in tests.items() for file in files)
