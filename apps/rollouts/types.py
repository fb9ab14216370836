"""What crosses the app's border."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils.translation import gettext_noop

ROLLOUT_FAILED = gettext_noop("Roll-out %(what)s failed on %(target)s and goes back: %(reason)s")
BACKUP_FAILED = gettext_noop("The backup on %(host)s failed: %(reason)s")


@dataclass(frozen=True, slots=True)
class Component:
    """A part of the pool that runs (POOL-12.20). `wanted_version` differs while it is being upgraded.

    `config_generation` is what it runs with, `wanted_generation` what was asked of it.
    """

    component: str
    host: str
    name: str
    version: str
    state: str
    node_uid: str = ""
    wanted_version: str = ""
    config_generation: int = 0
    wanted_generation: int = 0
    config: dict[str, Any] = field(default_factory=dict)
    problem: str = ""
    seen_at: datetime | None = None
    started_at: datetime | None = None

    @property
    def is_upgrading(self) -> bool:
        return bool(self.wanted_version) and self.wanted_version != self.version and not self.problem
