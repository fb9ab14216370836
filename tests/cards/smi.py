"""What `nvidia-smi` says of a card, to compare with."""

from __future__ import annotations

import subprocess


def smi(uid: str, *names: str) -> list[str]:
    """The values of these names of `nvidia-smi --help-query-gpu`, without their units."""
    asked = ["nvidia-smi", f"--id={uid}", f"--query-gpu={','.join(names)}", "--format=csv,noheader,nounits"]
    run = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=60)
    return [value.strip() for value in run.stdout.strip().splitlines()[0].split(",")]


def processes(uid: str) -> dict[int, int]:
    """MiB of the card by process."""
    asked = [
        "nvidia-smi",
        f"--id={uid}",
        "--query-compute-apps=pid,used_memory",
        "--format=csv,noheader,nounits",
    ]
    run = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=60)
    rows = (line.split(",") for line in run.stdout.strip().splitlines())
    return {int(pid): int(used) for pid, used in rows}
