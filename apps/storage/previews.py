"""What a file looks like, as far as a page can show it: the beginning of a text, or an image."""

import os
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from apps.kernel.actor import Actor
from apps.storage.models import Volume
from apps.storage.selectors import file_open
from apps.storage.types import Entry, Kind

TEXT_MAX_BYTES = 128 * 1024
IMAGE_MAX_BYTES = 20 * 2**20
# No kind that may hold a program, as SVG does.
IMAGE_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}


class PreviewKind(StrEnum):
    TEXT = "text"
    IMAGE = "image"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Preview:
    """`is_whole`: the text is all of the file."""

    kind: PreviewKind
    text: str = ""
    is_whole: bool = True


def preview_of(*, actor: Actor, volume: Volume, path: str, entry: Entry) -> Preview:
    if entry.kind != Kind.FILE:
        return Preview(PreviewKind.NONE)
    if PurePosixPath(path).suffix.lower() in IMAGE_TYPES:
        is_small = 0 < entry.size_bytes <= IMAGE_MAX_BYTES
        return Preview(PreviewKind.IMAGE if is_small else PreviewKind.NONE)
    file = file_open(actor=actor, volume=volume, path=path)
    try:
        head = os.pread(file.fd, TEXT_MAX_BYTES, 0)
    finally:
        os.close(file.fd)
    text = _text(head, is_whole=file.size_bytes <= TEXT_MAX_BYTES)
    if text is None:
        return Preview(PreviewKind.NONE)
    return Preview(PreviewKind.TEXT, text, file.size_bytes <= TEXT_MAX_BYTES)


def _text(head: bytes, *, is_whole: bool) -> str | None:
    """UTF-8 without control characters other than those of lines and tabs; None for anything else."""
    for cut in range(1 if is_whole else 4):
        try:
            text = head[: len(head) - cut].decode("utf-8")
        except UnicodeDecodeError:
            # The last character may be cut in two.
            continue
        return None if re.search(r"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]", text) else text
    return None
