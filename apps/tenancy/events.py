from dataclasses import dataclass

from apps.kernel.events import Event


@dataclass(frozen=True, slots=True)
class TenantProvisioned(Event):
    schema: str
