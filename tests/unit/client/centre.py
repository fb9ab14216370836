"""What stands for a signed-in client in the tests of commands."""

from typing import Any, Self


class Centre:
    """Is entered as a client is, and keeps what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        return None
