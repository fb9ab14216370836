"""The checklists of CONTRIBUTING.md, walked: every file, folder and command they name is there."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL))
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
PLACEHOLDER = re.compile(r"<\w+>")


def named(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text) + re.findall(r"\]\(([^)]+)\)", text)


def lost(name: str) -> bool:
    """Whether a checklist names what is not there: a file, a folder, a command of make or of Python."""
    words = name.split()
    if words[0] == "make":
        return words[1] not in TARGETS
    if words[:2] == ["python", "-m"]:
        return importlib.util.find_spec(words[2]) is None
    if words[0].endswith("/python"):
        return not (ROOT / words[1]).exists()
    if "/" not in name and not re.search(r"\.\w{2,5}$", name):
        return False
    return not any(ROOT.glob(PLACEHOLDER.sub("*", name).rstrip("/")))


@pytest.mark.parametrize(
    "section",
    ["A field of a model", "A field of a workload", "A service", "A page", "An app", "A driver", "A setting"],
)
def test_a_checklist_names_what_is_there(section):
    steps = re.findall(r"^- \[ \] (.+)$", SECTIONS[section], re.MULTILINE)
    assert len(steps) >= 4
    names = [name for step in steps for name in named(step)]
    assert len(names) >= 6
    assert [name for name in names if lost(name)] == []


READMES = sorted(
    file
    for top in ("apps", "client", "node_agent", "weir_wire", "workflows")
    for file in (ROOT / top).rglob("README.md")
)
# A file or folder in code, with or without folders above: `services/checks.py`, `runtime/shim/`.
PLACE = re.compile(r"`((?:[\w.-]+/)*[\w.-]+(?:\.py|/))`")


@pytest.mark.parametrize("readme", READMES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_a_readme_names_what_is_there(readme):
    """A place is written as from the readme's folder, from the top, or as the end of a longer one below the folder."""
    there = {path.relative_to(readme.parent).as_posix() for path in readme.parent.rglob("*")}
    gone = [
        name
        for name in PLACE.findall(readme.read_text())
        if not (ROOT / name).exists()
        and not any(f"/{path}".endswith(f"/{name.rstrip('/')}") for path in there)
    ]
    assert gone == []


def test_each_app_has_its_line():
    """What an app is about stands in the table of the architecture, once each, in the order of the layers."""
    told = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/architecture.md").read_text(), re.MULTILINE)
    layers = re.findall(
        r'^  "(\(apps\..*)",$', (ROOT / "pyproject.toml").read_text().split("Inside an app")[0], re.MULTILINE
    )
    rank = {app: row for row, line in enumerate(layers) for app in re.findall(r"apps\.(\w+)", line)}
    assert sorted(told) == sorted(rank)
    assert [rank[app] for app in told] == sorted(rank.values())


@pytest.mark.parametrize(
    "paper", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/architecture.md", "docs/database.md"]
)
def test_a_link_leads_somewhere(paper):
    file = ROOT / paper
    links = re.findall(r"\]\((?!http|#)([^)#]+)[^)]*\)", file.read_text())
    assert [link for link in links if not (file.parent / link).exists()] == []


def test_what_is_not_there_is_told():
    assert lost("make sandwiches")
    assert lost("python -m gates.nowhere")
    assert lost("apps/<app>/nowhere.py")
    assert lost("portal/nowhere.py")
    assert not lost("apps/<app>/permissions.py")
    assert not lost("`is_verified`")
