"""Reference models of the BPMN Model Interchange Working Group, where they lie beside the checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

from workflows.engine import BpmnRefused, Definition, load

FOLDER = Path(__file__).parents[4] / "shared" / "data" / "bpmn-miwg"
pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the reference models are not beside this checkout"
)


def loaded(name: str) -> Definition:
    return load((FOLDER / f"{name}.bpmn").read_bytes(), key="reference")


@pytest.mark.req("PLAT-CFG-21")
@pytest.mark.parametrize("name", ["A.1.0", "A.2.0", "A.3.0"])
def test_models_without_code_load_as_unfinished_drawings(name: str) -> None:
    definition = loaded(name)
    assert not definition.is_startable
    assert {problem.kind for problem in definition.problems} == {"unfinished"}
    assert "Task 1" in {problem.name for problem in definition.problems}


@pytest.mark.parametrize(
    ("name", "code"),
    [("A.4.0", "second_process"), ("B.2.0", "second_process"), ("C.1.1", "code"), ("C.3.0", "bad_condition")],
)
def test_models_with_code_or_several_processes_are_refused(name: str, code: str) -> None:
    with pytest.raises(BpmnRefused) as caught:
        loaded(name)
    assert code in {problem.code for problem in caught.value.problems}
