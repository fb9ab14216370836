"""Services: a program with an HTTP port that its node keeps alive, and what the node observes of its health."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, StringConstraints

from node_agent.protocol.fields import Counter, Message, Sentence

# Below these a program without rights cannot listen.
PORT_LEAST, PORT_MOST = 1024, 65_535
# How long a program may at most take to become healthy, in seconds.
START_MOST_S = 3600
HEALTH_PATH = r"^/[\x21-\x7e]{0,199}$"
HealthPath = Annotated[str, StringConstraints(pattern=HEALTH_PATH)]
RestartPolicy = Literal["always", "failure", "never"]
ServiceHealth = Literal["starting", "healthy", "unhealthy", "waiting"]
# Why a program had to be started again: it ended by itself, was unhealthy, was not healthy in time after its start,
# used too much memory, or could not be started.
FailureCode = Literal["", "ended", "unhealthy", "late", "memory_exceeded", "unstartable"]


class ServiceSpec(Message):
    """How a program is kept alive and looked at.

    It listens on `port`, or without one on a port that its node chooses; either way `PORT` names it in its environment
    and in its arguments (`$PORT`). It may listen on the socket `WEIR_WEB_SOCKET` instead, which nothing else of the
    node can reach. `health_path` is asked for every `interval_s` and has `timeout_s` to answer with 200 to 399; after
    `failures` failed ones in a row, or without an answer `start_s` after its start, it is ended and started again, as
    it is where it ends by itself: `always`, on `failure` only, or `never`. After `max_restarts` in a row it has failed.
    """

    port: Annotated[int, Field(ge=PORT_LEAST, le=PORT_MOST)] | None = None
    health_path: HealthPath = "/"
    interval_s: Annotated[int, Field(ge=1, le=300)] = 10
    timeout_s: Annotated[int, Field(ge=1, le=60)] = 5
    failures: Annotated[int, Field(ge=1, le=20)] = 3
    start_s: Annotated[int, Field(ge=1, le=START_MOST_S)] = 60
    restart: RestartPolicy = "always"
    max_restarts: Annotated[int, Field(ge=0, le=100)] = 5


class ServiceReport(Message):
    """What a node observes of a service. `waiting`: its program has ended and is started again after a while.

    `restarts` are all that there were on this node; `failure_code` is why the last one was, `failure` the same in the
    node's words, `failed_at` when.
    """

    health: ServiceHealth = "starting"
    restarts: Counter = 0
    failure_code: FailureCode = ""
    failure: Sentence = ""
    failed_at: AwareDatetime | None = None
    port: Annotated[int, Field(ge=1, le=PORT_MOST)] | None = None
