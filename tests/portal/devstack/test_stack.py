"""The whole stack through its own Python interface: what it starts it tends, and stops, and only that."""

import os
import signal

import psutil
import pytest

from portal.devstack.errors import LocalError
from portal.devstack.options import Options
from portal.devstack.servers.processes import identity_read, wait_until
from portal.devstack.stack import Stack
from tests.harness.portal import own_environment, portal_folder

pytestmark = [pytest.mark.journey, pytest.mark.xdist_group("stack")]


@pytest.fixture(scope="module")
def told() -> list[str]:
    return []


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, told: list[str]):
    with own_environment():
        found = Stack.in_folder(portal_folder(tmp_path_factory, "stack"), nodes=0, say=told.append)
        found.start()
        yield found
        found.stop()


def test_it_answers_and_says_who_can_log_in(stack: Stack) -> None:
    assert stack.is_ready()
    assert "acme" in stack.welcome
    assert "acme" in stack.manage("seed", "--show")


def test_a_second_one_on_the_same_folder_is_refused_and_the_first_lives_on(stack: Stack) -> None:
    second = Stack(Options(var_dir=stack.var_dir, port=stack.options.port), durable=False)
    with pytest.raises(LocalError, match=rf"already runs on .*process {os.getpid()}.*make stop"):
        second.start()
    assert stack.is_ready()


def test_a_dead_child_is_reported_and_started_again(stack: Stack, told: list[str]) -> None:
    web = stack.children["web"]
    first = web.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)

    def is_back() -> bool:
        stack.tend()
        return web.pid not in (None, first) and stack.is_ready()

    assert wait_until(is_back, timeout_s=240, every_s=0.3)
    assert any(line.startswith("web died; the end of") for line in told)
    assert "web started again" in told


@pytest.mark.parametrize("name", ["postgres", "redis"])
def test_a_killed_server_comes_back_under_the_running_portal(stack: Stack, name: str) -> None:
    before = identity_read(stack.var_dir / "run" / f"{name}.pid")
    stack.kill(name)
    assert wait_until(lambda: identity_read(stack.var_dir / "run" / f"{name}.pid") != before, timeout_s=120)
    assert wait_until(stack.is_ready, timeout_s=120, every_s=0.3)


def _environments() -> list[str]:
    found = []
    for process in psutil.process_iter():
        try:
            found.append(process.environ().get("WEIR_VAR_DIR", "") + " ".join(process.cmdline()))
        except psutil.Error:
            continue
    return found


def test_stopping_leaves_no_process_behind(stack: Stack) -> None:
    mark = str(stack.var_dir)
    assert any(mark in one for one in _environments())
    stack.stop()
    assert not any(mark in one for one in _environments())
