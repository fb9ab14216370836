"""What an operator has set on this node, over its own settings; in force at once and after a restart."""

from __future__ import annotations

import logging

from pydantic import ValidationError

from node_agent.config import AgentSettings
from node_agent.files import read_json, write_json
from node_agent.protocol.sync import AgentConfig

log = logging.getLogger("weir.agent")


class Configured:
    """`settings` are the ones in force. `meter_s` and `log_limit_mib` count for slices made from now on."""

    def __init__(self, own: AgentSettings) -> None:
        self._own = self.settings = own
        self._path = own.home / "config.json"
        self._seen = 0
        self.generation = 0
        self.problem = ""
        stored = self._stored()
        if stored is not None:
            self._apply(stored)

    def follow(self, desired: AgentConfig | None) -> None:
        """Apply a newer desired, whole or not at all; never raises."""
        if desired is None or desired.generation <= self._seen:
            return
        self._seen = desired.generation
        if not self._apply(desired):
            return
        log.info("configuration %d is in force", desired.generation)
        try:
            write_json(self._path, desired.model_dump(mode="json"))
        except OSError as error:
            log.error("configuration %d is not kept for a restart: %s", desired.generation, error)

    def _stored(self) -> AgentConfig | None:
        try:
            return AgentConfig.model_validate(read_json(self._path) or {})
        except ValidationError:
            return None

    def _apply(self, desired: AgentConfig) -> bool:
        wanted = desired.model_dump(include={"meter_s", "log_limit_mib", "labels"}, exclude_none=True)
        try:
            settings = AgentSettings.model_validate(dict(self._own) | wanted)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            self.problem = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"[:500]
            log.error("configuration %d is not followed: %s", desired.generation, self.problem)
            return False
        log.setLevel((desired.log_level or "info").upper())
        self.settings, self.problem = settings, ""
        self.generation = self._seen = desired.generation
        return True
