"""The `#PBS` lines of a batch script."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from weir.cli.job_files.figures import binary_mib, clock_s
from weir.cli.job_files.job import Job, count, words_of
from weir.cli.job_files.slurm import depends
from weir.errors import WeirClientError

_FLAGS = frozenset("hIVXzf")
_WHY = {
    "A": "your tenant and organization pay; nothing is charged to another account",
    "W": "of its attributes depend=… is taken, with numbers of work",
    "V": "your whole environment does not travel; name the variables with -e",
    "M": "you are told at your own address",
    "m": "you are told on your page and by mail as your settings there say",
    "o": "`weir logs` shows what the job prints",
    "e": "`weir logs` shows what the job prints",
    "p": "priorities are another scale here: give --priority",
    "h": "submit it when it is to run, or give --not-before",
    "a": "give --not-before",
    "I": "jobs are not interactive: `weir run` is",
}
_UNKNOWN = "nothing here is like it"


def _options(line: str) -> Iterator[tuple[str, str, str]]:
    words = words_of(line, "#PBS")
    while words:
        word = words.pop(0)
        letter, value = word[1:2], word[2:]
        if not value and letter not in _FLAGS and words:
            value = words.pop(0)
        yield f"#PBS {word[:2]} {value}".rstrip(), letter, value


def read(job: Job, text: str) -> None:
    """Take the directives of a script into a job; each is noted. Raises WeirClientError for a value that is none."""
    for line in text.splitlines():
        if line.startswith("#PBS"):
            for shown, letter, value in _options(line):
                _one(job, shown, letter, value)
        elif line.strip() and not line.startswith("#"):
            return


def _one(job: Job, shown: str, letter: str, value: str) -> None:
    match letter:
        case "N":
            job.take(shown, name=value)
        case "q":
            job.take(shown, queue=value.partition("@")[0])
        case "l":
            for part in _resources(value):
                _resource(job, part)
        case "r":
            job.take(shown, requeue_on_loss=value == "y")
        case "v":
            job.take(shown, env={**job.request.get("env", {}), **_variables(value)})
        case "W" if value.startswith("depend=") and (fields := depends(value.removeprefix("depend="))):
            job.take(shown, **fields)
        case "J" | "t":
            name = "PBS_ARRAY_INDEX" if letter == "J" else "PBS_ARRAYID"
            job.take_array(shown, value, name)
        case "j" | "k":
            job.note(shown, "the log holds all that the job prints")
        case "S":
            job.note(shown, "the script's own first line says what runs it")
        case _:
            job.leave(shown, _WHY.get(letter, _UNKNOWN))


def _resources(value: str) -> list[str]:
    """`select=…` keeps its colons; what is between commas is one each."""
    return [part for part in value.split(",") if part]


def _variables(value: str) -> dict[str, str]:
    found = {}
    for part in filter(None, value.split(",")):
        name, sign, given = part.partition("=")
        if not sign and name not in os.environ:
            raise WeirClientError(f"{name} is not set here.", "Write NAME=value after -v.")
        found[name] = given if sign else os.environ[name]
    return found


def _resource(job: Job, part: str) -> None:
    name, _sign, value = part.partition("=")
    shown = f"#PBS -l {part}"
    match name:
        case "walltime":
            job.take(shown, run_timeout_s=_seconds(value))
        case "select" | "nodes":
            _chunks(job, shown, value)
        case "ncpus":
            job.take(shown, host_cpu_milli=count(value, "ncpus") * 1000)
        case "ngpus" | "gpus":
            job.take(shown, shares=count(value, name), whole_cards=True)
        case "mem" | "pmem":
            job.take(shown, host_memory_mib=binary_mib(value, bare="k"))
        case "place":
            job.leave(shown, "give --single-node, --distinct or --placing")
        case _:
            job.leave(shown, _UNKNOWN)


def _seconds(value: str) -> int:
    """PBS counts a bare number in seconds."""
    return int(value) if re.fullmatch(r"\d+", value) else clock_s(value)


def _chunks(job: Job, shown: str, value: str) -> None:
    """`2:ncpus=8:ngpus=4:mem=64gb`: so many alike chunks, each on one node."""
    if "+" in value:
        job.leave(shown, "all chunks are alike here: submit the others by themselves")
        return
    head, *rest = value.split(":")
    chunks, fields, unknown = 1, {}, []
    if head.isdecimal():
        chunks = count(head, "select")
    else:
        rest.insert(0, head)
    cards = 0
    for part in rest:
        name, _sign, amount = part.partition("=")
        if name in ("ncpus", "ppn"):
            fields["host_cpu_milli"] = count(amount, name) * 1000
        elif name in ("ngpus", "gpus"):
            cards = count(amount, name)
        elif name == "mem":
            fields["host_memory_mib"] = binary_mib(amount, bare="k")
        elif name not in ("mpiprocs", "ompthreads"):
            unknown.append(part)
    per_share = {name: -(-figure // max(cards, 1)) for name, figure in fields.items()}
    if cards:
        several = {"replicas": chunks, "shares_per_replica": cards} if chunks > 1 else {"shares": cards}
        job.take(shown, **several, whole_cards=True, **per_share)
    elif chunks == 1:
        job.take(shown, **per_share)
    else:
        job.leave(shown, "say with ngpus how many cards each chunk has")
    for part in unknown:
        job.leave(f"#PBS -l {part}", _UNKNOWN)
