"""What the words after `weir submit` are: a program, a script that travels, or a job file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weir.cli.job_files import kubernetes, pbs, skypilot, slurm
from weir.cli.job_files.job import Job
from weir.errors import WeirClientError

_SCRIPT_MOST = 16 * 1024 * 1024
_MANIFESTS = (".yaml", ".yml")
_SCRIPTS = (".sh", ".sbatch", ".slurm", ".pbs", ".py")
_MARK = b"#!"


def job_of(words: list[str], workdir: Path | None) -> Job:
    """The job that a command line names: words of a program, or a file of this machine and its arguments.

    Raises:
        WeirClientError: the file cannot be read, or is no job.
    """
    path = Path(words[0])
    if not path.is_file():
        _missing_check(words[0])
        return Job(request={"argv": words}, workdir=workdir)
    if path.suffix in _MANIFESTS:
        if len(words) > 1:
            raise WeirClientError(
                f"{path.name} takes no arguments.", f"Write options before it: weir submit {words[1]} {path}."
            )
        job = _manifest(path)
    elif path.suffix in _SCRIPTS or _head(path, len(_MARK)) == _MARK:
        job = _script(path, words[1:], workdir)
    else:
        return Job(request={"argv": words}, workdir=workdir)
    job.workdir = workdir or job.workdir
    return job


def stays_here(words: list[str], job: Job) -> list[str]:
    """Which of the words are files of this machine that the job will not find, as they do not travel."""
    if job.workdir is not None or job.files:
        return []
    return [word for word in words if not os.path.isabs(word) and Path(word).is_file()]


def _missing_check(word: str) -> None:
    if Path(word).suffix in (*_MANIFESTS, ".sbatch", ".slurm", ".pbs"):
        raise WeirClientError(f"There is no file {word}.", "Name a job file, or a program of the node.")


def _head(path: Path, most: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(most)
    except OSError as error:
        raise WeirClientError(f"{path} cannot be read: {error.strerror}.", "Let it be read.") from error


def _script(path: Path, arguments: list[str], workdir: Path | None) -> Job:
    content = _head(path, _SCRIPT_MOST + 1)
    if len(content) > _SCRIPT_MOST:
        raise WeirClientError(f"{path} is too long for a script.", "Bring it with --workdir.")
    text = content.decode(errors="replace")
    job = Job(request={"name": path.name})
    if "#SBATCH" in text:
        slurm.read(job, text)
    if "#PBS" in text:
        pbs.read(job, text)
    name = _name_in(path, workdir or job.workdir)
    if name is None:
        name = path.name
        job.files[name] = content
    job.request["argv"] = job.started([*_interpreter(path, text), f"./{name}", *arguments])
    return job


def _name_in(path: Path, folder: Path | None) -> str | None:
    """What a script is called in the folder that travels; None where it is not in it."""
    if folder is None or not path.resolve().is_relative_to(folder.resolve()):
        return None
    return path.resolve().relative_to(folder.resolve()).as_posix()


def _interpreter(path: Path, text: str) -> list[str]:
    """What runs a script: its own first line, as the program it names; else what its ending says."""
    if text.startswith("#!"):
        first, *more = text.partition("\n")[0][2:].split() or [""]
        if os.path.basename(first) == "env":
            more = more[1:] if more[:1] == ["-S"] else more
            return more or ["sh"]
        # Another machine has its interpreters elsewhere.
        return [os.path.basename(first) or "sh", *more]
    return ["python"] if path.suffix == ".py" else ["bash"]


def _manifest(path: Path) -> Job:
    import yaml

    try:
        found = list(yaml.safe_load_all(_head(path, _SCRIPT_MOST)))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        where = f", line {line + 1}" if line is not None else ""
        raise WeirClientError(f"{path}{where} is no YAML.", "Correct it; nothing is submitted.") from error
    documents: list[Any] = [each for each in found if each is not None]
    if len(documents) != 1 or not isinstance(documents[0], Mapping):
        raise WeirClientError(f"{path} is not one job.", "Bring one Job or one task a file.")
    job = Job(request={"name": path.stem})
    given = documents[0]
    try:
        if "apiVersion" in given or "kind" in given:
            kubernetes.read(job, given)
        elif skypilot.is_task(given):
            skypilot.read(job, given, path.parent)
        else:
            raise WeirClientError(
                f"{path} is neither a Kubernetes Job nor a SkyPilot task.", "Write kind: Job, or run: |."
            )
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise WeirClientError(
            f"{path} holds a value of another kind than its field takes: {error}.", "Correct it."
        ) from error
    return job
