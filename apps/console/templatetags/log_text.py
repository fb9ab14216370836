"""`{{ row.text|log_text:row.names }}`: a line of the pool's log in the reader's language."""

from collections.abc import Mapping

from django import template
from django.utils.safestring import SafeString

from apps.console.operations.log_sentences import line_read

register = template.Library()


@register.filter
def log_text(text: str, names: Mapping[str, str] | None = None) -> SafeString:
    """A line as `line_read` reads it, with what the identifiers in it are called."""
    return line_read(text, names)
