"""Packages from an index of Python packages, which a node installs for work."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from node_agent.protocol.fields import Message

Requirement = Annotated[
    str, StringConstraints(min_length=1, max_length=8192, pattern=r"^[^\x00\r\n-][^\x00\r\n]*$")
]


class WorkPackages(Message):
    """What work finds installed, as lines of pip's requirements. `owner`: whose work it is; what was installed for one
    is never seen by another."""

    owner: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,62}$")]
    requirements: Annotated[tuple[Requirement, ...], Field(min_length=1, max_length=512)]
