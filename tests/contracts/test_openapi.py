"""The API's description: complete, valid, and committed, so that a change of it shows in a review."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.validation import validate_schema

ROOT = Path(__file__).resolve().parents[2]
COMMITTED = ROOT / "docs" / "openapi.yaml"


@pytest.fixture(scope="module")
def schema():
    GENERATOR_STATS.reset()
    with GENERATOR_STATS.silence():
        return SchemaGenerator(urlconf="portal.urls_api").get_schema(request=None, public=True)


def test_it_is_valid_openapi_3(schema):
    validate_schema(schema)
    assert schema["openapi"].startswith("3.")


@pytest.mark.req("PLAT-CMP-4", "PLAT-CMP-20")
def test_every_route_is_described_and_nothing_is_guessed(schema):
    assert len(schema["paths"]) > 60
    assert not GENERATOR_STATS._error_cache


def test_it_is_the_committed_one(schema):
    """`make openapi` writes it anew."""
    written = yaml.dump(_plain(schema), Dumper=yaml.CSafeDumper)
    assert yaml.load(COMMITTED.read_text(), yaml.CSafeLoader) == yaml.load(written, yaml.CSafeLoader)


def test_the_clients_types_are_made_of_it():
    """`make openapi` writes them anew."""
    command = [str(Path(sys.executable).parent / "datamodel-codegen"), "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout[-2000:]}{done.stderr[-2000:]}"


def _plain(value):
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value if isinstance(value, (int, float, bool, type(None))) else str(value)
