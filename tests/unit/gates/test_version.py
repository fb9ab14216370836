"""The version is written in one place; distributions, the API, the client and the newest change have it from there."""

import re
import tomllib
from pathlib import Path

import weir
from setuptools.config.pyprojecttoml import read_configuration

from weir_wire.version import VERSION

ROOT = Path(__file__).resolve().parents[3]
PROJECTS = ("client", "node_agent", "weir_wire")


def test_every_distribution_is_built_with_the_version(monkeypatch):
    for name in PROJECTS:
        monkeypatch.chdir(ROOT / name)
        built = read_configuration(ROOT / name / "pyproject.toml")["project"]
        assert built["version"] == VERSION, name


def test_no_project_file_has_a_version_of_its_own():
    for folder in (".", *PROJECTS):
        project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
        assert "version" not in project, folder
        assert project["dynamic"] == ["version"], folder


def test_the_client_the_api_and_the_changes_say_the_version():
    assert weir.__version__ == VERSION
    described = re.search(r"^  version: (\S+)$", (ROOT / "docs/openapi.yaml").read_text(), re.MULTILINE)
    assert described is not None
    assert described[1] == VERSION
    newest = re.search(r"^## (\S+?),", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert newest[1] == VERSION
