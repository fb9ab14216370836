"""Several words that must all be found, each in any of some fields."""

from collections.abc import Iterable

from django.db.models import Q


def having(words: Iterable[str], *fields: str) -> Q:
    """Rows that have each word somewhere in their fields, whether in capitals or not."""
    found = Q()
    for word in words:
        anywhere = Q()
        for field in fields:
            anywhere |= Q(**{f"{field}__icontains": word})
        found &= anywhere
    return found
