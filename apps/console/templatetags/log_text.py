"""`{{ row|log_line }}`, `{{ text|log_text:names }}`: a line of the pool's log in the reader's language."""

from collections.abc import Mapping

from django import template
from django.utils.safestring import SafeString

from apps.console.operations.log_sentences import line_read
from apps.telemetry.models import LogEntry

register = template.Library()


@register.filter
def log_text(text: str, names: Mapping[str, str] | None = None) -> SafeString:
    """A line as `line_read` reads it, with what the identifiers in it are called."""
    return line_read(text, names)


@register.filter
def log_line(row: LogEntry) -> SafeString:
    """A row of the log, which `names_put` was given, as a sentence."""
    return line_read(row.text, row.names, row.tenant)  # type: ignore[attr-defined]
