"""What a line of the log was written for: request, tenant, actor, act and task, on every record of a process.

Nobody who logs names them. A face says what it knows (`log_context`, `log_known`), a running service who acts, and
`LogContextFilter` writes both on each record that a handler takes.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from apps.kernel.actor import current_act

# In the order in which they are shown.
NAMES = ("request_id", "tenant", "actor", "act", "task", "task_id")
_known: ContextVar[dict[str, str] | None] = ContextVar("weir_log_context", default=None)


@contextmanager
def log_context(**known: str) -> Iterator[None]:
    """Inside, records carry these of `NAMES`, beside what is known already; "" says nothing."""
    token = _known.set({**(_known.get() or {}), **_said(known)})
    try:
        yield
    finally:
        _known.reset(token)


def log_known(**known: str) -> None:
    """Say more of what the innermost `log_context` is for; without one nothing is kept."""
    fields = _known.get()
    if fields is not None:
        fields.update(_said(known))


def log_fields() -> dict[str, str]:
    """What is known here and now, by name. Of a service that runs, its actor counts, not who asked for the page."""
    fields = dict(_known.get() or {})
    act = current_act()
    if act is not None:
        actor = act.actor
        fields |= _said(
            {"request_id": actor.request_id, "tenant": actor.tenant, "actor": actor.name, "act": act.name}
        )
    return {name: fields[name] for name in NAMES if name in fields}


def _said(known: dict[str, str]) -> dict[str, str]:
    unknown = known.keys() - set(NAMES)
    if unknown:
        raise TypeError(f"no such field of the log: {', '.join(sorted(unknown))}")
    return {name: text for name, text in known.items() if text}


class LogContextFilter(logging.Filter):
    """Sets each known field on a record, and `context`: all of them as text, for people."""

    def filter(self, record: logging.LogRecord) -> bool:
        fields = log_fields()
        vars(record).update(fields)
        record.context = "".join(f" {name}={text}" for name, text in fields.items())
        return True
