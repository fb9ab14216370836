"""What is to run, and what it is given: the part of a request that its node carries out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from weir_wire.asks import Ask, count, flag, lines, names, text, words
from weir_wire.end_warning import warning_of

_LINE = 32_768


@dataclass(frozen=True, slots=True)
class RequestedProgram:
    """A program or a session, as somebody asks for it.

    Before it is stopped to go on later its program is sent `checkpoint_signal`, or `checkpoint_command` runs beside it
    (ELA-810). `volumes` are mounted where it runs: a name or uid, then where, then `ro`; `assets` are mounted
    read-only: a name, a version, then where; `outputs` is the volume, by name or uid, that keeps what it leaves in its
    folder `outputs`. `requirements` is the text of a requirements.txt. `folder`: digest of a folder sent before
    (`folder-uploads`), a copy of which the program begins in.
    """

    name: str = field(metadata=text(120))
    kind: str = field(default="program", metadata={"ask": Ask("choice", choices=("program", "session"))})
    argv: tuple[str, ...] = field(default=(), metadata=words(_LINE, 256))
    env: Mapping[str, str] = field(
        default_factory=dict,
        metadata={
            "ask": Ask(
                "variables",
                most=_LINE,
                short="e",
                unit="variables",
                help="NAME=value for the program, once each; NAME alone passes yours.",
            )
        },
    )
    secrets: tuple[str, ...] = field(
        default=(),
        metadata={
            "ask": Ask(
                "names",
                most=128,
                parts=64,
                option="secret",
                unit="names",
                help="Secrets for its environment, by name: set by `weir secret set NAME`.",
                label="Secrets",
                hint="Names of secrets, with commas; each is a variable of the program.",
            )
        },
    )
    image: str = field(
        default="",
        metadata=text(
            100,
            help="The container image that it runs in: NAME, NAME:TAG, or the uid of a version.",
            label="Container image",
            hint="Name and tag, mine:1; without a tag the newest. Empty: it runs in what its node has installed.",
        ),
    )
    folder: str = field(default="", metadata=text(64))
    web: bool = field(
        default=False,
        metadata=flag(
            help="Serves web pages on the socket that WEIR_WEB_SOCKET names; `weir open` opens them.",
            label="Serves web pages",
            hint="On the socket that WEIR_WEB_SOCKET names; its page in the portal opens them.",
        ),
    )
    serve: int | None = field(
        default=None,
        metadata=count(
            0,
            65_535,
            help="Keeps it alive as a service on this HTTP port, 0 for one that its node chooses and PORT names: asked"
            " after its health, started again when it ends, reached at an address of its own.",
        ),
    )
    health: str = field(
        default="", metadata=text(200, help="The path by which --serve asks after its health; else /.")
    )
    volumes: tuple[str, ...] = field(
        default=(),
        metadata=names(
            400,
            16,
            option="volume",
            help="A volume to mount: NAME, NAME:PATH, NAME:ro, NAME:PATH:ro; several with commas.",
            label="Volumes",
            hint="Names with commas between them. Each is found at /volumes/NAME, or where NAME:/data says; with"
            " :ro behind it nothing can be written there.",
        ),
    )
    assets: tuple[str, ...] = field(
        default=(),
        metadata=names(
            400,
            16,
            option="asset",
            help="An asset to mount read-only: NAME, NAME:VERSION, dataset/NAME:VERSION:PATH; several with commas.",
            label="Assets",
            hint="Names with commas between them, each with a version: digits:2. A model is found at /models/NAME,"
            " a dataset at /datasets/NAME, an algorithm at /workspace/NAME.",
        ),
    )
    outputs: str = field(
        default="",
        metadata=text(
            120,
            help="A volume: what it leaves in its folder `outputs` (WEIR_OUTPUTS) is kept there after its end.",
            label="Keep outputs in volume",
            hint="What it leaves in its folder outputs, which WEIR_OUTPUTS names, is kept there after its end.",
        ),
    )
    requirements: str = field(
        default="",
        metadata=lines(
            65_536,
            help="A requirements.txt: its packages are installed before the program starts, once for all work like it.",
            label="Python packages",
            hint="As in requirements.txt, a line for each: numpy>=1.26. They are installed once, and found by Python"
            " when the program starts.",
        ),
    )
    checkpoint_signal: str = field(
        default="",
        metadata=text(
            8,
            unit="signal",
            help="Sent to the program so that it saves itself before it is stopped to go on later: USR1, HUP.",
        ),
    )
    checkpoint_command: tuple[str, ...] = field(
        default=(),
        metadata=words(
            _LINE,
            256,
            unit="command",
            help="Run beside the program instead; it ends with 0 once all is saved.",
        ),
    )
    signal: str = field(
        default="",
        metadata=text(
            16,
            help="Sent to the program before its run time is over: USR1@60, a name or number and seconds before.",
            label="Signal before its time is over",
            hint="USR1@60: a name or a number, and so many seconds before.",
        ),
    )

    @property
    def work(self) -> dict[str, Any]:
        """What its node is to run, how it is asked to save itself and warned of its end, and whether it serves web
        pages or is kept alive as a service; the signal was checked (`warning_of`)."""
        work: dict[str, Any] = {"argv": list(self.argv), "env": dict(self.env)}
        if self.checkpoint_signal or self.checkpoint_command:
            argv = list(self.checkpoint_command)
            work["checkpoint"] = {"signal": self.checkpoint_signal, "argv": argv}
        if self.signal:
            name, before_s = warning_of(self.signal)
            work["warning"] = {"signal": name, "before_s": before_s}
        if self.web:
            work["web"] = True
        if self.serve is not None:
            work["service"] = {"port": self.serve or None, "health_path": self.health or "/"}
        if self.outputs:
            work["outputs"] = True
        return work
