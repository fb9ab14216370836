"""Jobs over several computing centres."""

import time
from typing import Any

import typer

from weir.cli.context import caller
from weir.cli.group import App
from weir.cli.show import as_json, one, rows, said, say_printed
from weir.errors import WeirClientError

job = App(help="Jobs over the computing centres of the network: each task goes to the best one.")
_ID = typer.Argument(..., help="The job's ID.")
_JOBS = [
    ("job", "id"), ("name", "name"), ("state", "state"), ("by", "created_user"), ("submitted", "created_at"),
    ("ended", "ended_at"),
]  # fmt: skip
_JOB = [
    ("job", "id"), ("name", "name"), ("state", "state"), ("why", "reason"), ("by", "created_user"),
    ("submitted", "created_at"), ("dispatched", "dispatched_at"), ("ended", "ended_at"),
]  # fmt: skip
_REPLICAS = [
    ("task", "task"), ("name", "name"), ("replica", "number"), ("state", "state"), ("centre", "center"),
    ("attempt", "attempt"), ("price/h", "price"), ("why", "why"),
]  # fmt: skip
_FOLLOW_S = 2.0


def _task(text: str, number: int, options: dict[str, Any]) -> dict[str, Any]:
    """NAME=COMMAND, or a command alone."""
    name, sign, command = text.partition("=")
    if not sign or not name.replace("-", "").replace("_", "").isalnum():
        name, command = f"task{number}", text
    return {"name": name, "command": command, **options}


def _weights(given: list[str]) -> dict[str, str] | None:
    found: dict[str, str] = {}
    for text in given:
        policy, sign, part = text.partition("=")
        if not sign or policy in found:
            raise WeirClientError(f"{text} is no weight.", "Write POLICY=PART, each policy once: price=0.5.")
        found[policy] = part
    return found or None


@job.command("submit")
def submit(
    ctx: typer.Context,
    name: str = typer.Argument(..., help="What the job is called."),
    task: list[str] = typer.Option(
        ..., "--task", help="A task: NAME=COMMAND, or its command alone; once for each task."
    ),
    spec: str = typer.Option(..., help="The network specification of each replica."),
    replicas: int = typer.Option(1, help="Replicas of each task."),
    center: list[str] = typer.Option([], help="A centre that may run it; none is all."),
    weight: list[str] = typer.Option([], help="POLICY=PART of a weight; all of them sum to 1."),
    deadline: str = typer.Option("", help="When it has to have ended: 2026-12-01T08:00:00+08:00."),
    duration: int = typer.Option(None, help="How many seconds it is expected to run.", show_default=False),
    security_grade: int = typer.Option(0, help="The least security grade of its centre."),
    retries: int = typer.Option(
        None, help="How often it is tried again when it fails, at least 2.", show_default=False
    ),
    gang: bool = typer.Option(False, help="All tasks find a centre, or none is sent."),
    split: bool = typer.Option(False, help="Replicas of a task may go to several centres."),
    description: str = typer.Option("", help="A description."),
) -> None:
    """Submit a job: weir job submit night --spec gpu1 --task "train=python train.py" --task "check=python check.py"."""
    options: dict[str, Any] = {
        "resourcespec": spec,
        "replicas": replicas,
        "centers": center,
        "min_security_grade": security_grade,
        "deadline_at": deadline or None,
        "duration_s": duration,
        "may_split": split,
    }
    tasks = [_task(text, number, options) for number, text in enumerate(task, 1)]
    more = {"weights": _weights(weight), "retries": retries, "is_gang": gang, "desc": description}
    with caller(ctx) as client:
        found = client.job_submit(name, tasks, **more)
    one(ctx, found, _JOB)


@job.command("list")
def list_(
    ctx: typer.Context,
    state: str = typer.Option("", help="pending, running, completed, failed or stopped."),
    search: str = typer.Option("", help="What the name contains, or how the ID begins."),
) -> None:
    """The jobs, newest first."""
    with caller(ctx) as client:
        rows(ctx, client.jobs(state, search), _JOBS)


@job.command("show")
def show(ctx: typer.Context, job_id: str = _ID) -> None:
    """One job: its state and why, and where each replica is."""
    with caller(ctx) as client:
        found = client.job(job_id)
    one(ctx, found, _JOB)
    if not as_json(ctx):
        rows(ctx, _replicas(found), _REPLICAS)


def _replicas(found: Any) -> list[dict[str, Any]]:
    """A row for each replica that has a centre, and one for a task of which some wait."""
    shown: list[dict[str, Any]] = []
    for task in found["tasks"]:
        head = {"task": task["number"], "name": task["name"]}
        for each in task["placed"]:
            where = {"center": each["ai_center_id"], "price": each["price_minor"], "why": each["reason"]}
            shown.append(head | dict(each) | where)
        missing = task["replicas"] - len(task["placed"])
        if missing > 0:
            why = " ".join(task["waits_for"])
            shown.append(head | {"number": f"{missing} more", "state": "pending", "why": why})
    blank = dict.fromkeys(("center", "attempt", "price", "why"), "")
    return [blank | row for row in shown]


@job.command("log")
def log(
    ctx: typer.Context,
    job_id: str = _ID,
    task: int = typer.Option(0, help="The task's number, from 0."),
    replica: int = typer.Option(0, help="The replica's number, from 0."),
    offset: int = typer.Option(0, help="The first byte."),
    follow: bool = typer.Option(False, "--follow", "-f", help="Go on until the replica has ended."),
) -> None:
    """What a replica has printed."""
    with caller(ctx) as client:
        while True:
            part = client.job_log(job_id, task, replica, offset)
            say_printed(part["text"])
            if part["is_whole"] or (not follow and part["next_offset"] == offset):
                return
            if part["next_offset"] == offset:
                time.sleep(_FOLLOW_S)
            offset = part["next_offset"]


@job.command("stop")
def stop(ctx: typer.Context, job_id: str = _ID) -> None:
    """Stop a job: what waits is sent nowhere, what runs is asked to end."""
    with caller(ctx) as client:
        found = client.job_stop(job_id)
    said(ctx, found, f"{found['name']}: {found['reason']}")


@job.command("change")
def change(
    ctx: typer.Context,
    job_id: str = _ID,
    name: str = typer.Option(None, help="What the job is called.", show_default=False),
    description: str = typer.Option(None, help="A description.", show_default=False),
    priority: int = typer.Option(
        None, help="From -9 to 0; what is above, operators give.", show_default=False
    ),
    weight: list[str] = typer.Option([], help="POLICY=PART of a weight; all of them sum to 1."),
    deadline: str = typer.Option(
        None, help="When all its tasks have to have ended; empty: at no time.", show_default=False
    ),
) -> None:
    """Change a job that has not ended: weir job change ID --priority=-3. What has a centre keeps it."""
    given: dict[str, Any] = {
        "name": name,
        "desc": description,
        "priority": priority,
        "weights": _weights(weight),
    }
    changes = {field: value for field, value in given.items() if value is not None}
    if deadline is not None:
        changes["deadline_at"] = deadline or None
    if not changes:
        raise WeirClientError(
            "Nothing is to be changed.", "Name what: --name, --priority, --weight, --deadline."
        )
    with caller(ctx) as client:
        found = client.job_change(job_id, **changes)
    one(ctx, found, _JOB)


@job.command("delete")
def delete(ctx: typer.Context, job_id: str = _ID) -> None:
    """Delete a job that is over, with all that is known of it."""
    with caller(ctx) as client:
        client.job_delete(job_id)
    said(ctx, {"id": job_id}, f"{job_id} is deleted.")
