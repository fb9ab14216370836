"""A SkyPilot task."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weir.cli.job_files.job import Job, count
from weir.cli.job_files.stored import take_image, take_secret, take_volume, volume_named
from weir.errors import WeirClientError

SCRIPT = "sky-task.sh"
_WHY = {
    "storage_mounts": "buckets are not mounted: copy it to a volume by `weir cp`, and write vol://NAME in file_mounts",
    "service": "give --serve PORT, which keeps one program alive as a service",
    "inputs": "nothing here is like it",
    "outputs": "nothing here is like it",
    "event_callback": "you are told on your page and by mail as your settings there say",
    "config": "the centre is configured by its operators",
    "resources.cloud": "there is one centre",
    "resources.infra": "there is one centre",
    "resources.region": "there is one centre",
    "resources.zone": "there is one centre",
    "resources.instance_type": "ask for cards, cores and memory",
    "resources.disk_size": "it is a whole machine's: give --disk for scratch disk",
    "resources.disk_tier": "scratch disk has no tiers",
    "resources.ports": "give --web for pages that `weir open` opens",
    "resources.any_of": "name the --model wanted",
    "resources.ordered": "name the --model wanted",
    "resources.autostop": "a job ends with its program",
    "resources.labels": "work has no labels",
}
_UNKNOWN = "nothing here is like it"


def is_task(given: Mapping[str, Any]) -> bool:
    """Whether a file is one, as far as its own words say."""
    return "run" in given or "resources" in given


def read(job: Job, given: Mapping[str, Any], beside: Path) -> None:
    """Take a task into a job; paths in it are from the folder `beside`. Raises WeirClientError."""
    if not str(given.get("run") or "").strip():
        raise WeirClientError("The task has no run.", "Write the commands below run: |.")
    for name, value in given.items():
        match name:
            case "name":
                job.take("name", name=str(value))
            case "envs":
                _envs(job, value)
            case "workdir":
                _workdir(job, value, beside)
            case "resources" if isinstance(value, Mapping):
                _resources(job, value)
            case "file_mounts" | "volumes" if isinstance(value, Mapping):
                for path, source in value.items():
                    _mount(job, str(name), str(path), source)
            case "secrets":
                _secrets(job, value)
            case "setup" | "run" | "num_nodes":
                continue
            case _:
                job.leave(str(name), _WHY.get(str(name), _UNKNOWN))
    _nodes(job, given.get("num_nodes", 1))
    _script(job, given)


def _envs(job: Job, given: Any) -> None:
    missing = [name for name, value in given.items() if value is None and name not in os.environ]
    if missing:
        raise WeirClientError(f"{missing[0]} has no value.", f"Set it here, or give -e {missing[0]}=value.")
    job.take(
        "envs",
        env={str(name): os.environ[name] if value is None else str(value) for name, value in given.items()},
    )


def _workdir(job: Job, value: Any, beside: Path) -> None:
    if not isinstance(value, str):
        job.leave("workdir", "a folder of this machine travels; check the repository out first")
        return
    job.workdir = (beside / Path(value).expanduser()).resolve()
    job.note(f"workdir: {value}", "the folder travels with the job")


def _mount(job: Job, field: str, path: str, source: Any) -> None:
    """`/data: vol://NAME` of file_mounts and `/data: NAME` of volumes are volumes; local files and buckets are not."""
    shown = f"{field}.{path}"
    is_named = isinstance(source, str) and (field == "volumes" or source.startswith("vol://"))
    name = volume_named(source) if is_named else ""
    if not name and is_named:
        job.leave(shown, f"{source!r} names no volume: they are mounted whole, by NAME or vol://NAME")
    elif not name and isinstance(source, str) and "://" not in source:
        job.leave(
            shown, "files of this machine travel in the folder of --workdir, or go to a volume by `weir cp`"
        )
    elif not name:
        job.leave(shown, "buckets are not mounted: copy it to a volume by `weir cp`, and write vol://NAME")
    elif not path.startswith("/"):
        job.leave(shown, f"write the whole path: /data/{name}")
    else:
        take_volume(job, shown, name, path)


def _secrets(job: Job, given: Any) -> None:
    """A name without a value, as a mapping or in a list: the secret of that name here."""
    named = given if isinstance(given, Mapping) else dict.fromkeys(given)
    for name, value in named.items():
        if value is None:
            take_secret(job, f"secrets.{name}", str(name))
        else:
            job.leave(
                f"secrets.{name}", f"take its value out of the file, and set it by `weir secret set {name}`"
            )


def _image(job: Job, value: Any) -> None:
    kind, sign, reference = str(value).partition(":") if isinstance(value, str) else ("", "", "")
    if kind == "docker" and sign:
        take_image(job, f"resources.image_id: {value}", reference)
    else:
        job.leave("resources.image_id", "images of machines are none here: write docker:NAME:TAG")


def _resources(job: Job, given: Mapping[str, Any]) -> None:
    for name, value in given.items():
        shown = f"resources.{name}"
        match name:
            case "accelerators":
                _accelerators(job, value)
            case "cpus":
                job.take(f"{shown}: {value}", host_cpu_milli=round(_least(value) * 1000))
            case "memory":
                job.take(f"{shown}: {value}", host_memory_mib=round(_least(value) * 1024))
            case "image_id":
                _image(job, value)
            case "use_spot":
                job.take(f"{shown}: {value}", preemptible=bool(value))
            case "max_restarts_on_errors":
                job.take(shown, max_attempts=int(value) + 1)
            case "job_recovery":
                job.take(shown, requeue_on_loss=True)
            case "priority":
                job.leave(shown, "priorities are another scale here: give --priority")
            case _:
                job.leave(shown, _WHY.get(shown, _UNKNOWN))
    shares = job.request.get("shares", 1)
    for name in ("host_cpu_milli", "host_memory_mib"):
        if shares > 1 and name in job.request:
            job.request[name] = -(-job.request[name] // shares)


def _least(value: Any) -> float:
    """`4`, `4+` (at the least), `16GB`."""
    text = str(value).strip().lower().removesuffix("+").removesuffix("gb").removesuffix("x")
    try:
        return float(text)
    except ValueError as error:
        raise WeirClientError(f"{value!r} is no amount.", "Write for example 8 or 8+.") from error


def _accelerators(job: Job, value: Any) -> None:
    """`A100`, `A100:4`, `{A100: 4}`; of several the one to take is to be said."""
    choices = [value] if isinstance(value, str) else value
    if len(choices) != 1:
        job.leave("resources.accelerators", "of several kinds none is chosen: name the --model wanted")
        return
    if isinstance(choices, Mapping):
        ((model, number),) = choices.items()
    else:
        model, _colon, number = str(choices[0]).partition(":")
    shown = f"resources.accelerators: {model}:{number or 1}"
    job.take(shown, model=str(model), shares=count(str(number or 1), "accelerators"), whole_cards=True)


def _nodes(job: Job, value: Any) -> None:
    nodes = count(str(value), "num_nodes")
    if nodes == 1:
        return
    cards = job.request.pop("shares", 1)
    job.take(f"num_nodes: {nodes}", replicas=nodes, shares_per_replica=cards)


def _script(job: Job, given: Mapping[str, Any]) -> None:
    setup, run = (str(given.get(name) or "").rstrip("\n") for name in ("setup", "run"))
    if setup:
        job.note("setup", "runs before run, each time")
    job.note("run", f"travels as {SCRIPT}")
    parts = ["#!/bin/bash", "set -e", *filter(None, [setup, "set +e" if setup else "", run])]
    if not setup:
        parts.remove("set -e")
    job.files[SCRIPT] = ("\n".join(parts) + "\n").encode()
    job.request["argv"] = [f"./{SCRIPT}"]
