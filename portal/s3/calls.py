"""What an operation works with: the request, whom its key stands for, its body."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from apps.kernel.actor import Actor
from apps.storage.models import Volume
from apps.storage.services.objects import bucket_get
from portal.s3.bodies import Body
from portal.s3.requests import S3Request
from portal.s3.threads import in_tenant_thread

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Call:
    request: S3Request
    actor: Actor
    body: Body
    language: str

    async def do(self, function: Callable[[], R], *, is_long: bool = False) -> R:
        """In a thread, in the tenant's schema; `is_long`: it may take minutes. Raises S3Error for what the services
        refuse."""
        return await in_tenant_thread(self.actor.tenant, self.language, function, is_long=is_long)

    def volume(self) -> Volume:
        """The bucket's volume; inside `do`."""
        return bucket_get(actor=self.actor, name=self.request.bucket)
