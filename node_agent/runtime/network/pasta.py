"""The program that leads a network of work's own to the outside: `pasta` (package `passt`), as an ordinary process of
nobody's that carries each connection by a socket of its node's.

It holds the device by which the network's packets leave. Before it reads the first of them the filter is on that
device, also where it is started again under running work: it waits until it has told its number, and the pipe that it
tells it by has no room until then.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import shutil
import signal
import stat
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from node_agent.runtime.isolation import syscalls as sys_
from node_agent.runtime.network import packet_filter
from node_agent.runtime.network.rules import Rules

PROGRAM = "pasta"
NOBODY = 65_534
_TUN = Path("/dev/net/tun")
_TUN_NUMBER = (10, 200)
_START_S = 20.0
_NS_GET_USERNS, _TUNGETIFF, _TUNGETIFF_BYTES = 0xB701, 0x800454D2, 40
# CAP_NET_BIND_SERVICE, CAP_NET_ADMIN, CAP_SYS_ADMIN: over the network's own user namespace.
_CAPABILITIES = (10, 12, 21)
# What a network has for an address where it is not to have that of its node: addresses for what stays in a machine.
_ELSEWHERE = ("--address", "192.0.0.2", "--netmask", "29", "--gateway", "192.0.0.1")
# It says so for each line where the node keeps no system log.
_NO_LOG = "to syslog"
_FILLING = b"." * 4096


@dataclass(frozen=True, slots=True)
class Way:
    """How a network is led outside: by which rules; `device` is what its device is called ("": as the node's own);
    `ports` of the node lead into it, as (first, last)."""

    rules: Rules
    device: str = ""
    ports: tuple[tuple[int, int], ...] = ()

    def command(self, network: int, number: int) -> list[str]:
        """`network` is its open file, `number` the open pipe in which the program tells its number."""
        inwards = [part for first, last in self.ports for part in ("--tcp-ports", f"{first}-{last}")]
        outwards = [part for port in self.rules.ports for part in ("--tcp-ns", str(port))]
        return [
            PROGRAM, "--foreground", "--quiet", "--config-net", "--no-map-gw", "--netns-only",
            *(inwards or ("--tcp-ports", "none")), "--udp-ports", "none",
            *(outwards or ("--tcp-ns", "none")), "--udp-ns", "none",
            *(("--ns-ifname", self.device) if self.device else ()),
            *(_ELSEWHERE if self.rules.is_elsewhere else ()),
            "--pid", f"/proc/self/fd/{number}", "--netns", f"/proc/self/fd/{network}",
        ]  # fmt: skip


def problem() -> str:
    """What is missing on this node; "" for nothing."""
    if not shutil.which(PROGRAM):
        return f"{PROGRAM} cannot be found: install it (Debian's package passt)"
    if os.geteuid() != 0 and not os.access(_TUN, os.R_OK | os.W_OK):
        return f"{_TUN} cannot be opened by the agent's user"
    return ""


def device_make_usable() -> None:
    """In a mount namespace of this process's own: everybody may open the device of tunnels, as on most machines. Raises
    OSError."""
    with suppress(FileNotFoundError):
        if stat.S_IMODE(_TUN.stat().st_mode) & 0o006 == 0o006:
            return
    sys_.mount("tmpfs", str(_TUN.parent), "tmpfs", sys_.MS_NOSUID, "mode=755,size=1m")
    os.mknod(_TUN, stat.S_IFCHR | 0o666, os.makedev(*_TUN_NUMBER))
    _TUN.chmod(0o666)


class Pasta:
    """One run of it. Raises OSError with its words where it does not start."""

    def __init__(self, network: int, way: Way) -> None:
        told, telling = os.pipe()
        self.errors, writing = os.pipe()
        os.set_blocking(self.errors, False)
        self._said, self._way = "", way
        if os.geteuid() == 0:
            # It opens the pipe again by its name.
            os.fchown(telling, NOBODY, NOBODY)
        _fill(telling)
        self.pid = os.fork()
        if self.pid == 0:
            _become(network, way, telling, writing)
        self.exited = os.pidfd_open(self.pid)
        for fd in (telling, writing):
            os.close(fd)
        try:
            self._begin(told, packet_filter.program(way.rules.allowed, way.rules.denied))
        except BaseException:
            self.end()
            raise
        finally:
            os.close(told)

    def _begin(self, number: int, filter_: bytes) -> None:
        until_s = time.monotonic() + _START_S
        device = self._device(until_s)
        try:
            packet_filter.attach(device, filter_)
            while select.select([device], [], [], 0)[0]:
                # From before the filter was there.
                os.read(device, 2**16)
        finally:
            os.close(device)
        heard = b""
        while not heard.strip(b"."):
            self._check(until_s)
            if select.select([number, self.exited], [], [], 1)[0] == [number]:
                heard = os.read(number, 2**16)

    def _device(self, until_s: float) -> int:
        """The device of the network, once the program has opened it."""
        while True:
            # It opens the ports that lead inwards first, each a file.
            for number in range(3, 64 + 2 * sum(last - first + 1 for first, last in self._way.ports)):
                found = sys_.file_of(self.exited, number)
                if found is None:
                    continue
                with suppress(OSError):
                    fcntl.ioctl(found, _TUNGETIFF, bytes(_TUNGETIFF_BYTES))
                    return found
                os.close(found)
            self._check(until_s)
            time.sleep(0.001)

    def _check(self, until_s: float) -> None:
        if select.select([self.exited], [], [], 0)[0]:
            self.hear()
            raise OSError(errno.ECHILD, f"{PROGRAM} has ended: {self.last_words}")
        if time.monotonic() > until_s:
            raise OSError(errno.ETIMEDOUT, f"{PROGRAM} was not ready within {_START_S:.0f} s")

    def hear(self) -> bool:
        """Take in what it says of troubles; whether it may say more."""
        with suppress(BlockingIOError):
            while data := os.read(self.errors, 4096):
                self._said = (self._said + data.decode(errors="replace"))[-2000:]
            return False
        return True

    @property
    def last_words(self) -> str:
        """What it said last."""
        lines = [line.strip() for line in self._said.splitlines() if line.strip() and _NO_LOG not in line]
        return lines[-1] if lines else "it does not say why"

    def end(self) -> None:
        """End it and forget it."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        for fd in (self.exited, self.errors):
            os.close(fd)


def _fill(pipe: int) -> None:
    os.set_blocking(pipe, False)
    with suppress(BlockingIOError):
        while True:
            os.write(pipe, _FILLING)


def _become(network: int, way: Way, telling: int, errors: int) -> NoReturn:
    """In the child: be the program, with powers over the network alone."""
    try:
        owner = fcntl.ioctl(network, _NS_GET_USERNS)
        if os.geteuid() == 0:
            nobody_become()
            sys_.setns(owner, sys_.CLONE_NEWUSER)
        sys_.capabilities_pass_on(_CAPABILITIES)
        null = os.open(os.devnull, os.O_RDWR)
        files_keep((null, null, errors, network, telling))
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.execvp(PROGRAM, way.command(3, 4))
    except OSError as error:
        with suppress(OSError):
            os.write(errors, f"{error}\n".encode())
    finally:
        os._exit(1)


def nobody_become() -> None:
    """Of root: be nobody, without any powers but over what is nobody's."""
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    sys_.dumpable_become()


def files_keep(files: Sequence[int]) -> None:
    """Of this process: these open files by the numbers 0, 1, 2, …, and no other."""
    # Above all that are there, so that none is closed before it was put in its place.
    above = [fcntl.fcntl(fd, fcntl.F_DUPFD, 256) for fd in files]
    for number, fd in enumerate(above):
        os.dup2(fd, number, inheritable=True)
    os.closerange(len(files), os.sysconf("SC_OPEN_MAX"))
