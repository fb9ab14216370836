"""The command line: `python -m node_agent [run | stop-work | devices | isolation]`."""

from __future__ import annotations

import argparse
import fcntl
import logging
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import IO

from pydantic import ValidationError

from node_agent.config import AgentSettings
from node_agent.daemon import Daemon
from node_agent.events import EventLog
from node_agent.launcher import Launcher, is_launched, restart
from node_agent.node import Node
from node_agent.release import ReleaseStore
from node_agent.remote_config import Configured
from node_agent.runtime.isolation.levels import isolation_find
from node_agent.runtime.isolation.own_packages import own_packages_link
from node_agent.runtime.network.available import network_find
from node_agent.runtime.process_runtime import ProcessRuntime

log = logging.getLogger("weir.agent")


def main(arguments: list[str] | None = None) -> int:
    """Exit codes: 0 done, 1 another agent has this folder or it cannot be used, 2 a wrong setting."""
    parser = argparse.ArgumentParser(prog="node_agent", description="Weir's agent on a node.")
    parser.add_argument(
        "command",
        nargs="?",
        default="run",
        choices=["run", "stop-work", "devices", "isolation"],
        help="run: stay and serve (default); stop-work: end all its work; devices: print what is found; "
        "isolation: say how work is kept apart on this node",
    )
    command = parser.parse_args(arguments).command
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        settings = AgentSettings()
    except ValidationError as error:
        return _settings_refused(error)
    try:
        if command == "run" and not is_launched() and ReleaseStore(settings.home).exists:
            return Launcher(settings).run()
        acts = {"run": _run, "stop-work": _stop_work, "devices": _devices, "isolation": _isolation}
        return acts[command](settings)
    except OSError as error:
        print(
            f"The agent's folder {settings.home} cannot be used: {error}. "
            "Set WEIR_AGENT_STATE_DIR to a folder that can be written.",
            file=sys.stderr,
        )
        return 1


def _settings_refused(error: ValidationError) -> int:
    for detail in error.errors(include_input=False, include_url=False):
        name = "_".join(["WEIR_AGENT", *map(str, detail["loc"])]).upper()
        print(f"{name}: {detail['msg']}", file=sys.stderr)
    return 2


def _run(settings: AgentSettings) -> int:
    settings.home.mkdir(parents=True, exist_ok=True)
    lock = _lock(settings)
    if lock is None:
        print(
            f"Another agent already runs in {settings.home}: stop it, or give this one its own "
            "WEIR_AGENT_NAME or WEIR_AGENT_STATE_DIR.",
            file=sys.stderr,
        )
        return 1
    events = EventLog()
    log.addHandler(events)
    configured = Configured(settings)
    runtime = ProcessRuntime(configured)
    isolation = runtime.isolation
    log.log(logging.INFO if isolation.level == "namespaces" else logging.WARNING, "%s", isolation.sentence)
    networking = runtime.networking
    is_walled = networking.is_own or networking.is_chosen
    log.log(logging.INFO if is_walled else logging.WARNING, "%s", networking.sentence)
    log.info("%s", runtime.containers.sentence)
    log.info("%s", runtime.packages.sentence)
    node = Node(configured, isolation, runtime.containers, runtime.packages.version, networking)
    daemon = Daemon(configured, node, runtime, events)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: daemon.stop.set())
    log.info(
        "agent %s (pid %d) serves %s from %s", settings.name, os.getpid(), settings.server, settings.home
    )
    daemon.run()
    if daemon.upgrade.is_due.is_set() and not daemon.stop.is_set():
        lock.close()
        return restart()
    log.info("agent %s ends; its work goes on", settings.name)
    return 0


def _lock(settings: AgentSettings) -> IO[str] | None:
    file = (settings.home / "agent.lock").open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def _stop_work(settings: AgentSettings) -> int:
    if not settings.home.is_dir():
        print("0 works ended")
        return 0
    print(f"{ProcessRuntime(Configured(settings)).stop_all()} works ended")
    return 0


def _devices(settings: AgentSettings) -> int:
    for report in Node(Configured(settings)).reports():
        print(report.model_dump_json())
    return 0


def _isolation(settings: AgentSettings) -> int:
    settings.home.mkdir(parents=True, exist_ok=True)
    # Apart from what an agent that runs in this folder does meanwhile.
    with tempfile.TemporaryDirectory(prefix="isolation.", dir=settings.home) as name:
        folder = Path(name)
        folder.chmod(0o711)
        library = own_packages_link(folder / "lib")
        base, is_forced = settings.work_uid_base, settings.allow_root_work
        isolation = isolation_find(folder, library, uid_base=base, is_forced=is_forced)
        print(isolation.sentence)
        if not isolation.refusal:
            print(network_find(settings.work_network, isolation, folder, library).sentence)
    return 0


if __name__ == "__main__":
    sys.exit(main())
