"""Container images: which one work runs in, and how a node fetches it (POOL-8.2)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from node_agent.protocol.fields import Message, Name

IMAGES_PATH = "/api/agent/v1/images/"
# Files of an image travel in pieces of this size, the last one shorter: no request is ever larger.
IMAGE_PIECE_BYTES = 4 * 1024 * 1024
IMAGE_FILE_MAX_BYTES = 2**40

ImageDigest = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]


class WorkImage(Message):
    """The image of work: `digest` is of its manifest, by which `version` is known at the portal; `name` is what people
    call it, `unpacked_bytes` how much of the disk it takes. `in_home`: the work begins in its own folder, as files
    travelled there, and not in the folder that the image names."""

    version: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
    digest: ImageDigest
    name: Name
    unpacked_bytes: Annotated[int, Field(ge=0, le=IMAGE_FILE_MAX_BYTES)] = 0
    in_home: bool = False


def manifest_path(version: str) -> str:
    """Where the manifest of an image is fetched."""
    return f"{IMAGES_PATH}{version}/manifest"


def image_piece_path(version: str, digest: str, number: int) -> str:
    """Where one piece of a file of an image is fetched; `number` counts from 0."""
    return f"{IMAGES_PATH}{version}/{digest}/{number}"
