"""Templates that can be read: lines of 120 columns, and none over 200, whatever stands in it."""

from collections.abc import Iterator

from gates.sources import ROOT, templates

COLUMNS, COLUMNS_MOST = 120, 200


def found() -> list[str]:
    """Each line that is too long: `templates/fleet: a line over 120 columns`."""
    return [
        offence
        for path in templates()
        for offence in _of(path.parent.relative_to(ROOT).as_posix(), path.read_text())
    ]


def _of(folder: str, text: str) -> Iterator[str]:
    for line in text.splitlines():
        if len(line) > COLUMNS:
            limit = COLUMNS_MOST if len(line) > COLUMNS_MOST else COLUMNS
            yield f"{folder}: a line over {limit} columns"


def advice(offence: str) -> str:
    """What to do, in a sentence."""
    return f"{offence} is new: break it between tags or attributes; a long text goes into `blocktranslate trimmed`"
