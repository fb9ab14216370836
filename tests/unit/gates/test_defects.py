"""Each line of docs/defects.md names tests that are there; of a few, the issue that builds the thing whole."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs" / "defects.md").read_text().splitlines()
    if line.startswith("| ") and not line.startswith("| Id ")
]
# Only these may wait for more than a mend.
WAITING = {"B4"}


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_defect_names_tests_that_are_there(row: list[str]) -> None:
    assert len(row) == 3, "an identity, what was seen, the tests"
    if row[0] in WAITING:
        assert re.search(r"issue \d+$", row[2]), "neither a test nor the issue that builds it"
        return
    named = re.findall(r"`([^`]+)`", row[2])
    assert named, "no test is named"
    path = ""
    for each in named:
        file, _, name = each.partition("::")
        path = path if file == "…" else file
        assert (ROOT / path).exists(), f"{path} is not there"
        if name:
            assert name.partition("[")[0].rpartition("::")[2] in _functions(ROOT / path), (
                f"{each} is not there"
            )


def test_every_letter_is_there_without_a_gap() -> None:
    """B1 to B12 and S1 to S26, as they were found."""
    ids = {row[0] for row in ROWS}
    assert {f"B{number}" for number in range(1, 13)} | {f"S{number}" for number in range(1, 27)} <= ids


def test_an_identity_stands_once() -> None:
    ids = [row[0] for row in ROWS]
    assert len(ids) == len(set(ids))


@cache
def _functions(path: Path) -> frozenset[str]:
    """Each file is read once, however many lines name tests of it."""
    return frozenset(
        node.name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    )
