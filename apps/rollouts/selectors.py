"""Reading components, releases and roll-outs."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from uuid import UUID

import redis
from django.conf import settings
from django.db import connection
from django.db.models import Prefetch, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.fleet.models import Node
from apps.fleet.states import NodeState
from apps.kernel.errors import NotFound
from apps.rollouts.models import Release, ReleaseKey, Rollout, RolloutStep, ServerGeneration, ServerProcess
from apps.rollouts.states import ProcessState
from apps.rollouts.types import Component
from node_agent.protocol.releases import ReleaseKeys

PROCESS_LOST_AFTER_S = 30
_SHOWN_AFTER_END = timedelta(minutes=10)
_REDIS_TIMEOUT_S = 1.0
_KEYS_MAX, _REVOKED_MAX = 16, 256


def component_list() -> list[Component]:
    """Every part of the pool: the server's first, then each node's (POOL-12.20)."""
    return [*_servers(), _database(), _redis(), *_nodes()]


def _servers() -> Iterator[Component]:
    now = timezone.now()
    wanted = ServerGeneration.objects.values_list("generation", flat=True).first() or 0
    for row in ServerProcess.objects.exclude(
        Q(state=ProcessState.STOPPED) & Q(seen_at__lt=now - _SHOWN_AFTER_END)
    ):
        yield Component(
            component=row.kind,
            host=row.host,
            name=row.name,
            version=row.version,
            state=process_state(row, now),
            config_generation=row.generation,
            wanted_generation=wanted,
            seen_at=row.seen_at,
            started_at=row.started_at,
        )


def process_state(row: ServerProcess, now: datetime) -> str:
    """Its state by what was heard last: silence is a state too."""
    is_silent = now - row.seen_at > timedelta(seconds=PROCESS_LOST_AFTER_S)
    return ProcessState.LOST if is_silent and row.state == ProcessState.RUNNING else row.state


def _database() -> Component:
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        version = str(cursor.fetchone()[0]).partition(" ")[0]
    given = connection.settings_dict
    host = "localhost" if given["HOST"].startswith("/") else given["HOST"] or "localhost"
    return Component("database", host, "PostgreSQL", version, "running", seen_at=timezone.now())


def _redis() -> Component:
    url = str(settings.CELERY_BROKER_URL)
    if not url.startswith(("redis", "unix")):
        return Component("queue", "localhost", url.partition(":")[0], "", "running")
    try:
        client = redis.Redis.from_url(
            url, socket_timeout=_REDIS_TIMEOUT_S, socket_connect_timeout=_REDIS_TIMEOUT_S
        )
        version = str(client.info("server")["redis_version"])
    except redis.RedisError as error:
        return Component("queue", "", "Redis", "", ProcessState.LOST, problem=type(error).__name__)
    host = client.connection_pool.connection_kwargs.get("host", "localhost")
    return Component("queue", host, "Redis", version, "running", seen_at=timezone.now())


def _nodes() -> Iterator[Component]:
    for node in Node.objects.exclude(state=NodeState.REMOVED).order_by("name"):
        versions = {"agent": node.agent_version, **node.components}
        for part, version in versions.items():
            yield node_component(node, part, version)


def node_component(node: Node, part: str, version: str) -> Component:
    """One part of a node."""
    info, config = node.info, node.wanted_config or {}
    return Component(
        component=part,
        host=info.get("hostname", ""),
        name=node.name,
        version=version,
        state=node.state,
        node_uid=node.uid,
        wanted_version=(node.wanted_release or {}).get("version", ""),
        config_generation=info.get("config_generation", 0),
        wanted_generation=config.get("generation", 0),
        config={key: value for key, value in config.items() if key != "generation" and value is not None},
        problem=info.get("release_problem") or info.get("config_problem") or "",
        seen_at=node.last_seen_at,
    )


def release_list() -> QuerySet[Release]:
    """The releases without their content, newest first."""
    return Release.objects.defer("content").select_related("key")


def release_get(version: str) -> Release:
    found = release_list().filter(version=version).first()
    if found is None:
        raise NotFound(_("There is no such release."))
    return found


def release_key_list() -> QuerySet[ReleaseKey]:
    return ReleaseKey.objects.all()


def agent_release_keys() -> ReleaseKeys:
    """What agents are told of keys when they join, and before they take a release."""
    rows = ReleaseKey.objects.order_by("created_at", "pk").values_list("public_key", flat=True)
    return ReleaseKeys(
        keys=tuple(rows.filter(revoked_at=None)[:_KEYS_MAX]),
        revoked=tuple(rows.filter(revoked_at__isnull=False).reverse()[:_REVOKED_MAX]),
    )


def rollout_list() -> QuerySet[Rollout]:
    """The roll-outs with their steps, newest first."""
    releases = Release.objects.defer("content")
    steps = RolloutStep.objects.order_by("batch_no", "pk")
    return Rollout.objects.prefetch_related(Prefetch("release", releases), Prefetch("steps", steps)).order_by(
        "-created_at", "-pk"
    )


def rollout_get(uid: UUID | str) -> Rollout:
    found = rollout_list().filter(uid=uid).first()
    if found is None:
        raise NotFound(_("There is no such roll-out."))
    return found
