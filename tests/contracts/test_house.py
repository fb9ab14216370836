"""House rules that a machine can check, each with the reason it exists."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TREES = ("apps", "portal", "workflows", "node_agent", "client", "weir_wire")
FORBIDDEN_NAMES = {"utils", "helpers", "common", "misc", "handlers", "signals"}
SOURCES = sorted(
    path
    for tree in TREES
    for path in (ROOT / tree).rglob("*.py")
    # Written by programs, not read by people.
    if "migrations" not in path.parts and path.name != "api_types.py"
)


def ids(path):
    return str(path.relative_to(ROOT))


def test_no_module_is_a_drawer_for_everything():
    assert [ids(path) for path in SOURCES if path.stem in FORBIDDEN_NAMES] == []


def test_package_files_of_apps_are_empty():
    packages = [path for path in SOURCES if path.name == "__init__.py" and path.parts[-3] == "apps"]
    assert [ids(path) for path in packages if path.read_text().strip()] == []


@pytest.mark.parametrize("path", [p for p in SOURCES if p.name == "apps.py"], ids=ids)
def test_nothing_happens_when_an_app_loads(path):
    assert "def ready" not in path.read_text()


def test_django_signals_are_not_used():
    words = ("post_save", "pre_save", "post_delete", "m2m_changed", "@receiver")
    assert [ids(path) for path in SOURCES if any(word in path.read_text() for word in words)] == []


def test_files_stay_readable():
    assert [(ids(p), n) for p in SOURCES if (n := p.read_text().count("\n")) > 500] == []


def test_functions_stay_readable():
    found = []
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                size = (node.end_lineno or 0) - node.lineno + 1
                if size > 60:
                    found.append((ids(path), node.name, size))
    assert found == []


def test_every_app_tells_its_duty_in_at_most_fifty_lines():
    for app in sorted((ROOT / "apps").iterdir()):
        if (app / "apps.py").exists():
            text = (app / "README.md").read_text()
            assert 5 <= text.count("\n") <= 50, app.name


def test_all_upward_edges_are_on_one_page():
    found = []
    for path in SOURCES:
        if path.parent.parts[-1] == "kernel" or path.name == "wiring.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "apps.kernel.wiring":
                found.append(ids(path))
    assert found == []


def test_no_document_installs_a_foreign_project():
    """`weir` on the public index is somebody else's: ours is `weir-client`, and no index has it."""
    told = re.compile(
        r"(pip3?|uv|pipx) (tool )?(install|add)[^\n`]*[\s'\"](weir|weir-py|weir-run)(\[|[\s`'\"=]|$)"
    )
    texts = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*/README.md"), *SOURCES]
    texts += (ROOT / "apps").rglob("*.html")
    assert told.search("pip install weir[torch]")
    assert told.search('"pip install weir"')
    assert [ids(path) for path in texts if told.search(path.read_text())] == []


def test_distributions_have_every_module():
    """Their packages are listed by hand, because the wire comes from beside their folders."""
    for folder, package in (("client", "weir"), ("node_agent", "node_agent")):
        setup = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["tool"]["setuptools"]
        top = ROOT / "client" / "weir" if package == "weir" else ROOT / "node_agent"
        found = {
            path.parent.relative_to(top.parent).as_posix().replace("/", ".") for path in top.rglob("*.py")
        }
        assert set(setup["packages"]) == found | {"weir_wire"}
        assert (ROOT / folder / setup["package-dir"]["weir_wire"]).resolve() == ROOT / "weir_wire"
