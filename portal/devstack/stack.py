"""The whole portal on one machine: servers, web, worker, beat, scheduler, agents, engines, as one.

python -m portal.devstack up|serve|down|reset
"""

import fcntl
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from portal.devstack import assets, preflight
from portal.devstack.bootstrap import ROOT
from portal.devstack.engines.kinds import ENGINES, centers_chosen
from portal.devstack.environment import (
    agent_environment,
    center_environment,
    engine_environment,
    has_joined,
    server_environment,
    simulated_node,
    tls_authority,
)
from portal.devstack.errors import LocalError
from portal.devstack.options import EmptyOptions, Options
from portal.devstack.servers import ports
from portal.devstack.servers.managed_process import Child
from portal.devstack.servers.processes import identity_read, identity_write, last_lines, text_write
from portal.devstack.servers.servers import Servers
from portal.devstack.servers.shared_env import lend_end, lend_write
from portal.devstack.stop_work import isolation_ask, work_stop
from portal.private_files import folders_close, private_log

# For slow and busy machines: one on which all goes well waits for neither.
PREPARE_TIMEOUT_S = 900
READY_TIMEOUT_S = 400
_ENGINE_STOP_S = 90.0
# How long one that dies again and again is left alone at most: what hinders it may pass, as a full disk does.
_PAUSE_MAX_S = 30.0
_CALM_S = 60.0


def engine_child(kind: str, var_dir: Path, environment: Mapping[str, str]) -> Child:
    """The process that runs an engine beside a portal."""
    command = [sys.executable, "-m", "portal.devstack.engines", kind, str(var_dir)]
    # Its jobs run under another account, which walks through its folder.
    return Child(kind, command, environment, var_dir, stop_timeout_s=_ENGINE_STOP_S, umask=0o022)


def _numbered(name: str, count: int) -> list[str]:
    """The first has the plain name."""
    return [name, *(f"{name}-{number}" for number in range(2, count + 1))][:count]


@dataclass
class _Trouble:
    """How often a child died lately, and when it may start again (monotonic seconds)."""

    deaths: int = 0
    died_at_s: float = 0.0
    start_at_s: float | None = None
    said: str = ""


class Stack:
    """One portal on one folder and one port.

    Args:
        options: port, folder, number of nodes and of worker processes, outside servers.
        durable: False trades the database's durability for speed, for tests.
        say: gets one line for each thing worth telling.
        environment: more variables for the server's processes.

    Raises:
        LocalError: from `start`: the cause and the cure; nothing stays started.
    """

    def __init__(
        self,
        options: Options,
        *,
        durable: bool = True,
        say: Callable[[str], None] = lambda _line: None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.options = options
        self.var_dir = options.var_dir.resolve()
        self.servers = Servers(self.var_dir, durable=durable)
        self.children: dict[str, Child] = {}
        self.environment: dict[str, str] = {}
        # What to tell who started it: who can log in, or where the centre is set up.
        self.welcome = ""
        # The kinds of centres that join the demo, and those that lack, with what brings each.
        self.centers, self.centers_lacking = centers_chosen(options)
        self._extra = dict(environment or {})
        self._say = say
        self._troubles: dict[str, _Trouble] = {}
        self._lock: IO[str] | None = None
        # Ours, not a web server's: while one restarts, callers wait in its queue.
        self._listener: socket.socket | None = None

    @classmethod
    def in_folder(
        cls, var_dir: Path, *, port: int | None = None, nodes: int = 2, is_demo: bool = True, **more: object
    ) -> "Stack":
        """A stack for tests: its own folder, a free port unless one is given, quick and forgetful servers."""
        given: dict[str, Any] = {
            "webs": 1,
            "center_processes": 0,
            "centers": "",
            "node_devices": 1,
            "simulate": "",
        }
        names = (*given, "workers", "beats", "schedulers")
        given |= {name: more.pop(name) for name in names if name in more}
        kind = Options if is_demo else EmptyOptions
        options = kind(var_dir=var_dir, port=port or ports.any_free(), nodes=nodes, **given)
        return cls(options, durable=False, **more)  # type: ignore[arg-type]

    @property
    def base_url(self) -> str:
        """The provider host's address."""
        return f"http{'s' if tls_authority(self.options) else ''}://localhost:{self.options.port}"

    def start(self) -> None:
        """Start everything and return when the portal answers."""
        try:
            self._take_folder()
            preflight.check(self.var_dir, host=self.options.host, port=self.options.port)
            if assets.build():
                self._say("front-end assets built")
            ours = {
                **server_environment(self.options, self.servers),
                **center_environment(self.centers),
            }
            self.environment = {**os.environ, **ours, **self._extra}
            lend_write(self.var_dir, ours)
            self._say("PostgreSQL and Redis are up")
            self._engines_start()
            tokens = self._prepare()
            self._listener = ports.listener(self.options.port, self.options.host)
            self._children_make(tokens)
            for name, child in self.children.items():
                if name not in ENGINES:
                    child.start()
            self._wait_ready()
            self._isolation_say()
        except BaseException:
            self.stop()
            raise

    def _engines_start(self) -> None:
        """Centres beside our own pool: they are ready by the time that the portal is."""
        for kind in self.centers:
            if kind in ENGINES:
                self.children[kind] = engine_child(kind, self.var_dir, engine_environment())
                self.children[kind].start()

    def _isolation_say(self) -> None:
        """How programs are kept apart here; the agents of one machine all find the same."""
        name = next(iter(name for name in self._nodes() if name in self.children), "")
        if name and (sentence := isolation_ask(self.children[name].environment)):
            self._say(sentence)

    def stop(self) -> None:
        """Stop everything this stack started, agents and their work first, servers last; may be repeated."""
        nodes = [name for name in self._nodes() if name in self.children]
        self._stop_together(nodes)
        for name in nodes:
            work_stop(self._state_dir(name), self.children[name].environment)
        self._stop_together([name for name in self.children if name not in nodes])
        self.servers.stop()
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        if self._lock is not None:
            lend_end(self.var_dir)
            (self.var_dir / "run" / "stack.pid").unlink(missing_ok=True)
            self._lock.close()
            self._lock = None

    def _stop_together(self, names: list[str]) -> None:
        for name in names:
            self.children[name].ask()
        for name in names:
            self.children[name].stop()

    def kill(self, name: str) -> None:
        """SIGKILL one child with its group: web, web-2, worker, beat, scheduler, node-1, node-2; or postgres, redis.

        What an agent runs in slices of its own lives on. The servers come back by themselves.
        """
        if name in self.children:
            self.children[name].kill()
            return
        server = identity_read(self.var_dir / "run" / f"{name}.pid")
        if server is None:
            raise KeyError(name)
        server.send(signal.SIGKILL)

    def restart(self, name: str) -> None:
        """Start a child again, stopping it first where it runs; web is waited for."""
        self.children[name].stop()
        self.children[name].start()
        if name == "web":
            self._wait_ready()

    def logs(self, name: str, count: int = 200) -> list[str]:
        """The last lines of a child's or server's log."""
        return last_lines(self.var_dir / "log" / f"{name}.log", count)

    def manage(self, *arguments: str) -> str:
        """What a `manage.py` command prints, run against this portal.

        Raises:
            subprocess.CalledProcessError: it failed.
        """
        command = [sys.executable, str(ROOT / "manage.py"), *arguments]
        return subprocess.run(
            command, check=True, env=self.environment, capture_output=True, text=True
        ).stdout

    def is_ready(self) -> bool:
        """Whether the portal answers and can reach what it needs."""
        request = urllib.request.Request(f"{self.base_url}/readyz")
        authority = tls_authority(self.options)
        trusted = ssl.create_default_context(cafile=str(authority)) if authority else None
        try:
            with urllib.request.urlopen(request, timeout=5, context=trusted) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def tend(self) -> None:
        """Report and restart what died; call it about once a second.

        Whatever goes wrong is said and tried again: nothing but its user ends a portal.
        """
        if self.servers.has_hold and not self.servers.is_running():
            self._start_again("the database server's guard", self.servers.start)
        for name, child in self.children.items():
            self._tend_child(name, child)

    def _tend_child(self, name: str, child: Child) -> None:
        if child.has_died():
            if child.status == 0:
                # It left in good order: it was asked to restart, for example by a roll-out.
                self._start_again(name, child.start, word="restarted")
                return
            self._report(name, child)
            self._put_off(name)
        trouble = self._troubles.get(name)
        if trouble is not None and trouble.start_at_s is not None:
            self._start_again(name, child.start)
        else:
            child.tend()

    def _start_again(self, name: str, start: Callable[[], object], word: str = "started again") -> None:
        """Start something now, or where it is put off when its time comes; a failure is said once and puts it off."""
        trouble = self._troubles.setdefault(name, _Trouble())
        if trouble.start_at_s is not None and time.monotonic() < trouble.start_at_s:
            return
        try:
            start()
        except (OSError, LocalError) as error:
            pause_s = self._put_off(name)
            if trouble.said != str(error):
                trouble.said = str(error)
                self._say(f"{name} cannot be started: {error}; tried again in {pause_s:.0f} s, and so on")
        else:
            trouble.start_at_s, trouble.said = None, ""
            self._say(f"{name} {word}")

    def _put_off(self, name: str) -> float:
        """Count one more failure in a row; the seconds until the next try."""
        trouble, now_s = self._troubles.setdefault(name, _Trouble()), time.monotonic()
        trouble.deaths = 1 if now_s - trouble.died_at_s > _CALM_S else trouble.deaths + 1
        pause_s = min(2.0 ** (trouble.deaths - 1), _PAUSE_MAX_S)
        trouble.died_at_s, trouble.start_at_s = now_s, now_s + pause_s
        return pause_s

    def _report(self, name: str, child: Child) -> None:
        self._say(f"{name} died; the end of {child.log_path}:")
        for line in child.last_lines(5):
            self._say(f"  {line}")

    def _take_folder(self) -> None:
        preflight.check_folder(self.var_dir)
        run_dir = self.var_dir / "run"
        run_dir.mkdir(parents=True, exist_ok=True, mode=0o711)
        folders_close(self.var_dir)
        lock = (run_dir / "stack.lock").open("a")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.close()
            other = identity_read(run_dir / "stack.pid")
            who = f" (process {other.pid})" if other else ""
            raise LocalError(
                f"Weir already runs on {self.var_dir}{who}: stop it with Ctrl-C there or `make stop`, "
                "or start a second one on its own folder and port, WEIR_VAR_DIR=var2 WEIR_PORT=8001 make run"
            ) from error
        self._lock = lock
        identity_write(run_dir / "stack.pid", os.getpid())

    def _prepare(self) -> dict[str, str]:
        """Migrate, seed the demo and invite the nodes that never joined; their tokens."""
        began_s = time.monotonic()
        newcomers = [name for name in self._nodes() if not has_joined(self.options, self._state_dir(name))]
        result, log_path = self.var_dir / "run" / "prepare.json", self.var_dir / "log" / "prepare.log"
        log_path.unlink(missing_ok=True)
        how = [] if self.options.is_demo else ["--empty"]
        with private_log(log_path) as log:
            done = subprocess.run(
                [sys.executable, "-m", "portal.devstack.setup", str(result), *how, *newcomers],
                check=False,
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                timeout=PREPARE_TIMEOUT_S,
                umask=0o077,
            )
        if done.returncode:
            reason = (last_lines(log_path, 1) or ["no reason given"])[-1]
            raise LocalError(f"the database was not prepared: {reason} (see {log_path})")
        told = json.loads(result.read_text())
        result.unlink()
        self.welcome = told["welcome"]
        done_word = "migrated and seeded" if self.options.is_demo else "migrated"
        self._say(f"database {done_word} ({time.monotonic() - began_s:.1f} s)")
        return dict(told["tokens"])

    def _nodes(self) -> list[str]:
        names = [f"node-{number}" for number in range(1, self.options.nodes + 1)]
        return [*names, *filter(None, [simulated_node(self.options)])]

    def _state_dir(self, node: str) -> Path:
        return self.var_dir / "agents" / node

    def _children_make(self, tokens: Mapping[str, str]) -> None:
        python, listener = sys.executable, self._listener
        assert listener is not None
        web = [
            python,
            "-m",
            "portal.web",
            "--fd",
            str(listener.fileno()),
        ]
        celery = [python, "-m", "celery", "--app", "portal.celery", "--quiet"]
        worker = [
            "worker",
            "--concurrency",
            str(self.options.worker_processes),
            "--loglevel",
            "INFO",
            "--without-gossip",
        ]
        beat = [
            "beat",
            "--loglevel",
            "WARNING",
            "--pidfile=",
        ]
        for name in _numbered("web", self.options.webs):
            self._child_add(name, web, self.environment, fds=(listener.fileno(),))
        for name in _numbered("worker", self.options.workers):
            own = ["--hostname", f"{name}@%h"]
            self._child_add(name, [*celery, *worker, "--without-mingle", *own], self.environment)
        for name in _numbered("beat", self.options.beats):
            kept = ["--schedule", str(self.var_dir / "run" / f"{name}-schedule")]
            self._child_add(name, [*celery, *beat, *kept], self.environment)
        for name in _numbered("scheduler", self.options.schedulers):
            self._child_add(name, [python, "-m", "portal.scheduler"], self.environment)
        for name in _numbered("centers", self.options.center_processes):
            self._child_add(name, [python, "-m", "portal.centers"], self.environment)
        for node in self._nodes():
            self._state_dir(node).mkdir(parents=True, exist_ok=True, mode=0o755)
            environment = agent_environment(self.options, node, self._state_dir(node), tokens.get(node, ""))
            # Its work runs under other accounts, which walk through its folders.
            self._child_add(node, [python, "-m", "node_agent"], environment, umask=0o022)

    def _child_add(self, name: str, command: list[str], environment: Mapping[str, str], **more: Any) -> None:
        named = {**environment, "WEIR_PROCESS_NAME": name}
        self.children[name] = Child(name, command, named, self.var_dir, **more)

    def _wait_ready(self) -> None:
        deadline_s = time.monotonic() + READY_TIMEOUT_S
        web = self.children["web"]
        while not self.is_ready():
            if web.has_died():
                self._report("web", web)
                raise LocalError(f"the web server did not start; see {web.log_path}")
            if time.monotonic() > deadline_s:
                raise LocalError(f"the portal was not ready after {READY_TIMEOUT_S} s; see {web.log_path}")
            time.sleep(0.1)
        text_write(self.var_dir / "run" / "port", str(self.options.port))
