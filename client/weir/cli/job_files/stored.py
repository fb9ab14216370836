"""Images, volumes and secrets of the centre, as job files of other systems name them."""

from __future__ import annotations

import re

from weir.cli.job_files.job import Job

# As the centre names them: images and volumes alike, and what follows an image's colon.
_NAME = r"[a-z0-9][a-z0-9._-]{0,47}"
_IMAGE = re.compile(rf"{_NAME}(:[A-Za-z0-9_][A-Za-z0-9._-]{{0,47}})?")
_VOLUME = re.compile(_NAME)
_PLACE = "vol://"
SHARED_MEMORY = "/dev/shm"  # noqa: S108
OWN_FOLDERS = ("/tmp", "/var/tmp", SHARED_MEMORY)  # noqa: S108
"""Where all work has an empty place of its own, which is gone with it."""


def take_image(job: Job, shown: str, reference: str) -> None:
    """NAME or NAME:TAG is an image of the centre, which says where there is none; an address of a registry is left."""
    if _IMAGE.fullmatch(reference):
        job.take(shown, image=reference)
    else:
        job.leave(
            shown,
            "nothing is fetched from registries: bring it by `weir image import`, and name it NAME:TAG here or by"
            " --image",
        )


def volume_named(text: str) -> str:
    """The volume that a text names as `NAME` or `vol://NAME`; "" where it names none."""
    name = text.removeprefix(_PLACE).rstrip("/") if text.startswith(_PLACE) else text
    return name if _VOLUME.fullmatch(name) else ""


def take_volume(job: Job, shown: str, name: str, path: str, *, is_read_only: bool = False) -> None:
    """A volume of the centre, mounted at a path, beside those taken before. The centre says where it cannot be."""
    word = f"{name}:{path}" + (":ro" if is_read_only else "")
    job.request.setdefault("volumes", []).append(word)
    job.note(shown, f"volumes={word}")


def take_secret(job: Job, shown: str, name: str) -> None:
    """A secret of the centre, in the variable of its name."""
    names = job.request.setdefault("secrets", [])
    if name not in names:
        names.append(name)
    job.note(shown, f"secrets={name}, as `weir secret set {name}` has set it")
