"""The check of the page templates finds what would only show when somebody opens the page."""

from copy import deepcopy
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{{ name|no_such_filter }}", "Invalid filter: 'no_such_filter'"),
        ("{% if name %}never ended", "Unclosed tag"),
        ("{% load no_such_library %}", "no_such_library"),
        ("{% if name %}{% include 'no/such/part.html' %}{% endif %}", "no/such/part.html"),
        ("{% extends 'no/such/frame.html' %}", "no/such/frame.html"),
        ("{% include 'part.html'\n  with name=1 %}", "goes over several lines"),
        ("{{ name\n|upper }}", "goes over several lines"),
    ],
)
def test_what_cannot_be_shown_is_named(tmp_path: Path, settings, text: str, fault: str):
    settings.TEMPLATES = [{**deepcopy(settings.TEMPLATES[0]), "DIRS": [tmp_path]}]
    (tmp_path / "whole.html").write_text("{% if name %}{% include 'part.html' %}{% endif %}")
    (tmp_path / "part.html").write_text("{{ name|upper }}")
    call_command("templates_check")
    (tmp_path / "page.html").write_text(text)
    with pytest.raises(CommandError) as refusal:
        call_command("templates_check")
    assert "page.html" in str(refusal.value)
    assert fault in str(refusal.value)
