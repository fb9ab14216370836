"""Threads of this address's own, in which it asks and writes in a tenant's schema: nobody else waits for them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from channels.db import database_sync_to_async
from django.db import DatabaseError
from django.utils.translation import override

from apps.kernel.errors import WeirError, busy_of
from apps.kernel.planes import in_tenant
from portal.s3.errors import of_refusal

R = TypeVar("R")
_THREADS = ThreadPoolExecutor(8, thread_name_prefix="objects")
# For what takes minutes: nobody waits for it but who asks for the like.
_LONG = ThreadPoolExecutor(4, thread_name_prefix="objects-long")


async def in_tenant_thread(
    schema: str, language: str, function: Callable[[], R], *, is_long: bool = False
) -> R:
    """Call it in one of these threads, in the tenant's schema; refusals come as S3 calls them. The thread lets go of
    its database connection as after a request. `is_long`: it may take minutes."""

    def run() -> R:
        with override(language), in_tenant(schema):
            try:
                return function()
            except (WeirError, DatabaseError) as error:
                known = error if isinstance(error, WeirError) else busy_of(error)
                if known is None:
                    raise
                raise of_refusal(known) from error

    return await in_thread(run, is_long=is_long)


async def in_thread(function: Callable[..., R], *args: Any, is_long: bool = False) -> R:
    threads = _LONG if is_long else _THREADS
    call: Any = database_sync_to_async(function, thread_sensitive=False, executor=threads)
    waits: Awaitable[R] = call(*args)
    return await waits
