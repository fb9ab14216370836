"""Celery tasks by plane: `@provider_task` runs in `public`, `@tenant_task` takes the schema first."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from celery import shared_task
from django.db import OperationalError

from apps.kernel.planes import in_public, in_tenant

_RETRY: dict[str, Any] = {
    "autoretry_for": (OperationalError,),
    "retry_backoff": True,
    "retry_backoff_max": 60,
    "max_retries": 8,
    # The message is given back when a worker dies half-way: every task is idempotent.
    "acks_late": True,
    "reject_on_worker_lost": True,
}


def provider_task(function: Callable[..., Any]) -> Any:
    """A task on the provider plane. Takes ids, calls one service; must be idempotent."""

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with in_public():
            return function(*args, **kwargs)

    return shared_task(plane="provider", **_RETRY)(run)


def tenant_task(function: Callable[..., Any]) -> Any:
    """A task in one tenant: its first argument is `schema`."""

    @wraps(function)
    def run(schema: str, *args: Any, **kwargs: Any) -> Any:
        with in_tenant(schema):
            return function(schema, *args, **kwargs)

    return shared_task(plane="tenant", **_RETRY)(run)
