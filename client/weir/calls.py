"""What the parts of the client stand on: one call of the API, in the few shapes that they need."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


class Calls(ABC):
    """Who can call the API. Every method raises ApiError for a refusal, Unreachable where nobody answers."""

    @abstractmethod
    def call(self, method: str, path: str, /, body: Any = None, **query: Any) -> Any:
        """One call of the API; empty query values are left out."""

    @abstractmethod
    def all(self, path: str, /, **query: Any) -> Iterator[Any]:
        """Every row of a list."""

    @abstractmethod
    def download(self, path: str, /, **query: Any) -> bytes:
        """A file of the API."""

    @abstractmethod
    def upload(self, path: str, file: Path, **fields: str) -> Any:
        """Send a file, with text beside it."""

    @abstractmethod
    def put_bytes(self, path: str, content: bytes) -> None:
        """Send bytes as they are; safe to repeat."""

    @abstractmethod
    def post_bytes(self, path: str, content: bytes, headers: Mapping[str, str]) -> Any:
        """Send bytes by POST; for what is safe to repeat."""

    @abstractmethod
    def read_bytes(self, path: str, body: Any) -> tuple[bytes, Mapping[str, str]]:
        """Ask by POST for bytes, which come with the answer's headers; for what only reads."""

    @abstractmethod
    def piece(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str], /, **query: Any
    ) -> Mapping[str, str]:
        """One call whose body is bytes, and whose answer is in its headers."""

    @abstractmethod
    def stream(self, path: str, headers: Mapping[str, str], /, **query: Any) -> Iterator[bytes]:
        """A file of the API as it comes."""

    def get(self, path: str, /, **query: Any) -> Any:
        return self.call("GET", path, **query)

    def post(self, path: str, body: Any = None) -> Any:
        return self.call("POST", path, {} if body is None else body)

    def text(self, path: str, /, **query: Any) -> str:
        """A file of the API, as text."""
        return self.download(path, **query).decode()
