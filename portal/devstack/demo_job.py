"""One job over the centres of the network, told in plain words: which centre took what of it, and why there."""

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from portal.devstack.demo_centers import SPEC
from portal.devstack.demo_order import Journey, JourneyFailed

if TYPE_CHECKING:
    import weir
    from weir.api_types import JobDecisionOut, JobOut, JobReplicaOut, JobTaskOut

# Programs that every centre has.
TASKS = (
    {
        "name": "count",
        "command": 'seq 1 1000 | awk \'{s += $1} END {print "1 to 1000 is", s, "in all"}\'',
        "resourcespec": SPEC,
    },
    {
        "name": "tell",
        "command": 'echo "replica on $(nproc) processors of $(uname -n)"; sleep 2',
        "resourcespec": SPEC,
        "replicas": 2,
        "may_split": True,
    },
)
_SENTENCES = 3
_OVER = ("completed", "failed", "stopped")


def job_tell(journey: Journey, who: str = "alice") -> "JobOut":
    """Submit a job of two tasks, wait until it has run, and tell where each replica went, why, and what it printed.

    Raises JourneyFailed where it does not complete, or a replica has printed nothing.
    """
    user = journey.person(who)
    asked = user.job_submit("count and tell", [dict(task) for task in TASKS])
    parts = " and ".join(f"“{task['name']}” (replicas: {task['replicas']})" for task in asked["tasks"])
    journey.step(f"{who} submits job {asked['id']} over the computing network, of two tasks: {parts}")
    job: JobOut = journey.wait(f"the end of job {asked['id']}", lambda: _ended(user, asked["id"]))
    if job["state"] != "completed":
        raise JourneyFailed(f"job {job['id']} is {job['state']}: {job['reason']}")
    for task in job["tasks"]:
        for decision in _decisions(job["decisions"], task["number"]):
            journey.step(f"   {_first_sentences(decision['text'])}")
        for replica in task["placed"]:
            _replica_tell(journey, user, job, task, replica)
    journey.step(f"   job {job['id']} is {job['state']}")
    return job


def _ended(user: "weir.Client", job_id: str) -> "JobOut | None":
    job = user.job(job_id)
    return job if job["state"] in _OVER else None


def _decisions(decisions: Iterable["JobDecisionOut"], task: int) -> list["JobDecisionOut"]:
    """What was decided on a task, oldest first, but for the waiting before."""
    found = [row for row in decisions if row["task"] == task and row["kind"] != "waits"]
    return sorted(found, key=lambda row: row["at"])


def _replica_tell(
    journey: Journey, user: "weir.Client", job: "JobOut", task: "JobTaskOut", replica: "JobReplicaOut"
) -> None:
    def log() -> str:
        told = user.job_log(job["id"], task["number"], replica["number"])
        return str(told["text"]) if told["text"].strip() or told["is_whole"] else ""

    said = journey.wait(f"what replica {replica['number']} of {task['name']} prints", log).split("\n")
    if not said[0]:
        raise JourneyFailed(f"replica {replica['number']} of {task['name']} printed nothing")
    journey.step(
        f"   {task['name']}, replica {replica['number']}: {replica['center_name']},"
        f" {_clock(replica['started_at'])}–{_clock(replica['ended_at'])}"
    )
    journey.say(f"             | {said[0]}")


def _first_sentences(text: str) -> str:
    """Where it went, and what decided that; what was not known besides is on the job's page."""
    return ". ".join(text.rstrip(".").split(". ")[:_SENTENCES]) + "."


def _clock(instant: str | None) -> str:
    return datetime.fromisoformat(instant).strftime("%H:%M:%S") if instant else "?"
