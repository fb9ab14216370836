"""The `#SBATCH` lines of a batch script."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from weir.cli.job_files.figures import begin, binary_mib, clock_s
from weir.cli.job_files.job import Job, Reader, count, words_of
from weir.cli.job_files.stored import take_image, take_volume, volume_named
from weir_wire.end_warning import warning_of

_SHORT = {
    "A": "account", "a": "array", "b": "begin", "C": "constraint", "c": "cpus-per-task", "D": "chdir",
    "d": "dependency", "e": "error", "G": "gpus", "H": "hold", "i": "input", "J": "job-name", "L": "licenses",
    "M": "clusters", "N": "nodes", "n": "ntasks", "o": "output", "p": "partition", "q": "qos", "t": "time",
    "W": "wait", "w": "nodelist", "x": "exclude",
}  # fmt: skip
_FLAGS = frozenset(
    {"exclusive", "hold", "no-requeue", "overcommit", "oversubscribe", "parsable", "quiet", "requeue", "spread-job",
     "verbose", "wait", "contiguous", "use-min-nodes", "no-kill", "get-user-env",
     "container-mount-home", "no-container-mount-home", "container-writable", "container-readonly",
     "container-remap-root", "no-container-remap-root", "container-entrypoint", "no-container-entrypoint"}
)  # fmt: skip
_WHY = {
    "account": "your tenant and organization pay; nothing is charged to another account",
    "qos": "the queue decides",
    "output": "`weir logs` shows what the job prints",
    "error": "`weir logs` shows what the job prints",
    "input": "a job has no input",
    "mail-type": "you are told on your page and by mail as your settings there say",
    "mail-user": "you are told at your own address",
    "constraint": "name a --model, a --vendor or a resource --group",
    "licenses": "there are no licences",
    "exclusive": "ask for --whole cards",
    "exclude": "name the --node or the --group wanted",
    "hold": "submit it when it is to run, or give --not-before",
    "container-name": "a container ends with its work: `weir image save` keeps it as an image",
    "container-save": "`weir image save` keeps running work as an image",
    "container-workdir": "the program starts in the folder of --workdir",
    "container-mount-home": "there are no homes on nodes: name a --volume",
    "container-readonly": "what is changed over an image is gone with the work",
    "container-remap-root": "work is a user without powers",
    "container-entrypoint": "a script of yours runs; an image's own program does without one",
    "container-env": "name the variables with -e",
    "nice": "give --priority",
    "priority": "priorities are another scale here: give --priority",
}
_UNKNOWN = "nothing here is like it"
_ACCEPTED = {
    "parsable": "give --json",
    "quiet": "",
    "verbose": "",
    "no-container-mount-home": "there are no homes on nodes",
    "container-writable": "an image can be written over; what is changed is gone with the work",
    "no-container-remap-root": "work is a user without powers",
    "no-container-entrypoint": "the script runs",
}


def directives(text: str) -> Iterator[tuple[str, str, str]]:
    """Each option of the `#SBATCH` lines before the first command: its line, its long name and its value."""
    for line in text.splitlines():
        if line.startswith("#SBATCH"):
            yield from _options(line)
        elif line.strip() and not line.startswith("#"):
            return


def _options(line: str) -> Iterator[tuple[str, str, str]]:
    words = words_of(line, "#SBATCH")
    while words:
        word = words.pop(0)
        if word.startswith("--"):
            name, sign, value = word[2:].partition("=")
        elif word.startswith("-") and len(word) > 1:
            name, value = _SHORT.get(word[1], word[1]), word[2:].removeprefix("=")
            sign = "=" if value else ""
        else:
            yield f"#SBATCH {word}", "", ""
            continue
        shown = f"#SBATCH {word}"
        if not sign and name not in _FLAGS and words and not words[0].startswith("-"):
            value = words.pop(0)
            shown += f" {value}"
        yield shown, name, value


def read(job: Job, text: str) -> None:
    """Take the directives of a script into a job; each is noted. Raises WeirClientError for a value that is none."""
    said: dict[str, tuple[str, str]] = {}
    for shown, name, value in directives(text):
        if name in said:
            job.leave(said[name][0], "it is said again further down, and the last counts")
        said[name] = (shown, value)
    _sizes(job, said)
    for name, (shown, value) in said.items():
        reader = _READERS.get(name)
        if reader is not None:
            reader(job, shown, value)
        elif name in _ACCEPTED:
            job.note(shown, _ACCEPTED[name] or "nothing to do")
        else:
            job.leave(shown, _WHY.get(name, _UNKNOWN))


# --- how many, how large -----------------------------------------------------------------------------------------


def _sizes(job: Job, said: dict[str, tuple[str, str]]) -> None:
    """What several options say together: nodes, tasks, cards, cores and memory; each is taken out of `said`."""
    nodes_line, nodes = _number(said, "nodes")
    tasks_line, tasks = _number(said, "ntasks")
    per_node_line, cards_of_node, model = _cards(said, "gpus-per-node", "gres")
    per_task_line, cards_of_task, task_model = _cards(said, "gpus-per-task")
    all_line, cards, all_model = _cards(said, "gpus")
    if task_model or all_model or model:
        job.take("its type of card", model=task_model or all_model or model)
    if all_line:
        job.take(all_line, shares=cards, whole_cards=True)
    if per_task_line:
        job.take(per_task_line, shares=cards_of_task * (tasks or 1), whole_cards=True)
    if per_node_line and (nodes or 1) > 1:
        job.take(per_node_line, shares_per_replica=cards_of_node, whole_cards=True)
        job.take(nodes_line, replicas=nodes)
    elif per_node_line:
        job.take(per_node_line, shares=cards_of_node, single_node=True, whole_cards=True)
    if nodes_line and not (per_node_line and (nodes or 1) > 1):
        if nodes == 1:
            job.take(nodes_line, single_node=True)
        else:
            job.leave(nodes_line, "say with --gres or --gpus-per-node how many cards each node gives")
    if tasks_line and not per_task_line:
        if tasks == 1:
            job.note(tasks_line, "the script runs once")
        else:
            job.leave(
                tasks_line,
                "the script runs once for each share; say --gpus-per-task, or start the tasks in it",
            )
    # Cores and memory are for a task and a node there, beside each share here.
    cards = (
        cards_of_task
        if per_task_line
        else job.request.get("shares_per_replica", job.request.get("shares", 1))
    )
    cores_line, cores = _number(said, "cpus-per-task")
    if cores_line:
        job.take(cores_line, host_cpu_milli=-(-(cores or 1) * 1000 // cards))
    for name, parts in (("mem", cards), ("mem-per-cpu", cards), ("mem-per-gpu", 1)):
        if name not in said:
            continue
        line, value = said.pop(name)
        if value == "0":
            job.leave(line, "all of a node's memory is not to be had: give an amount")
            continue
        mib = binary_mib(value) * ((cores or 1) if name == "mem-per-cpu" else 1)
        job.take(line, host_memory_mib=-(-mib // parts))


def _number(said: dict[str, tuple[str, str]], name: str) -> tuple[str, int | None]:
    line, value = said.pop(name, ("", ""))
    return line, count(value, f"--{name}") if line else None


def _cards(said: dict[str, tuple[str, str]], *names: str) -> tuple[str, int, str]:
    """The line, how many cards and of which type (`gpu:a100:2`, `a100:2`, `2`), of the first option that is there."""
    for name in names:
        if name not in said:
            continue
        line, value = said[name]
        kind, _colon, rest = value.partition(":")
        if name == "gres":
            if kind != "gpu" or "," in value:
                continue
            value = rest or "1"
        del said[name]
        model, _colon, number = value.rpartition(":")
        return line, count(number, f"--{name}"), model
    return "", 0, ""


# --- one by one --------------------------------------------------------------------------------------------------


def _field(name: str) -> Reader:
    def reader(job: Job, shown: str, value: str) -> None:
        job.take(shown, **{name: value})

    return reader


def _time(job: Job, shown: str, value: str) -> None:
    if value.lower() in ("infinite", "unlimited", "0"):
        job.note(shown, "no time-out, but the queue's")
    else:
        job.take(shown, run_timeout_s=clock_s(value))


def _begin(job: Job, shown: str, value: str) -> None:
    job.take(shown, earliest_start_at=begin(value))


def _deadline(job: Job, shown: str, value: str) -> None:
    job.take(shown, deadline_at=begin(value))


def _requeue(job: Job, shown: str, _value: str) -> None:
    job.take(shown, requeue_on_loss=True)


def _no_requeue(job: Job, shown: str, _value: str) -> None:
    job.take(shown, requeue_on_loss=False)


def _nodelist(job: Job, shown: str, value: str) -> None:
    if "," in value or "[" in value:
        job.leave(shown, "one node can be named, or a resource --group")
    else:
        job.take(shown, node=value)


def _chdir(job: Job, shown: str, value: str) -> None:
    folder = Path(value).expanduser()
    if folder.is_dir():
        job.workdir = folder
        job.note(shown, "the folder travels with the job")
    else:
        job.leave(shown, "there is no such folder here, and none on the node: give --workdir")


def _dependency(job: Job, shown: str, value: str) -> None:
    """`afterok:W-1:W-2,afterany:W-3`: all of them; what is not named as work is named here is left."""
    fields = depends(value)
    if fields is None:
        job.leave(shown, "give --after, --after-ok, --after-any or --after-not-ok with numbers of work")
    else:
        job.take(shown, **fields)


def depends(value: str) -> dict[str, list[str]] | None:
    """The fields of a dependency as Slurm and PBS write it; None where one is of another kind, or one of several."""
    fields: dict[str, list[str]] = {}
    for part in value.split(","):
        kind, _colon, rest = part.partition(":")
        numbers = [number for number in rest.split(":") if number]
        # A number of theirs, and a delay (`+5`), mean nothing here.
        if kind not in _AFTER or not numbers or any(re.search(r"^\d+$|[+?]", number) for number in numbers):
            return None
        fields.setdefault(_AFTER[kind], []).extend(numbers)
    return fields


_AFTER = {"after": "after", "afterok": "after_ok", "afterany": "after_any", "afternotok": "after_not_ok"}


def _array(job: Job, shown: str, value: str) -> None:
    job.take_array(shown, value, "SLURM_ARRAY_TASK_ID")


def _signal(job: Job, shown: str, value: str) -> None:
    try:
        warning_of(value)
    except (ValueError, KeyError):
        job.leave(shown, "write USR1@60: a name or number, and seconds before")
    else:
        job.take(shown, signal=value.removeprefix("B:"))


def _tmp(job: Job, shown: str, value: str) -> None:
    job.take(shown, scratch_disk_mib=binary_mib(value))


def _container_image(job: Job, shown: str, value: str) -> None:
    """Pyxis writes `REGISTRY#IMAGE:TAG` and paths of squashed files too."""
    take_image(job, shown, value.removeprefix("docker://"))


def _container_mounts(job: Job, shown: str, value: str) -> None:
    """Pyxis' `SOURCE:PATH[:FLAGS]`, with commas between them; a volume stands where a node's folder does there."""
    for part in filter(None, value.split(",")):
        one = f"{shown.partition('=')[0].partition(' ')[0]} --container-mounts={part}"
        is_place = part.startswith("vol://")
        source, _colon, rest = part.removeprefix("vol://").partition(":")
        path, _colon, flags = rest.partition(":")
        name = volume_named(f"vol://{source}" if is_place else source)
        unknown = [flag for flag in filter(None, flags.split("+")) if flag not in ("ro", "rw")]
        if not name:
            job.leave(one, "folders of nodes are not mounted: name a volume there, NAME:PATH or NAME:PATH:ro")
        elif not path.startswith("/"):
            job.leave(one, f"say where: {name}:/data/{name}")
        elif unknown:
            job.leave(one, f"of flags ro and rw are known, not {', '.join(unknown)}")
        else:
            take_volume(job, one, name, path, is_read_only="ro" in flags.split("+"))


def _wait(job: Job, shown: str, _value: str) -> None:
    job.waits = True
    job.note(shown, "--wait")


def _export(job: Job, shown: str, value: str) -> None:
    env, rest = {}, []
    for part in filter(None, value.split(",")):
        name, sign, given = part.partition("=")
        if sign:
            env[name] = given
        elif part in os.environ:
            env[name] = os.environ[part]
        elif part not in ("NONE", "NIL"):
            rest.append(part)
    if rest:
        job.leave(
            shown, f"{', '.join(rest)}: your whole environment does not travel; name the variables with -e"
        )
        job.request.setdefault("env", {}).update(env)
    else:
        job.take(shown, env={**job.request.get("env", {}), **env})


_READERS: dict[str, Reader] = {
    "job-name": _field("name"),
    "partition": _field("queue"),
    "reservation": _field("reservation"),
    "time": _time,
    "begin": _begin,
    "deadline": _deadline,
    "requeue": _requeue,
    "no-requeue": _no_requeue,
    "nodelist": _nodelist,
    "chdir": _chdir,
    "dependency": _dependency,
    "array": _array,
    "signal": _signal,
    "wait": _wait,
    "export": _export,
    "tmp": _tmp,
    "container-image": _container_image,
    "container-mounts": _container_mounts,
}
