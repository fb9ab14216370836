"""Why a request is not placed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from apps.scheduling.engine.model.enums import ReasonCode

Param: TypeAlias = str | int | bool | None


@dataclass(frozen=True, slots=True)
class Reason:
    """A code and the figures of its sentence, by name in fixed order."""

    code: ReasonCode
    params: tuple[tuple[str, Param], ...] = ()

    def get(self, name: str) -> Param:
        """The figure called `name`, None where the reason has no such figure."""
        return dict(self.params).get(name)


@dataclass(frozen=True, slots=True)
class Refusal:
    """This request goes on waiting, `position` in its queue counted from 1.

    `permanent`: no release can help. It is wrong in itself, exceeds a quota's bound, or would not fit the
    registered pool with every device whole, ready and empty (ELA-507). Such a request never holds up others.
    """

    request_id: str
    queue_id: str
    reason: Reason
    position: int
    permanent: bool = False
