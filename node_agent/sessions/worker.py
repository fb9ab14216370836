"""The process of one session: `python -m node_agent.sessions.worker` in the slice's work folder.

What it shall be stands in session.json there; what it is, it writes to status.json.
"""

from __future__ import annotations

import gc
import math
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from node_agent.files import read_json
from node_agent.sessions.connection.certificate import context_make
from node_agent.sessions.connection.listener import Listener
from node_agent.sessions.execution.core import Session
from node_agent.sessions.execution.heap import heap_tune
from node_agent.sessions.execution.limits import limits_set
from node_agent.sessions.execution.pace import Clock
from node_agent.sessions.shim_files import Watch
from node_agent.sessions.worker_loop import Service

_END_S = 10.0


def main() -> int:
    """Serve the session; 0 when it ended in order, 2 where session.json says nothing usable."""
    folder = Path.cwd()
    heap_tune()
    settings = read_json(folder / "session.json")
    try:
        service = _service_make(settings or {})
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        print(f"the session cannot be served: {error}", file=sys.stderr)
        return 2
    _threads_set(service.session)
    listener = Listener(str((settings or {}).get("host") or "127.0.0.1"), service, context_make())
    watch = Watch(folder, service, listener)

    def ended(_signal: int, _frame: FrameType | None) -> None:
        service.stop_soon()

    signal.signal(signal.SIGTERM, ended)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    watch.start()
    listener.open()
    service.run(listener)
    watch.look()
    _wait_for_end(service)
    return 0


def _service_make(settings: dict[str, Any]) -> Service:
    device, quota_mib, percent = (
        str(settings["device"]),
        int(settings["memory_mib"]),
        int(settings["compute_percent"]),
    )
    clock = _device_prepare(torch.device(device), quota_mib, percent, settings.get("is_paced"))
    session = Session(device, quota_mib, clock=clock)
    session.share_set(quota_mib=quota_mib, compute_percent=percent)
    ticket, token = str(settings.get("ticket") or ""), str(settings["token"])
    if len(token) < 8:
        raise ValueError("the token is too short")
    return Service(session, token=token, ticket=ticket, detach_s=float(settings.get("detach_s") or 60))


def _device_prepare(
    device: torch.device, quota_mib: int, percent: int, is_paced: bool | None
) -> Clock | None:
    """The clock that holds its share, where the worker does: on cards, of which the shim can stop no single kernel."""
    limits_set(device, quota_mib)
    if not (device.type != "cpu" if is_paced is None else is_paced):
        return None
    from node_agent.sessions.execution.pace_card import CardClock

    return CardClock(device, percent)


def _threads_set(session: Session) -> None:
    """As many threads as the share is worth, unless the environment says."""
    if not os.environ.get("OMP_NUM_THREADS"):
        cores = len(os.sched_getaffinity(0))
        torch.set_num_threads(max(1, math.ceil(cores * session.compute_percent / 100)))


def _wait_for_end(service: Service) -> None:
    """Whoever asked for the end reads it in status.json and stops this process; it does not wait for ever."""
    deadline = time.monotonic() + _END_S
    while not service.is_stopped and time.monotonic() < deadline:
        time.sleep(0.02)


if __name__ == "__main__":
    sys.exit(main())
