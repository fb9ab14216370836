"""How many requests are carried out at a time, and that no tenant has all of these places."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import override_settings

from portal.s3 import app as address
from portal.s3.answers import Answer
from portal.s3.app import Objects
from portal.s3.threads import in_thread

pytestmark = pytest.mark.req("PLAT-ASSET-7")


class Caller:
    """One who sends a byte a minute, until he is let go."""

    def __init__(self, door: Objects, tenant: str) -> None:
        self.told: list[dict[str, Any]] = []
        scope = {
            "type": "http", "method": "PUT", "path": "/data/key", "query_string": b"",
            "headers": [(b"host", b"s3.localhost"), (b"x-tenant", tenant.encode())],
        }  # fmt: skip
        self.task = asyncio.create_task(door(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        return await asyncio.get_running_loop().create_future()

    async def _send(self, message: dict[str, Any]) -> None:
        self.told.append(message)

    @property
    def status(self) -> int:
        return next((int(message["status"]) for message in self.told if "status" in message), 0)


def test_a_tenant_that_sends_slowly_keeps_nobody_else_out(monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on = asyncio.Event()

    async def admitted(scope: dict[str, Any], *_rest: Any) -> Any:
        tenant = dict(scope["headers"])[b"x-tenant"].decode()
        return SimpleNamespace(
            request=None,
            actor=SimpleNamespace(tenant=tenant),
            body=SimpleNamespace(is_read=True),
            language="en",
        )

    async def operation(_call: Any) -> Answer:
        await goes_on.wait()
        return Answer()

    monkeypatch.setattr(address, "_admitted", admitted)
    monkeypatch.setattr(address, "_operation", lambda _request: operation)

    async def body() -> None:
        door = Objects(None)
        slow = [Caller(door, "acme") for _ in range(address._AT_ONCE)]
        await asyncio.sleep(0.2)
        assert [one.status for one in slow].count(503) == address._AT_ONCE - address._OF_TENANT
        other = Caller(door, "globex")
        await asyncio.sleep(0.1)
        assert other.status == 0, "it is carried out"
        goes_on.set()
        await asyncio.gather(other.task, *(one.task for one in slow))
        assert other.status == 200
        again = Caller(door, "acme")
        await again.task
        assert again.status == 200

    with override_settings(WEIR_S3_HOST="s3.localhost"):
        asyncio.run(asyncio.wait_for(body(), 30))


def test_what_takes_minutes_keeps_no_other_request_waiting() -> None:
    """Eight files that are joined of their parts kept all tenants from the address."""
    goes_on = threading.Event()

    async def body() -> None:
        long = [asyncio.create_task(in_thread(goes_on.wait, 60, is_long=True)) for _ in range(20)]
        try:
            assert await asyncio.wait_for(in_thread(lambda: "short"), 20) == "short"
        finally:
            goes_on.set()
        assert await asyncio.gather(*long) == [True] * 20

    asyncio.run(body())
