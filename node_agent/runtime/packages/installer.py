"""Pip as it is run for work: wheels alone, from the one index that the operator has set; and what it says, in words."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Where the work finds its packages, whatever else it mounts: no volume's path begins with a point.
SEEN = "/.weir-packages"
PYTHON, PROGRAMS = f"{SEEN}/python", f"{SEEN}/python/bin"
_REQUIREMENTS = "requirements.txt"
_INDEX_SEEN, _PIP_SEEN = "/.weir-package-index", "/.weir-pip/pip"
_TRIES, _ANSWER_S = 2, 15

_UNANSWERED = re.compile(
    r"^WARNING: (?:Retrying|Connection timed out)|There was a problem (?:confirming|fetching)|HTTP error 5\d\d",
    re.M,
)
_MISSING = re.compile(r"^ERROR: No matching distribution found for (?P<what>.+)$", re.M)
_VERSIONS = re.compile(r"that satisfies the requirement .+ \(from versions: (?P<versions>.*)\)$", re.M)
_OTHER_PYTHON = re.compile(r"^ERROR: Ignored the following versions that require a different python", re.M)
_CONFLICT = re.compile(r"^ERROR: Cannot install (?P<what>.+) because these package versions", re.M)
_DIGEST = re.compile(r"DO NOT MATCH THE HASHES.*?\n\s*(?P<what>\S.*?) from ", re.S)
_NO_DIGEST = re.compile(r"^ERROR: (?:Hashes are required|In --require-hashes mode)", re.M)
_LINE = re.compile(rf"-r {re.escape(SEEN)}/{re.escape(_REQUIREMENTS)} \(line (\d+)\)")
_ERROR = re.compile(r"^ERROR: (?P<what>.+)$", re.M)


def requirements_write(files: Path, requirements: Sequence[str]) -> None:
    """What pip is to read. Raises OSError."""
    (files / _REQUIREMENTS).write_text("".join(f"{line}\n" for line in requirements))


def mounts(files: Path, *, index: str, pip: str, is_image: bool) -> list[dict[str, Any]]:
    """What pip sees beside the programs of the node or of the image, as a slice's record says it."""
    found: list[dict[str, Any]] = [{"source": str(files), "path": SEEN, "read_only": False}]
    if index.startswith("/"):
        found.append({"source": index, "path": _INDEX_SEEN, "read_only": True})
    if is_image:
        found.append({"source": pip, "path": _PIP_SEEN, "read_only": True})
    return found


def command(*, index: str, pip: str, is_image: bool) -> list[str]:
    """How pip is called. In an image it is run by the image's own Python, which need not have it."""
    where = ["--no-index", "--find-links", _INDEX_SEEN] if index.startswith("/") else ["--index-url", index]
    return [
        "python3" if is_image else sys.executable, "-I", _PIP_SEEN if is_image else pip,
        # Nothing but what is said here tells it where to look: no settings of the node, the image or the work.
        "--isolated", "--no-input", "--disable-pip-version-check", "--no-cache-dir", "--no-color",
        "--retries", str(_TRIES), "--timeout", str(_ANSWER_S),
        # A wheel is unpacked; anything else would run code of its own.
        "install", "--only-binary", ":all:", "--progress-bar", "off", "--root-user-action", "ignore",
        "--target", PYTHON, *where, "-r", f"{SEEN}/{_REQUIREMENTS}",
    ]  # fmt: skip


def environment_for() -> dict[str, str]:
    """The variables that pip is given; none are the work's."""
    return {"PIP_CONFIG_FILE": os.devnull}


def is_unanswered(said: str) -> bool:
    """Whether pip did not reach the index: later it may."""
    return bool(_UNANSWERED.search(said)) and not _versions(said)


def problem_of(said: str, index: str, requirements: Sequence[str]) -> str:
    """Why pip has not installed them, from the last that it said; names the line that is to blame where pip does."""
    said = _LINE.sub(lambda found: _line(requirements, int(found[1])), said)
    if is_unanswered(said):
        return f"the index {index} does not answer"
    if found := _MISSING.search(said):
        return _missing(found["what"].strip(), said)
    if found := _CONFLICT.search(said):
        return f"these do not go together: {found['what']}"
    if found := _DIGEST.search(said):
        return f"what the index has of {found['what']} is not what its hash says"
    if _NO_DIGEST.search(said):
        return "where one line has a hash all must have one, also for what the packages need themselves"
    errors = _ERROR.findall(said)
    return errors[-1].strip() if errors else "pip has not said why"


def _line(requirements: Sequence[str], number: int) -> str:
    return repr(requirements[number - 1]) if 1 <= number <= len(requirements) else f"line {number}"


def _missing(what: str, said: str) -> str:
    versions = _versions(said)
    if versions:
        return f"the index has no wheel for {what!r}, only of {versions}"
    if _OTHER_PYTHON.search(said):
        return f"the index has {what!r} for another version of Python only"
    return f"the index has no wheel for {what!r} that runs with this Python"


def _versions(said: str) -> str:
    found = _VERSIONS.search(said)
    return found["versions"] if found is not None and found["versions"] != "none" else ""
