"""The command by which work is started on its node."""

from __future__ import annotations

import sys

from node_agent.runtime.records.slice_records import SliceSpec

# What tells a service on which port it is to listen.
PORT_VARIABLE = "PORT"


def ported(argv: list[str], port: int) -> list[str]:
    """A service's command with its port where that is named, `$PORT` or `${PORT}`."""
    return [word.replace("${PORT}", str(port)).replace("$PORT", str(port)) for word in argv]


def command_of(spec: SliceSpec) -> list[str]:
    """What is run of a slice: the program of its work, or our server of a session."""
    if spec.is_session:
        return [sys.executable, "-m", "node_agent.sessions.worker"]
    return resolved(spec.argv)


def resolved(argv: list[str]) -> list[str]:
    """A command in which `python` is the interpreter that the agent runs on."""
    program, *rest = argv
    return [sys.executable if program == "python" else program, *rest]
