"""`/healthz` (the process answers), `/readyz` (it can serve), `/metrics` (Prometheus text)."""

from collections.abc import Callable

from django.core.cache import cache
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from portal.prometheus import PortalCollector
from portal.settings.env import env


def healthz(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok\n", content_type="text/plain")


def readyz(request: HttpRequest) -> JsonResponse:
    """200 when database, migrations and Redis are in order, else 503 with what is not."""
    found = {name: _try(check) for name, check in _CHECKS.items()}
    is_ready = all(text == "ok" for text in found.values())
    return JsonResponse({"ready": is_ready, **found}, status=200 if is_ready else 503)


def metrics(request: HttpRequest) -> HttpResponse:
    """The pool's figures for whoever shows `WEIR_METRICS_TOKEN`: they name nodes, devices and tenants."""
    token = env().metrics_token.get_secret_value()
    given = request.headers.get("Authorization", "").partition("Bearer ")[2].strip()
    if not token or not constant_time_compare(given, token):
        text = _("Send the value of WEIR_METRICS_TOKEN as a bearer token.")
        return HttpResponse(
            f"{text}\n",
            status=401,
            content_type="text/plain; charset=utf-8",
            headers={"WWW-Authenticate": "Bearer"},
        )
    registry = CollectorRegistry()
    registry.register(PortalCollector())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


def _try(check: Callable[[], object]) -> str:
    # A probe answers whatever is wrong: the kind of failure is told, its details stay inside.
    try:
        check()
    except Exception as error:
        return type(error).__name__
    return "ok"


def _database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _migrations() -> None:
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise RuntimeError("migrations are missing")


def _redis() -> None:
    cache.set("readyz", 1, 5)


_CHECKS = {"database": _database, "migrations": _migrations, "redis": _redis}
