"""Celery tasks by plane: `@provider_task` runs in `public`, `@tenant_task` takes the schema first.

What a task logs carries the task, its tenant and the request that asked for it.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any

from celery import current_task, shared_task
from celery.signals import before_task_publish
from django.db import OperationalError

from apps.kernel.log_context import log_context, log_fields
from apps.kernel.planes import in_public, in_tenant

_REQUEST_HEADER = "weir_request_id"

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
        with _logged(function.__name__), in_public():
            return function(*args, **kwargs)

    return shared_task(plane="provider", **_RETRY)(run)


def tenant_task(function: Callable[..., Any]) -> Any:
    """A task in one tenant: its first argument is `schema`."""

    @wraps(function)
    def run(schema: str, *args: Any, **kwargs: Any) -> Any:
        with _logged(function.__name__, schema), in_tenant(schema):
            return function(schema, *args, **kwargs)

    return shared_task(plane="tenant", **_RETRY)(run)


def _logged(name: str, schema: str = "") -> AbstractContextManager[None]:
    request = current_task.request if current_task else None
    return log_context(
        task=name,
        tenant=schema,
        task_id=str((request and request.id) or ""),
        request_id=str((request and request.get(_REQUEST_HEADER)) or ""),
    )


def _request_id_send(headers: dict[str, Any], **_more: Any) -> None:
    """The request that a task is asked for by goes along with it, over however many tasks."""
    request_id = log_fields().get("request_id")
    if request_id:
        headers[_REQUEST_HEADER] = request_id


before_task_publish.connect(_request_id_send)
