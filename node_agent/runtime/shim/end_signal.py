"""The signal that a program asked for before its run time is over."""

from __future__ import annotations

import signal
from typing import Any

from node_agent.runtime import proc
from node_agent.runtime.records.meter import NS
from node_agent.runtime.shim.output import Output


class EndSignal:
    """Sends it once. `warning` as its spec has it: `signal`, its name without SIG, and `before_s`; None: none."""

    def __init__(self, warning: dict[str, Any] | None) -> None:
        self._warning = warning

    @property
    def before_ns(self) -> int | None:
        """So long before its end it is due; None when there is none, or it was sent."""
        return None if self._warning is None else int(self._warning["before_s"]) * NS

    def look(self, left_ns: int, pid: int, output: Output) -> None:
        """Send it to the program when no more than that is left."""
        warning = self._warning
        if warning is None or left_ns > warning["before_s"] * NS:
            return
        self._warning = None
        number = getattr(signal, f"SIG{warning['signal']}", None)
        if number is None:
            output.note(f"this node has no signal {warning['signal']}: the program is not warned")
            return
        proc.send([pid], number)
        output.note(f"its run time is over in {max(left_ns, 0) // NS} s: it is sent {warning['signal']}")
