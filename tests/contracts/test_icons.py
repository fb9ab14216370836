"""The style sheet holds the icons that pages show, all of them and no others."""

import re
from collections.abc import Iterator

from apps.catalog.types import ICONS
from apps.console.help.documents import DOCUMENTS
from apps.console.navigation.operators import OPERATORS
from apps.console.navigation.tenant import TENANT
from apps.console.templatetags.table_nodes import SORT_ICONS
from gates.sources import templates
from portal.devstack import assets

LISTED = assets.ROOT / "static" / "src" / "icons.txt"
# A class, whatever of it depends: `ti ti-{% if row.depth %}corner-down-right{% else %}building{% endif %}`.
SHOWN = re.compile(r"\bti ti-((?:\{%.*?%\}|\{\{.*?\}\}|[a-z0-9-])+)")
TAG = re.compile(r"\{%.*?%\}|\{\{.*?\}\}")
# What a part is told to show, and what it shows when it is told nothing.
TOLD = re.compile(r"""\bicon(?:=|\|default:)["']([a-z0-9-]+)["']""")


def shown() -> Iterator[str]:
    """Every icon that a page of the portal may show; the admin's are another set."""
    for path in templates():
        text = path.read_text()
        yield from (name for classes in SHOWN.findall(text) for name in TAG.split(classes) if name)
        if path.parent.name != "admin":
            yield from TOLD.findall(text)
    for group in (*TENANT, *OPERATORS):
        yield group.icon
        yield from (entry.icon for entry in group.entries)
    yield from ICONS
    yield from (document.icon for document in DOCUMENTS)
    yield from SORT_ICONS.values()


def test_the_icons_that_pages_show_are_those_that_are_listed():
    assert LISTED.read_text().split("\n")[:-1] == sorted(set(shown())), "write them to static/src/icons.txt"


def test_every_icon_that_is_listed_is_drawn_by_the_style_sheet_and_no_other():
    assets.build()
    drawn = set(re.findall(r"\.ti-([a-z0-9-]+):+before", (assets.DIST / "vendor.css").read_text()))
    assert drawn == set(LISTED.read_text().split())
