"""What a commodity is to say, as pages and the API ask for it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.catalog.states import CardUse
from apps.catalog.types import ComponentRange


@dataclass(frozen=True, slots=True)
class CommodityDraft:
    """What a commodity is to say, as its page asks for it: things by their codes, durations in seconds, memory in MiB.

    `texts` are its names, introductions, supplier and icon; `argv` and `env` what work or a service runs, `service` how
    that is reached and kept alive, `image` the version of an image of the centre that it runs in, `environment` the
    template that an environment is, `ranges` how much of each component may be ordered.
    With `is_own_program` the buyer says what work runs. Of a specification or a MIG
    profile share and memory are its own, of a whole card those of the card's model.
    """

    kind: str
    category: str
    process_app: str
    termination_app: str
    texts: Mapping[str, str]
    min_duration_s: int
    max_duration_s: int
    max_count: int = 1
    is_open_ended: bool = False
    number: str = ""
    argv: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    environment: str = ""
    is_own_program: bool = False
    image: str = ""
    service: Mapping[str, Any] | None = None
    card_use: str = CardUse.SHARE
    vendor: str = ""
    model: str = ""
    spec: str = ""
    mig_profile: str = ""
    resource_group: str = ""
    queue: str = ""
    ranges: tuple[ComponentRange, ...] = ()
