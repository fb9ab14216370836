"""The classes of the kit (Tabler) that our pages write, in `static/src/classes.txt`: the build leaves out the rest.

python -m portal.devstack.style_classes    # writes the list anew; `make assets` does it, too
"""

import re
import sys
from collections.abc import Iterator

from portal.devstack import assets
from portal.devstack.bootstrap import ROOT
from portal.devstack.errors import LocalError

LIST = ROOT / "static" / "src" / "classes.txt"
KIT = ROOT / "node_modules" / "@tabler" / "core" / "dist" / "css" / "tabler.min.css"
# What writes classes: pages, what renders parts of them, and scripts.
_WRITERS = (("templates", "*.html"), ("apps", "*.py"), ("portal", "*.py"), ("static/src/js", "*.js"))
_WORD = re.compile(r"[A-Za-z][\w-]*")
_CLASS = re.compile(r"\.([A-Za-z][\w-]*)")
# Put together of parts, or set by the kit's own scripts: no source has them as a word.
_PUT_TOGETHER = re.compile(
    r"bg-(red|green|blue|yellow|orange|azure|secondary|primary)(-lt)?|text-(red|green|blue|yellow|orange)-fg"
    r"|alert-(info|success|warning|danger)|btn-(outline-)?(primary|danger|warning|success|secondary)"
    r"|d-(sm|md|lg|xl)-table-cell|col-((sm|md|lg|xl)-)?\d+|show|showing|hiding|collapsing|collapsed|active|disabled"
)


def of_kit() -> set[str]:
    """Every class that the kit has a rule for.

    Raises:
        LocalError: the kit cannot be installed.
    """
    assets.kit_install()
    return set(_CLASS.findall(KIT.read_text()))


def written() -> list[str]:
    """The kit's classes that something of ours writes, or may put together, in order.

    Raises:
        LocalError: the kit cannot be installed.
    """
    kit, words = of_kit(), set(_words())
    return sorted(name for name in kit if name in words or _PUT_TOGETHER.fullmatch(name))


def _words() -> Iterator[str]:
    for folder, pattern in _WRITERS:
        for path in (ROOT / folder).rglob(pattern):
            yield from _WORD.findall(path.read_text())


if __name__ == "__main__":
    try:
        LIST.write_text("\n".join(written()) + "\n")
    except LocalError as error:
        sys.exit(f"weir: {error}")
