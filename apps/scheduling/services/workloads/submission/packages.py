"""The packages that work asks for: a requirements.txt read line by line, so that what a node is told is plain."""

import re

from django.utils.translation import gettext as _
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

LINES_MOST = 500
_HASH = re.compile(r"--hash[= ](sha256|sha384|sha512):([0-9a-f]{64,128})")
_HASH_DIGITS = {"sha256": 64, "sha384": 96, "sha512": 128}
_ARCHIVE = re.compile(r"\.(whl|zip|tar|tgz|tbz|txz|tlz|tar\.(gz|bz2|xz|lzma))$", re.IGNORECASE)
_COMMENT = re.compile(r"(^|\s+)#.*$")


class RequirementsRefused(Exception):
    """A line that is not taken; says which and why."""


def requirements_read(text: str) -> tuple[str, ...]:
    """What is asked for, each package with its versions and hashes, written in one way. Raises RequirementsRefused."""
    found: list[tuple[int, str, bool]] = []
    for number, line in _whole_lines(text):
        asked, hashes = _split(number, line)
        found.append((number, _normal(number, asked) + hashes, bool(hashes)))
    if not found:
        raise RequirementsRefused(_("It names no package."))
    if len(found) > LINES_MOST:
        raise RequirementsRefused(
            _("It names %(count)s packages, and at most %(most)s are taken.")
            % {"count": len(found), "most": LINES_MOST}
        )
    bare = next((number for number, _line, has_hash in found if not has_hash), None)
    if bare is not None and any(has_hash for _number, _line, has_hash in found):
        raise _wrong(bare, _("it has no hash, and others have one: give each line its hash, or none"))
    return tuple(sorted({line for _number, line, _has_hash in found}))


def _whole_lines(text: str) -> list[tuple[int, str]]:
    """The lines that say something, with the number of each in the file; one that ends with \\ goes on."""
    whole: list[tuple[int, str]] = []
    begun, started = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        said = _COMMENT.sub("", line).rstrip()
        started = started or number
        if said.endswith("\\"):
            begun += said.removesuffix("\\") + " "
            continue
        whole.append((started, (begun + said).strip()))
        begun, started = "", 0
    whole.append((started, begun.strip()))
    return [(number, line) for number, line in whole if line]


def _split(number: int, line: str) -> tuple[str, str]:
    """What a line asks for, and its hashes as pip reads them."""
    hashes = [found for found in _HASH.finditer(line) if len(found[2]) == _HASH_DIGITS[found[1]]]
    asked = _HASH.sub("", line).strip()
    if line.startswith("-"):
        raise _wrong(
            number,
            _(
                "options such as %(option)s are not taken: the packages come from the index that the centre has set"
            )
            % {"option": line.split()[0].partition("=")[0][:40]},
        )
    if re.search(r"(^|\s)--", asked):
        raise _wrong(
            number, _("only --hash may follow a package, as sha256, sha384 or sha512 with all its digits")
        )
    return asked, "".join(sorted(f" --hash={found[1]}:{found[2]}" for found in hashes))


def _normal(number: int, asked: str) -> str:
    try:
        wanted = Requirement(asked)
    except InvalidRequirement as error:
        if asked.startswith((".", "/", "~")) or "/" in asked or "\\" in asked:
            raise _wrong(number, _path_or_address()) from error
        raise _wrong(
            number, _("it is no package as pip reads it: write NAME, NAME==1.2 or NAME>=1.2,<2")
        ) from error
    if wanted.url or _ARCHIVE.search(wanted.name):
        raise _wrong(number, _path_or_address())
    wanted.name = canonicalize_name(wanted.name)
    return str(wanted)


def _path_or_address() -> str:
    return _("addresses and files are not taken: name a package of the index")


def _wrong(number: int, why: str) -> RequirementsRefused:
    return RequirementsRefused(_("Line %(number)s: %(why)s.") % {"number": number, "why": why})
