"""The forms a report can have."""

import json
from collections.abc import Callable
from typing import Any

from apps.conformance.report.junit import junit_of
from apps.conformance.report.pdf import pdf_of
from apps.conformance.report.text import text_of

FORMS: dict[str, tuple[str, Callable[[dict[str, Any]], bytes]]] = {
    "json": (
        "application/json",
        lambda document: json.dumps(document, ensure_ascii=False, indent=1).encode(),
    ),
    "text": ("text/plain; charset=utf-8", lambda document: text_of(document).encode()),
    "junit": ("application/xml", lambda document: junit_of(document).encode()),
    "pdf": ("application/pdf", pdf_of),
}
ENDINGS = {"json": "json", "text": "txt", "junit": "xml", "pdf": "pdf"}


def render(document: dict[str, Any], form: str) -> bytes:
    """The signed report in one of the forms. Raises KeyError for another."""
    return FORMS[form][1](document)
