"""Threads of the gateway's own, in which it asks the database and the cache: nobody else waits for them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from channels.db import database_sync_to_async

R = TypeVar("R")
_THREADS = ThreadPoolExecutor(4, thread_name_prefix="gateway")


async def in_thread(function: Callable[..., R], *args: Any) -> R:
    """Call it in one of these threads, which lets go of its database connection as after a request."""
    call: Any = database_sync_to_async(function, thread_sensitive=False, executor=_THREADS)
    waits: Awaitable[R] = call(*args)
    return await waits
