"""What mypy says is read with its place, and told by what stays when code moves."""

import pytest

from gates import ratchet, static_types, template_lines

OUTPUT = """apps/fleet/views/nodes.py:7: error: "HttpRequest" has no attribute "actor"  [attr-defined]
apps/fleet/views/nodes.py:7: note: Maybe you meant another
apps/fleet/services/nodes.py:9: error: "HttpRequest" has no attribute "actor"  [attr-defined]
portal/web.py:3: error: Function is missing a type annotation  [no-untyped-def]
"""


def test_complaints_are_read_and_notes_are_not():
    faults = static_types.read(OUTPUT)
    assert [fault.place for fault in faults] == [
        "apps/fleet/views/nodes.py:7",
        "apps/fleet/services/nodes.py:9",
        "portal/web.py:3",
    ]
    assert len({fault.offence for fault in faults}) == 2
    assert faults[2].offence == "portal: Function is missing a type annotation  [no-untyped-def]"


def test_one_more_than_forgiven_is_told_with_every_place(tmp_path, monkeypatch):
    monkeypatch.setattr(ratchet, "FOLDER", tmp_path)
    faults = static_types.read(OUTPUT)
    (tmp_path / "types.txt").write_text(f"1 {faults[0].offence}\n1 {faults[2].offence}\n")
    (said,) = static_types.unforgiven(faults)
    assert "apps/fleet/views/nodes.py:7" in said
    assert "apps/fleet/services/nodes.py:9" in said
    assert static_types.unforgiven(faults[1:]) == []


@pytest.mark.parametrize(("width", "count"), [(template_lines.COLUMNS, 0), (template_lines.COLUMNS + 1, 1)])
def test_a_line_is_too_long_from_121_columns_on(tmp_path, monkeypatch, width, count):
    page = tmp_path / "templates" / "fleet" / "page.html"
    page.parent.mkdir(parents=True)
    page.write_text("x" * width + "\n")
    monkeypatch.setattr(template_lines, "ROOT", tmp_path)
    monkeypatch.setattr(template_lines, "templates", lambda: (page,))
    assert len(template_lines.found()) == count
