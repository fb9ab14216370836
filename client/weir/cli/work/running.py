"""`weir run`: a script of your own on a share of a remote accelerator."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import weir
from weir.api import Client
from weir.cli.context import caller
from weir.cli.show import tell
from weir.cli.work import work_options
from weir.errors import WeirClientError
from weir.session import Lease

if TYPE_CHECKING:
    from weir.api_types import ConnectionOut

_LOOK_S = 2.0
_UNUSED_S = 60.0
_NOT_FOUND = 127
_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT)
_FINAL = frozenset({"finished", "failed", "lost"})


@work_options.asking(
    "share", "memory", "spec", "environment", "queue", "priority", "urgent", "oversubscribe", "model", "vendor", "node",
    "device", "group", "placing", "affinity", "whole", "idle_timeout", "run_timeout",
)  # fmt: skip
def run(
    ctx: typer.Context,
    command: list[str] = typer.Argument(..., help="The script and its arguments.", metavar="COMMAND..."),
    gpus: int = typer.Option(1, help="How many such shares, each on a device of its own."),
    **_asked: Any,
) -> None:
    """Run a script with device "weir" on a share of a remote accelerator: ask, wait, run, release.

    `weir run --share 30 --memory 4096 python train.py`, and in the script `device="weir:0"`.
    """
    name = Path(_script(command)).name[:120] or "run"
    several = {"shares": gpus, "distinct_devices": True} if gpus != 1 else {}
    request = work_options.request_of(ctx, name=name, **several)
    with caller(ctx) as client:
        sys.exit(_run(client, request, command))


def _script(command: list[str]) -> str:
    """What the work is called: the first Python file, else the program."""
    return next((part for part in command if part.endswith(".py")), command[0])


def _tell(line: str) -> None:
    tell(f"weir: {line}")


def _run(client: Client, request: Mapping[str, Any], command: list[str]) -> int:
    program = _program(command[0])
    if program is None:
        _tell(f"there is no program {command[0]}")
        return _NOT_FOUND
    with _stopped_by_signal():
        lease = Lease(client, request, tell=_tell)
    try:
        with _stopped_by_signal():
            shares = lease.wait()
        _tell(_where(lease, shares))
        with _session_file(shares) as path:
            return _script_run(lease, [program, *command[1:]], path)
    finally:
        _release(lease)


def _where(lease: Lease, shares: list["ConnectionOut"]) -> str:
    held = [f"{each['compute_percent']} % and {each['memory_mib']} MiB on {each['node']}" for each in shares]
    return f"{lease.no} runs: {', '.join(held)}"


@contextmanager
def _stopped_by_signal() -> Iterator[None]:
    """Before the script runs a signal ends the waiting; what was asked for is given back on the way out."""

    def stop(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    except KeyboardInterrupt:
        raise SystemExit(128 + signal.SIGINT) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _release(lease: Lease) -> None:
    try:
        lease.release("its script has ended")
    except WeirClientError as error:
        # Its worker sees that nobody is connected any more and ends it.
        _tell(f"{lease.no} could not be released: {error}")


# --- the file that the script's devices are found by -------------------------------------------------------------


@contextmanager
def _session_file(shares: list["ConnectionOut"]) -> Iterator[Path]:
    """Where the sessions are and their keys, readable by this user alone; gone with the script."""
    handle, name = tempfile.mkstemp(prefix="weir-", suffix=".json")
    os.close(handle)
    path = Path(name)
    try:
        _session_write(path, shares)
        yield path
    finally:
        path.unlink(missing_ok=True)


def _session_write(path: Path, shares: list["ConnectionOut"]) -> None:
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as stream:
        json.dump({"shares": shares, "is_kept": True}, stream)
    fresh.replace(path)


# --- the script ----------------------------------------------------------------------------------------------------


def _script_run(lease: Lease, command: list[str], path: Path) -> int:
    """Run it, watch its session beside it; its exit status, 128 and more when a signal ended it."""
    ended = threading.Event()
    watch = threading.Thread(target=_watch, args=(lease, path, ended), name="weir-watch", daemon=True)
    with _forwarding() as children:
        process = subprocess.Popen(command, env=_environment(path, len(lease.shares)))
        children.append(process)
        watch.start()
        code = process.wait()
    ended.set()
    watch.join(_LOOK_S)
    return 128 - code if code < 0 else code


def _program(name: str) -> str | None:
    """The program as the shell would find it; `python` is this interpreter where there is no other."""
    return shutil.which(name) or (sys.executable if name in ("python", "python3") else None)


def _environment(path: Path, shares: int = 1) -> Mapping[str, str]:
    boot = str(Path(weir.__file__).parent / "boot")
    paths = [boot, os.environ.get("PYTHONPATH", "")]
    # Of several, that of the rank: torchrun starts a process for each.
    device = "weir:0" if shares == 1 else "weir"
    return {
        **os.environ,
        "WEIR_SESSION_FILE": str(path),
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        # What accelerate, and Trainer by it, looks at before the devices that it knows.
        "ACCELERATE_TORCH_DEVICE": os.environ.get("ACCELERATE_TORCH_DEVICE", device),
    }


@contextmanager
def _forwarding() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Signals go on to the script. What a terminal's interrupt key sends, the script gets by itself."""
    children: list[subprocess.Popen[bytes]] = []

    def forward(number: int, _frame: object) -> None:
        if number == signal.SIGINT and sys.stdin is not None and sys.stdin.isatty():
            return
        for child in children:
            with suppress(ProcessLookupError):
                child.send_signal(number)

    before = {number: signal.signal(number, forward) for number in _FORWARDED}
    try:
        yield children
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _watch(lease: Lease, path: Path, ended: threading.Event) -> None:
    """Say when the session ends while its script runs, and keep its address true when it moves."""
    warn_at: float | None = time.monotonic() + _UNUSED_S
    while not ended.wait(_LOOK_S):
        known = lease.shares
        try:
            found = lease.look()
            if warn_at is not None and time.monotonic() >= warn_at:
                _tell_unused(lease)
                warn_at = None
        except WeirClientError:
            continue
        if found["state"] in _FINAL:
            if found["reason_code"] != "completed":
                _tell(f"{lease.no} is released. {found['reason']}".rstrip())
            return
        if lease.shares and lease.shares != known:
            _session_write(path, lease.shares)


def _tell_unused(lease: Lease) -> None:
    """Say when a script has not touched its device for a minute: the share is metered all the same."""
    if not lease.is_used():
        _tell(
            f"{lease.no} is held and metered, and after {_UNUSED_S:.0f} s nothing has used its device. "
            'What the script computes, it computes here: name the device, device="weir:0".'
        )


CONTEXT = {"allow_interspersed_args": False}
