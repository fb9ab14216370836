"""What a search finds."""

from dataclasses import dataclass

from django.utils.functional import Promise


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing that was found: what it is called, what tells it from others, and where it is."""

    title: str | Promise
    url: str
    icon: str
    note: str | Promise = ""


@dataclass(frozen=True, slots=True)
class Found:
    """The hits of one kind, under its name; `code` tells the kind apart."""

    code: str
    label: str | Promise
    hits: list[Hit]
