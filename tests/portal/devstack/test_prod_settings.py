"""What a real installation's settings refuse and switch on (S16, S17)."""

import os
import subprocess
import sys

import pytest

from portal.devstack.bootstrap import ROOT

_GOOD = {
    "WEIR_DATABASE_URL": "postgresql://weir@127.0.0.1:1/weir",
    "WEIR_REDIS_URL": "redis://127.0.0.1:1/0",
    "WEIR_SECRET_KEY": "kJ8s-2nVq0ZtYw4Lr7Xc1Pd5Hg9Mb3Fa6Ue",
    "DJANGO_SETTINGS_MODULE": "portal.settings.prod",
}


def _run(*command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("WEIR_", "DJANGO_"))}
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={**kept, **_GOOD, **variables},
        text=True,
        capture_output=True,
    )


@pytest.mark.parametrize("key", ["at-least-32-characters-from-a-generator", "a" * 32, "ab" * 20])
def test_a_key_that_can_be_guessed_is_refused_by_name(key: str) -> None:
    """S17: the example of our own file was taken, and so was one letter 32 times."""
    done = _run("-c", "import portal.settings.prod", WEIR_SECRET_KEY=key)
    assert done.returncode == 2
    assert "WEIR_SECRET_KEY" in done.stderr
    assert "openssl rand" in done.stderr


def test_djangos_own_check_finds_nothing_where_https_is_not_mentioned() -> None:
    """S16: without WEIR_HTTPS cookies went over plain HTTP, and nothing said so."""
    done = _run("manage.py", "check", "--deploy")
    for warning in ("W004", "W005", "W008", "W012", "W016"):
        assert f"security.{warning}" not in done.stderr
    assert done.returncode == 0, done.stderr
