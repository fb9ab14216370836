"""What a page loads: the kit's rules that pages use and no others, within a size, compressed and kept by browsers."""

import gzip
import json
import re

import pytest

from gates.sources import templates
from portal.devstack import assets, style_classes

# What every page loads, and with it one that draws a chart; in bytes, compressed as they travel.
FRAME = ("vendor.css", "app.css", "tabler-icons.woff2", "theme.js", "vendor.js", "app.js")
FRAME_MAX, CHART_MAX = 140_000, 390_000
_CLASSES = re.compile(r'\bclass="([^"]*)"')
_TAG = re.compile(r"\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    assets.build()


def sent(name: str) -> int:
    """The bytes of a file as they travel: fonts and pictures are compressed already."""
    content = (assets.DIST / name).read_bytes()
    return len(content) if name.endswith(".woff2") else len(gzip.compress(content, 9))


def test_the_list_of_classes_is_what_the_sources_write():
    assert style_classes.LIST.read_text().split() == style_classes.written(), "run `make assets`"


def test_every_class_of_the_kit_in_a_template_has_its_rules():
    kit = style_classes.of_kit()
    sheet = (assets.DIST / "vendor.css").read_text()
    known = set(re.findall(r"\.([A-Za-z][\w-]*)", sheet))
    used = {
        name
        for path in templates()
        for value in _CLASSES.findall(path.read_text())
        for name in _TAG.sub(" ", value).split()
    }
    assert len(used & kit) > 200
    # Its one rule is about a picture within it, which ours does not have.
    assert (used & kit) - known <= {"navbar-brand-autodark"}


def test_pages_are_light():
    sizes = {name: sent(name) for name in (*FRAME, "echarts.js")}
    print(json.dumps(sizes, indent=1))
    frame = sum(sizes[name] for name in FRAME)
    assert frame <= FRAME_MAX
    assert frame + sizes["echarts.js"] <= CHART_MAX


@pytest.mark.django_db
def test_pages_travel_compressed_and_files_as_they_are(member):
    page = member("acme", "tenant_front_line").page()
    asked = {"accept-encoding": "gzip"}
    answer = page.get("/catalogue/", headers=asked)
    assert answer["Content-Encoding"] == "gzip"
    assert b"<!doctype html>" in gzip.decompress(answer.content)
    assert "Content-Encoding" not in page.get("/catalogue/")
    assert "Content-Encoding" not in page.get("/api/schema/", headers=asked)


def test_what_is_served_is_named_by_its_content_and_compressed():
    """So that a browser asks for it once and never again (`Cache-Control: immutable`)."""
    named = json.loads((assets.SERVED / "staticfiles.json").read_text())["paths"]
    for name in FRAME:
        file = assets.SERVED / named[name]
        assert file.is_file()
        assert re.search(r"\.[0-9a-f]{12}\.", file.name)
        assert name.endswith(".woff2") or file.with_name(f"{file.name}.gz").is_file()
