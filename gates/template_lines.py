"""Templates that can be read: no line is over 120 columns, whatever stands in it."""

from collections.abc import Iterator
from pathlib import Path

from gates.sources import ROOT, templates

COLUMNS = 120


def found() -> list[str]:
    """Each line that is too long: `templates/fleet/node.html:12`."""
    return [offence for path in templates() for offence in _of(path)]


def _of(path: Path) -> Iterator[str]:
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if len(line) > COLUMNS:
            yield f"{path.relative_to(ROOT).as_posix()}:{number}"


def advice(offence: str) -> str:
    """What to do, in a sentence."""
    return (
        f"{offence} is over {COLUMNS} columns: break it between tags or attributes; "
        "a long text goes into `blocktranslate trimmed`"
    )
