"""What the kernel takes of Django and psycopg has a public name: another version keeps it, or says so beforehand."""

import ast
from pathlib import Path

import pytest

KERNEL = Path(__file__).resolve().parents[3] / "apps" / "kernel"
# Documented, in spite of the underscore.
DOCUMENTED = {"_meta", "_state"}


@pytest.mark.parametrize("name", ["prepared_queries", "bulk"])
def test_no_private_name_of_a_library_is_used(name: str) -> None:
    tree = ast.parse((KERNEL / f"{name}.py").read_text())
    own = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and _is_self(node.value)}
    own |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    imported = {
        alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    private = {each for each in used | imported if each.startswith("_") and not each.startswith("__")}
    assert private - own - DOCUMENTED == set()


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"
