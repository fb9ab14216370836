"""Lengths of time between the instants of a report."""

from datetime import datetime


def seconds_between(start: str | None, end: str | None) -> float:
    """Seconds from one instant to another; 0 where one is missing."""
    if not start or not end:
        return 0.0
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
