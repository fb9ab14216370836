import subprocess
import sys

import pytest
from django.utils import translation

from apps.centers.adapters import kinds
from apps.centers.services.centers import center_join
from apps.kernel.actor import SYSTEM
from tests.apps.centers.telling import TELLING, Told
from tests.harness.schedulers import environment


@pytest.fixture(autouse=True)
def _english():
    """Refusals are compared by their words."""
    with translation.override("en"):
        yield


@pytest.fixture
def telling(monkeypatch, tmp_path):
    """A centre of the kind "telling", that is not joined yet: it answers what it is told."""
    monkeypatch.setitem(kinds.KINDS, "telling", TELLING)
    return Told(tmp_path / "centre.json").say()


@pytest.fixture
def join(telling):
    """Join the telling centre, under another code where one is given."""

    def make(code="lake", **more):
        facts = {"name": code.title()} | more.pop("facts", {})
        given = {"settings": {"address": str(telling.path)}, "secrets": {"token": "right"}} | more
        return center_join(actor=SYSTEM, ai_center_id=code, kind="telling", facts=facts, **given)

    return make


@pytest.fixture
def crew(committed):
    """Starts watchers, with arguments of `telling`; whoever still runs is killed afterwards."""
    processes = []

    def more(*words):
        command = [sys.executable, "-m", "tests.apps.centers.telling", *words]
        processes.append(subprocess.Popen(command, env=environment()))
        return processes[-1]

    yield more
    for process in processes:
        process.kill()
        process.wait()
