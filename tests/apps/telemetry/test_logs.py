"""The log: found by every condition, page by page; the exported file is the filtered set; bounded in age and number."""

import csv
import io
import json
import logging
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput
from apps.telemetry.log_handler import PoolLogHandler, component_of
from apps.telemetry.models import LogEntry
from apps.telemetry.selectors import log_list
from apps.telemetry.services import logs
from apps.telemetry.services.logs import log_add, logs_add, logs_prune
from apps.telemetry.types import LogLine

pytestmark = pytest.mark.req("POOL-12.18")
START = datetime(2026, 1, 1, tzinfo=UTC)
LEVELS = ("debug", "info", "warning", "error", "critical")


@pytest.fixture
def lines(db):
    """Forty lines a minute apart: level, node, task and priority in known turns."""
    made = [
        LogLine(
            text=f"line {n}" + (" =sum(A1)" if n == 7 else ""),
            level=LEVELS[n % 5],
            component=("agent", "scheduling")[n % 2],
            node=f"node-{n % 3}",
            task=f"task-{n % 4}",
            tenant="acme" if n % 2 else "",
            priority=n % 4 * 10 if n % 2 else None,
            at=START + timedelta(minutes=n),
        )
        for n in range(40)
    ]
    logs_add(actor=SYSTEM, lines=made)
    return made


CASES = [
    ({}, lambda n: True),
    ({"level": "error"}, lambda n: n % 5 == 3),
    ({"level": "error,critical"}, lambda n: n % 5 in (3, 4)),
    ({"priority": 10}, lambda n: n % 4 == 1),
    ({"priority": 30, "level": "warning"}, lambda n: n % 4 == 3 and n % 5 == 2),
    ({"component": "agent", "node": "node-2"}, lambda n: n % 2 == 0 and n % 3 == 2),
    ({"task": "task-3"}, lambda n: n % 4 == 3),
    ({"tenant": "acme"}, lambda n: n % 2 == 1),
    ({"search": "LINE 3"}, lambda n: n == 3 or 30 <= n < 40),
    ({"from": START + timedelta(minutes=10), "to": START + timedelta(minutes=20)}, lambda n: 10 <= n < 20),
    ({"node": "no such node"}, lambda n: False),
]


def asked(query):
    return {
        name: value.isoformat() if isinstance(value, datetime) else value for name, value in query.items()
    }


@pytest.mark.parametrize(("query", "meets"), CASES)
def test_the_filtered_set_is_exact_page_by_page_and_as_a_file(lines, operator, query, meets):
    api = operator("front_line").api()
    expected = [line.text for n, line in enumerate(lines) if meets(n)][::-1]
    found, address, params = [], "/api/v1/logs", {**asked(query), "page_size": 7}
    while address:
        answer = api.get(address, params)
        assert answer.status_code == 200, answer.content
        found += answer.json()["results"]
        address, params = answer.json()["next"], None
    assert [row["text"] for row in found] == expected
    answer = api.get("/api/v1/logs/export", {**asked(query), "format": "jsonl"})
    assert answer["Content-Disposition"] == 'attachment; filename="weir-log.jsonl"'
    sent = [json.loads(line) for line in b"".join(answer).splitlines()]
    assert [(row["id"], row["text"], row["priority"]) for row in sent] == [
        (row["id"], row["text"], row["priority"]) for row in found
    ]
    answer = api.get("/api/v1/logs/export", {**asked(query), "format": "csv"})
    sent = list(csv.DictReader(io.StringIO(b"".join(answer).decode())))
    assert [(int(row["id"]), row["level"], row["text"]) for row in sent] == [
        (row["id"], row["level"], row["text"]) for row in found
    ]


def test_one_line_is_read_and_strangers_read_none(lines, operator, member):
    api = operator("executive").api()
    row = api.get("/api/v1/logs").json()["results"][0]
    assert api.get(f"/api/v1/logs/{row['id']}").json() == row
    assert row["at"].startswith("2026-01-01")
    assert api.get("/api/v1/logs/999999999999").status_code == 404
    stranger = member("acme", "tenant_system_administrator").api()
    for path in ("logs", "logs/export", f"logs/{row['id']}"):
        assert stranger.get(f"/api/v1/{path}").status_code == 403


def test_bad_conditions_are_refused(lines, operator):
    api = operator("executive").api()
    for wrong in ({"level": "loud"}, {"from": "yesterday"}, {"priority": "high"}, {"priority": 2**40}):
        assert api.get("/api/v1/logs", wrong).status_code == 400, wrong
        assert api.get("/api/v1/logs/export", wrong).status_code == 400, wrong
    assert api.get("/api/v1/logs/export", {"format": "pdf"}).status_code == 400
    with pytest.raises(InvalidInput):
        log_list(level="loud")


def test_a_formula_stays_text_in_a_spreadsheet(db, operator):
    log_add(actor=SYSTEM, text="=cmd|' /C calc'!A0")
    answer = operator("executive").api().get("/api/v1/logs/export", {"format": "csv"})
    assert b"".join(answer).decode().splitlines()[1].endswith("'=cmd|' /C calc'!A0")


def test_what_is_odd_is_kept_as_it_can_be(db):
    log_add(actor=SYSTEM, text="a\x00b" + "x" * 9000, level="shout", at=timezone.now() + timedelta(days=400))
    row = LogEntry.objects.get()
    assert (row.level, len(row.text)) == ("info", logs.TEXT_MAX)
    assert row.at < timezone.now() + timedelta(minutes=6)


def test_old_lines_and_too_many_are_forgotten(db, monkeypatch):
    now = timezone.now()
    for days in (1, 29, 31, 90):
        log_add(actor=SYSTEM, text=f"{days} days", at=now - timedelta(days=days))
    assert logs_prune(actor=SYSTEM) == 2
    monkeypatch.setattr(logs, "ENTRIES_MAX", 1)
    assert logs_prune(actor=SYSTEM) == 1
    assert LogEntry.objects.get().text == "1 days"


# --- the server's own components -------------------------------------------------------------------------------


def waited(condition, timeout_s=60):
    until_s = time.monotonic() + timeout_s
    while not condition() and time.monotonic() < until_s:
        time.sleep(0.05)
    return condition()


@pytest.fixture
def logger():
    """A logger whose warnings go to the pool's log."""
    handler, own = PoolLogHandler(), logging.getLogger("weir.test.recording")
    own.addHandler(handler)
    yield own, handler
    own.removeHandler(handler)
    handler.flush()


def test_what_a_component_warns_of_is_in_the_log(committed, logger):
    own, handler = logger
    own.info("not worth keeping")
    own.warning("disk %s is slow", "sda")
    try:
        raise ValueError("no such thing")
    except ValueError:
        own.exception("it failed")
    # What a thread of an earlier test warns of meanwhile is none of ours.
    kept = LogEntry.objects.filter(text__startswith=own.name).order_by("at", "pk")
    assert waited(lambda: kept.count() == 2)
    rows = list(kept.all().values_list("level", "text", "component"))
    assert rows == [
        ("warning", "weir.test.recording: disk sda is slow", handler.component),
        ("error", "weir.test.recording: it failed (ValueError: no such thing)", handler.component),
    ]


def test_a_full_queue_drops_says_so_and_nobody_waits(committed, monkeypatch):
    handler, gate, taken = PoolLogHandler(capacity=5), threading.Event(), []

    def write(lines):
        gate.wait(120)
        taken.append(list(lines))

    monkeypatch.setattr(handler, "_write", write)
    record = logging.LogRecord("x", logging.ERROR, __file__, 1, "boom", (), None)
    begun_s = time.monotonic()
    for _n in range(100):
        handler.emit(record)
    assert time.monotonic() - begun_s < 60
    assert handler.dropped >= 100 - 5 - 5 - 1
    monkeypatch.undo()
    gate.set()
    assert waited(lambda: not handler._queue.unfinished_tasks)
    handler.emit(record)
    assert waited(lambda: LogEntry.objects.filter(text__contains="dropped").exists())
    assert waited(lambda: not handler._queue.unfinished_tasks)


def test_a_writer_that_fails_does_not_feed_itself(committed, monkeypatch):
    """What the writing thread itself logs, a database's own complaint for instance, is not written down by it."""
    handler = PoolLogHandler()
    root = logging.getLogger("weir.test.loop")
    root.addHandler(handler)
    real = logs.LogEntry.objects.bulk_create

    def loud(*args, **kwargs):
        root.error("the database complains")
        return real(*args, **kwargs)

    monkeypatch.setattr(logs.LogEntry.objects, "bulk_create", loud)
    root.error("once")
    assert waited(lambda: LogEntry.objects.exists())
    time.sleep(1.2)
    assert not LogEntry.objects.filter(text__contains="complains").exists()
    root.removeHandler(handler)


def test_components_are_told_by_how_they_were_started():
    assert component_of(["/x/celery", "-A", "portal", "worker"]) == "worker"
    assert component_of(["/x/celery/__main__.py", "-A", "portal.celery", "beat"]) == "beat"
    assert component_of(["/x/uvicorn", "portal.asgi:application"]) == "web"
    assert component_of(["manage.py", "migrate"]) == "command"
