"""`weir submit`: programs, scripts with their directives, job files of other systems; with the folder they start in."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from weir.api import Client
from weir.cli.context import caller
from weir.cli.resources import ARRAY
from weir.cli.show import Progress, as_json, notes, one, said, tell
from weir.cli.units import memory_mib
from weir.cli.work import work_options
from weir.cli.work.waiting import Awaited, until_ended
from weir.cli.work.workloads import WORK
from weir.errors import WeirClientError

if TYPE_CHECKING:
    from weir.api_types import WorkloadIn, WorkloadOut
    from weir.cli.job_files.job import Job

Json = dict[str, Any]
MOST_AT_ONCE = 10_000


@work_options.asking(but=["idle_timeout"])
def submit(
    ctx: typer.Context,
    command: list[str] = typer.Argument(
        None,
        help="A program of the node, a script or a job file of yours; and its arguments.",
        metavar="[COMMAND...]",
    ),
    name: str = typer.Option("", help="What to call it; else the program."),
    from_: Path = typer.Option(
        None, "--from", help="Jobs of a file, a JSON object a line; - reads them from the input."
    ),
    workdir: Path = typer.Option(
        None, help="The folder that travels with the job, which starts in a copy of it."
    ),
    workdir_limit: str = typer.Option("512Mi", help="The most that the folder may hold."),
    strict: bool = typer.Option(False, "--strict", help="Submit nothing where a directive is not taken."),
    wait: bool = typer.Option(
        False, "--wait", "-W", help="Stay until it has ended; the exit status is the job's."
    ),
    **_asked: Any,
) -> None:
    """Put a program in a queue; it runs on a node of the pool, on a share of a device.

    A script of yours travels by itself, and its #SBATCH and #PBS lines are read; so are a Kubernetes Job and a SkyPilot
    task (.yaml). What is said on the command line counts before what a file says.
    Without words it runs what its image does (--image).
    With `--from`, every line of the file is a job; the options given are those of each job that does not say.
    """
    told = work_options.request_of(ctx)
    if from_ is not None:
        with caller(ctx) as client:
            _submit_many(
                ctx, client, from_, {"kind": "program", **told, **({"argv": command} if command else {})}
            )
        return
    from weir.cli.job_files.read import job_of, stays_here

    job = job_of(command, workdir) if command else _job_of_image(told, workdir)
    _tell_directives(ctx, job, is_strict=strict)
    for word in stays_here(command or [], job):
        tell(f"{word} lies here and does not travel: give --workdir . where the job needs it.")
    request = {
        "name": (command or [told["image"]])[0].rpartition("/")[2],
        "kind": "program",
        **job.merged(told),
    }
    with caller(ctx) as client:
        if job.workdir is not None or job.files:
            request["folder"] = _send(client, job, memory_mib(workdir_limit))
        found = client.workload_submit(**cast("WorkloadIn", request))
        if not (wait or job.waits):
            one(ctx, found, WORK)
            return
        try:
            sys.exit(_waited(ctx, client, found))
        except KeyboardInterrupt:
            name = found["array"]["no"] if found["array"] else found["no"]
            tell(f"{name} goes on without you: `weir cancel {name}` ends it.")
            sys.exit(130)


def _job_of_image(asked: Json, workdir: Path | None) -> "Job":
    """Work that runs what its image does."""
    from weir.cli.job_files.job import Job

    if not asked.get("image"):
        raise WeirClientError(
            "There is nothing to run.",
            "Name a program, an image that runs one, or a file of jobs with --from.",
        )
    return Job(workdir=workdir)


def _tell_directives(ctx: typer.Context, job: "Job", *, is_strict: bool) -> None:
    """The table of what became of a file's lines. Raises WeirClientError where one is not taken and all must be."""
    if job.directives and not as_json(ctx):
        notes(
            [
                {"directive": each.text, "taken": each.became if each.is_taken else f"no: {each.why}"}
                for each in job.directives
            ]
        )
    if job.not_taken and is_strict:
        names = ", ".join(each.text for each in job.not_taken)
        raise WeirClientError(
            f"Not all directives are taken: {names}.",
            "Take them out, or leave --strict out; nothing is submitted.",
        )
    if as_json(ctx):
        for each in job.not_taken:
            tell(f"{each.text} is not taken: {each.why}.")


def _send(client: Client, job: "Job", limit_mib: int) -> str:
    from weir.working_folder import folder_pack

    packed = folder_pack(job.workdir, extra=job.files, limit_mib=limit_mib)
    for name in packed.left_behind:
        tell(f"{name} stays here: a link that leads out of the folder, or no plain file.")
    with Progress("sending the folder") as shown:
        return client.folder_send(packed, progress=shown.at)


def _waited(ctx: typer.Context, client: Client, found: "WorkloadOut") -> int:
    """Stay until it has ended, show how, and say its exit status."""
    array = found["array"]
    awaited = Awaited.array(client, array["uid"]) if array is not None else Awaited.work(client, found)
    until_ended([awaited])
    one(ctx, awaited.found, WORK if array is None else ARRAY)
    return awaited.exit_status


# --- many ----------------------------------------------------------------------------------------------------------


def _submit_many(ctx: typer.Context, client: Client, path: Path, request: Json) -> None:
    jobs = [{"name": f"job-{number}", **request, **job} for number, job in enumerate(_jobs(path), start=1)]
    done = 0
    for begin in range(0, len(jobs), MOST_AT_ONCE):
        try:
            done += client.workloads_submit(cast("list[WorkloadIn]", jobs[begin : begin + MOST_AT_ONCE]))[
                "count"
            ]
        except WeirClientError:
            if done:
                tell(f"{done} of {len(jobs)} jobs were submitted before this:")
            raise
    said(ctx, {"count": done}, f"{done} jobs are in the queue.")


def _jobs(path: Path) -> list[Json]:
    """The jobs of a file, an object a line; WeirClientError names the line that is none."""
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        said = getattr(error, "strerror", None) or "it is no text"
        raise WeirClientError(
            f"{path} cannot be read: {said}.", "Name a file of jobs, or - for the input."
        ) from error
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            job = json.loads(line)
        except ValueError as error:
            raise WeirClientError(
                f"Line {number} is no JSON: {error}.", "Correct it; nothing is submitted."
            ) from error
        if not isinstance(job, dict):
            raise WeirClientError(
                f"Line {number} is no object.", "Write one {...} a line; nothing is submitted."
            )
        found.append(job)
    return found
