"""Every Celery task says its plane, and beat fires provider tasks only."""

import pytest
from celery.fixups.django import DjangoWorkerFixup
from celery.signals import task_prerun
from django.db import connection

from portal.celery import app


def ours():
    app.loader.import_default_modules()
    return {name: task for name, task in app.tasks.items() if name.startswith("apps.")}


def test_every_task_says_its_plane():
    assert {
        name for name, task in ours().items() if getattr(task, "plane", "") not in {"provider", "tenant"}
    } == set()


def test_beat_fires_known_provider_tasks_only():
    tasks = ours()
    assert app.conf.beat_schedule
    for entry in app.conf.beat_schedule.values():
        assert tasks[entry["task"]].plane == "provider", entry


def test_tasks_survive_the_death_of_their_worker():
    for name, task in ours().items():
        assert task.acks_late, name
        assert task.reject_on_worker_lost, name


def test_a_worker_keeps_its_connection_from_task_to_task_and_not_a_dead_one(
    committed, database_admin, monkeypatch: pytest.MonkeyPatch
):
    """To connect takes longer than most of what beat asks for every two seconds."""
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", 60)
    connection.close()
    connection.ensure_connection()
    kept = connection.connection
    task_prerun.send(sender=None)
    DjangoWorkerFixup(app).close_database()
    connection.ensure_connection()
    assert connection.connection is kept
    database_admin.execute("SELECT pg_terminate_backend(%s)", [kept.info.backend_pid])
    task_prerun.send(sender=None)
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    assert connection.connection is not kept
