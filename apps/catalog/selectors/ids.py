"""Identifiers as callers give them."""

from uuid import UUID

from apps.kernel.errors import NotFound

Id = UUID | str


def uid_of(value: Id) -> UUID:
    """A uid out of an address or a form; NotFound for anything that is none."""
    try:
        return value if isinstance(value, UUID) else UUID(value)
    except (ValueError, AttributeError, TypeError):
        raise NotFound() from None
