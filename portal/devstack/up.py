"""What `make run`, `make serve`, `make stop` and `make reset` do."""

import fcntl
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from portal.devstack.bootstrap import ROOT
from portal.devstack.engines.kinds import ENGINES, engines_end
from portal.devstack.environment import METRICS_TOKEN, agent_environment
from portal.devstack.errors import LocalError
from portal.devstack.options import Options
from portal.devstack.servers.processes import STOP_SIGNALS, end, identity_read, wait_until
from portal.devstack.servers.servers import Servers
from portal.devstack.stack import Stack
from portal.devstack.stop_work import work_stop

_CHILDREN = ("web*", "worker*", "beat*", "scheduler*", "centers*", *ENGINES)
# An engine writes down what it knows before it leaves.
_STOP_SIGNALS = ((signal.SIGTERM, 60.0), (signal.SIGKILL, 5.0))
_STOP_TIMEOUT_S = 240


def say(line: str) -> None:
    """One line on the terminal, which may be gone by now."""
    with suppress(OSError):
        print(f"weir: {line}", flush=True)


def up(options: Options) -> None:
    """Start, carry one order and one job through where it is the demo, stay until told to stop.

    Raises:
        LocalError: it cannot start.
    """
    began_s = time.monotonic()
    stack = Stack(options, say=say)
    with _stoppable():
        try:
            stack.start()
            say(f"the portal is open at {stack.base_url} ({time.monotonic() - began_s:.0f} s)")
            _centers(stack)
            if options.journey:
                _journey(stack)
            _welcome(stack)
            while True:
                stack.tend()
                time.sleep(1)
        except KeyboardInterrupt:
            say("stopping")
        finally:
            _deaf()
            stack.stop()
    say("stopped")


def down(options: Options) -> None:
    """Stop a portal that runs elsewhere on this folder, and what a killed one left behind."""
    var_dir = options.var_dir.resolve()
    running = identity_read(var_dir / "run" / "stack.pid")
    if running is not None and running.is_alive():
        running.send(signal.SIGTERM)
        if not wait_until(lambda: not running.is_alive(), timeout_s=_STOP_TIMEOUT_S):
            raise LocalError(f"process {running.pid} did not stop within {_STOP_TIMEOUT_S} s")
        say("stopped")
    states = sorted((var_dir / "agents").glob("*/"))
    servers = [path.stem for pattern in _CHILDREN for path in (var_dir / "run").glob(f"{pattern}.pid")]
    for name in (*(state.name for state in states), *servers):
        leftover = identity_read(var_dir / "run" / f"{name}.pid")
        if leftover is not None:
            end(leftover, _STOP_SIGNALS if name in ENGINES else STOP_SIGNALS)
    engines_end(var_dir)
    for state in states:
        work_stop(state, agent_environment(options, state.name, state))


def reset(options: Options) -> None:
    """Stop, then wipe the folder; servers that a test run uses at this moment stay.

    Raises:
        LocalError: something in it is in use or belongs to another user.
    """
    down(options)
    var_dir = options.var_dir.resolve()
    if Servers(var_dir).is_running():
        raise LocalError(
            f"somebody still uses the database under {var_dir}: end that first (a shell, a command)"
        )
    if not var_dir.is_dir():
        return
    (var_dir / "run").mkdir(exist_ok=True)
    with (var_dir / "run" / "stack.lock").open("a") as lock:
        _take(lock, var_dir)
        _wipe_all(var_dir)
    say(f"{var_dir} is empty")


def _take(lock: IO[str], var_dir: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise LocalError(f"a portal was just started on {var_dir}: `make stop` first") from error


def _wipe_all(var_dir: Path) -> None:
    for path in var_dir.iterdir():
        if path.is_dir() and Servers(path).is_running():
            say(f"{path} is in use by a test run and stays")
            continue
        _wipe(path)


def _wipe(path: Path) -> None:
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    except OSError as error:
        raise LocalError(
            f"{error.filename} cannot be removed ({error.strerror}): run this as its owner"
        ) from error


def _centers(stack: Stack) -> None:
    """The demo's centres join the network; those that lack are named with what brings them."""
    for kind, why in stack.centers_lacking.items():
        say(f"no centre of the kind {kind}: {why}")
    if stack.centers and _in_front(stack, "portal.devstack.demo_centers", *stack.centers) == 0:
        say(f"centres of the network: {', '.join(stack.centers)} (WEIR_CENTERS chooses)")


def _journey(stack: Stack) -> None:
    """Carry one order and one job through the public API."""
    status = _in_front(stack, "portal.devstack.demo_story")
    if status:
        say(f"the journey did not reach its end (status {status}); see {stack.var_dir / 'log'}")


def _in_front(stack: Stack, module: str, *arguments: str) -> int:
    """Run one of our programs in the foreground, while the stack is tended; its exit status."""
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env=stack.environment,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        while process.poll() is None:
            stack.tend()
            time.sleep(0.5)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    return process.returncode


def _welcome(stack: Stack) -> None:
    with suppress(OSError):
        token = stack.var_dir / "run" / METRICS_TOKEN
        metrics = f'curl -H "Authorization: Bearer $(cat {token})" {stack.base_url}/metrics'
        print(f"\n{stack.welcome}\n\nfigures for Prometheus: {metrics}\n", flush=True)
        print("Ctrl-C stops everything.\n", flush=True)


@contextmanager
def _stoppable() -> Iterator[None]:
    """SIGTERM and a closed terminal mean the same as Ctrl-C."""

    def interrupt(_signum: int, _frame: object) -> None:
        raise KeyboardInterrupt

    for signum in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(signum, interrupt)
    yield


def _deaf() -> None:
    """A second Ctrl-C must not cut the stopping short: it would leave processes behind."""
    for signum in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(signum, signal.SIG_IGN)
