"""mypy over the whole product, strict; what old code still lacks is a ratchet.

Django is set up for its plugin by addresses that nobody calls: no server is needed. `python -m gates.static_types`
fails for what is new, with its place, and for what is mended and still listed; `--shrink` takes the latter out.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from gates import ratchet
from gates.sources import ROOT

NAME = "types"
# Read by the settings; nothing is connected to or signed while types are checked.
ENVIRONMENT = {
    "DJANGO_SETTINGS_MODULE": "portal.settings.test",
    "WEIR_DATABASE_URL": "postgresql://nobody@localhost/nowhere",
    "WEIR_REDIS_URL": "redis://localhost:1/0",
    "WEIR_SECRET_KEY": "nothing-is-signed-while-types-are-checked",
}
_LINE = re.compile(r"^(?P<file>[^:]+):(?P<line>\d+): error: (?P<text>.+)$")


class Fault(NamedTuple):
    """One complaint of mypy: where, and what it says with its code."""

    place: str
    text: str

    @property
    def offence(self) -> str:
        """The complaint with the app or package it is in: it stays the same when code moves within that."""
        parts = self.place.split(":")[0].split("/")
        return f"{'/'.join(parts[: 2 if parts[0] in ('apps', 'client') else 1])}: {self.text}"


def read(output: str) -> list[Fault]:
    """The complaints in what mypy printed."""
    found = (_LINE.match(line) for line in output.splitlines())
    return [Fault(f"{match['file']}:{match['line']}", match["text"]) for match in found if match]


def run() -> list[Fault]:
    """Run mypy as pyproject.toml says. Raises RuntimeError where it could not finish."""
    command = [
        str(Path(sys.executable).parent / "mypy"),
        "--no-error-summary",
        "--no-pretty",
        "--hide-error-context",
    ]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(f"mypy could not finish: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return read(done.stdout)


def unforgiven(faults: list[Fault]) -> list[str]:
    """What the ratchet does not forgive, a line each with every place that has it."""
    places: dict[str, list[str]] = {}
    for fault in faults:
        places.setdefault(fault.offence, []).append(fault.place)
    new = ratchet.beyond(NAME, [fault.offence for fault in faults])
    return [f"{offence}\n    at {', '.join(places[offence])}" for offence in sorted(set(new))]


def main(arguments: list[str] | None = None) -> int:
    """Check, or shrink the ratchet; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m gates.static_types", description=__doc__)
    parser.add_argument("--shrink", action="store_true", help="take what is mended out of the ratchet")
    asked = parser.parse_args(arguments)
    faults = run()
    said = unforgiven(faults)
    offences = [fault.offence for fault in faults]
    if asked.shrink:
        ratchet.shrink(NAME, offences)
    if mended := ratchet.mended(NAME, offences):
        said.append(f"{len(mended)} faults are mended and still forgiven: run `make ratchets` and commit it")
    for sentence in said:
        print(sentence, file=sys.stderr)
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
