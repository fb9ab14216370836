"""Every Celery task says its plane, and beat fires provider tasks only."""

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
