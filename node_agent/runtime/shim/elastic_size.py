"""The shim's side of a work's size (ELA-906): the work is told how many shares it has and where they meet, and
confirms.

`weir-size.json` in the work's folder always says the size it has now. Each change is followed by SIGWINCH to the
work's processes: who does not listen for that is not disturbed by it. The work confirms by writing the step it goes
by into `weir-size.confirmed`. `weir_wire.elastic_size` does both for programs in Python.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from node_agent.runtime import proc
from node_agent.runtime.isolation.untrusted_files import Seen, file_look, file_put, seen_now, seen_of

FILE, CONFIRMED = "weir-size.json", "weir-size.confirmed"
SIGNAL = signal.SIGWINCH
_READ_BYTES = 32
_HERE, _LOOPBACK = "127.0.0.1", "lo"


class SizeControl:
    """Tells a work its size and hears what it confirms. `confirmed_step` never falls and never runs ahead."""

    def __init__(self, folder: Path, owner_uid: int | None) -> None:
        self._folder, self._owner_uid = folder, owner_uid
        self._told: dict[str, Any] = {}
        # What an earlier attempt has left in a folder that is kept is no word of this one.
        self._seen: Seen | None = seen_now(folder / CONFIRMED)
        self.confirmed_step = 0

    def tell(self, size: dict[str, Any], pids: list[int]) -> bool:
        """Replace the file if the size is another, and wake the work; whether it was. Raises OSError."""
        if size == self._told or size["step"] < self._told.get("step", 0):
            return False
        content = {**size, **_replica_of(size), "leaving": size["share"] >= size["shares"]}
        file_put(self._folder, FILE, json.dumps(content).encode(), self._owner_uid)
        self._told = size
        proc.send(pids, SIGNAL)
        return True

    def look(self) -> bool:
        """Read what the work has confirmed; whether that is news."""
        found = file_look(self._folder / CONFIRMED, self._seen, _READ_BYTES)
        if found is None:
            return False
        data, facts = found
        self._seen = seen_of(facts)
        text = data.strip()
        step = int(text) if text.isdigit() else 0
        if not self.confirmed_step < step <= self._told.get("step", 0):
            return False
        self.confirmed_step = step
        return True


def _replica_of(size: Mapping[str, Any]) -> dict[str, int]:
    """Which of how many replicas the share is in, and how many shares those have (ELA-505)."""
    per = size.get("shares_per_replica", 1)
    return {"replica": size["share"] // per, "replicas": size["shares"] // per, "shares_per_replica": per}


def size_environment(size: Mapping[str, Any], home: Path) -> dict[str, str]:
    """What a work is told of its size as it starts, also in the words of torch.distributed (`env://`) and torchrun.

    To its program a share is a machine of its own with one device: it sees that device alone, as the first, and has
    its own folder. So its local rank is 0 of 1, whatever else of the work is on the node.
    """
    share, shares = str(size["share"]), str(size["shares"])
    ranks = {"RANK": share, "WORLD_SIZE": shares, "NODE_RANK": share, "NNODES": shares}
    return {
        **ranks,
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "WEIR_SHARE": share,
        "WEIR_SHARES": shares,
        **{f"WEIR_{name.upper()}": str(value) for name, value in _replica_of(size).items()},
        "WEIR_SIZE_FILE": str(home / FILE),
        "WEIR_SIZE_CONFIRM": str(home / CONFIRMED),
    }


def meeting_environment(size: Mapping[str, Any], interface: str) -> dict[str, str]:
    """Where the work's shares find each other, for torch.distributed and, as PET_..., for torchrun; its own environment
    goes before these.

    By itself gloo takes the interface that the host's name leads to, which on many nodes is the loopback.
    """
    address, port = size.get("master_addr", ""), size.get("master_port", 0)
    if not (address and port):
        return {}
    by = _LOOPBACK if address == _HERE else interface
    return {
        "MASTER_ADDR": address,
        "MASTER_PORT": str(port),
        "PET_NNODES": str(size["shares"]),
        "PET_NODE_RANK": str(size["share"]),
        "PET_MASTER_ADDR": address,
        "PET_MASTER_PORT": str(port),
        **({"GLOO_SOCKET_IFNAME": by} if by else {}),
    }


def meeting_port_of(size: Mapping[str, Any], host: str) -> int | None:
    """The port at which the shares of a work on several nodes meet, if that is on this node, whose address is `host`
    (0: it is on another); None: they are on one node, or were told nothing."""
    address = size.get("master_addr", "")
    if address in ("", _HERE):
        return None
    return int(size.get("master_port", 0)) if address == host else 0
