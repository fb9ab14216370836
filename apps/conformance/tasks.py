"""Runs asked for on the page or over the API are carried out on a worker's machine, in a process of their own."""

import subprocess
import sys
from pathlib import Path

from django.conf import settings

from apps.conformance.selectors import run_get, run_queued
from apps.conformance.states import RunState
from apps.kernel.tasks import provider_task


@provider_task
def run_carry_out(run_uid: str) -> None:
    """Start the runner; a run that somebody else has begun is left alone.

    Apart from the worker: a test restarts the workers, and a run outlasts the time that a message may take.
    """
    if run_get(run_uid).state != RunState.QUEUED:
        return
    log = Path(settings.MEDIA_ROOT).parent / "log" / "conformance.log"
    log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with log.open("ab") as output:
        subprocess.Popen(
            [sys.executable, "manage.py", "conformance", "--carry-out", run_uid],
            cwd=settings.BASE_DIR,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            # Its agents' work runs under other accounts, which walk through the run's folder.
            umask=0o022,
        )


@provider_task
def runs_sweep() -> int:
    """Find the runs whose hint was lost: every half minute."""
    rows = run_queued()
    for row in rows:
        run_carry_out.delay(str(row.uid))
    return len(rows)
