"""Hooks: what a site wants done when a job starts, ends or is preempted (ELA-1102).

A site registers its own callables in `portal/wiring.py`, a line each:

    hook("notebook-cleanup", cleanup.job_ended, HookKind.ENDED)

The callable gets one `JobEvent`. It runs in a worker, after the change has committed, outside of every lock and
transaction, and may call any service, those of the scheduler too (ELA-1103). It is called at least once: it may come
twice (`call_uid` tells), and after an error it is tried again with growing pauses, up to `TRIES_MAX` times. Nothing
that it does or fails to do holds up the scheduler.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.scheduling.states import HookKind

TRIES_MAX = 12


@dataclass(frozen=True, slots=True)
class JobEvent:
    """What a hook is told. `schema` is the tenant's; `params` of ended work: `failed`, `started`, `reason_code` and
    `reason`; of preempted work: `card_seconds`, what it lost."""

    call_uid: UUID
    kind: HookKind
    schema: str
    workload_uid: UUID
    at: datetime
    params: dict[str, Any] = field(default_factory=dict)


Call = Callable[[JobEvent], object]


@dataclass(frozen=True, slots=True)
class Hook:
    """A registered callable, and what it wants to hear of."""

    call: Call
    kinds: frozenset[HookKind]


hooks: dict[str, Hook] = {}


def hook(name: str, call: Call, *kinds: HookKind) -> None:
    """Register a hook under a name that stays the same from release to release; without kinds it hears of all."""
    assert name not in hooks, f"there is a hook {name} already"
    hooks[name] = Hook(call, frozenset(kinds or HookKind))
