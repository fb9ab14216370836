"""Where log lines go, and in which form: a line for people, or a JSON object a line for a log store."""

from typing import Any

from pythonjsonlogger.core import RESERVED_ATTRS

from apps.telemetry.log_handler import component_of


def logging_settings(level: str, form: str, arguments: list[str]) -> dict[str, Any]:
    """Django's LOGGING for a process that was started with these arguments; `form` is "text" or "json"."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"context": {"()": "apps.kernel.log_context.LogContextFilter"}},
        "formatters": {
            "text": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s%(context)s"},
            "json": {
                "()": "pythonjsonlogger.json.JsonFormatter",
                "fmt": ["levelname", "name", "message"],
                "rename_fields": {"levelname": "level", "name": "logger"},
                "timestamp": "at",
                "static_fields": {"component": component_of(arguments)},
                # `request` is Django's own object, `context` the fields once more.
                "reserved_attrs": [*RESERVED_ATTRS, "request", "context", "color_message"],
                "json_ensure_ascii": False,
            },
        },
        "handlers": {
            "console": {"class": "logging.StreamHandler", "formatter": form, "filters": ["context"]},
            "pool": {"class": "apps.telemetry.log_handler.PoolLogHandler", "level": "WARNING"},
        },
        "root": {"handlers": ["console", "pool"], "level": level},
        "loggers": {
            "django.request": {"level": "ERROR"},
            "spiff": {"level": "WARNING"},
            # A line for each request, with its whole address: a webhook's opens a chat.
            "httpx": {"level": "WARNING"},
            # Two lines for each of several tasks a second.
            "celery.worker.strategy": {"level": "WARNING"},
            "celery.app.trace": {"level": "WARNING"},
        },
    }
