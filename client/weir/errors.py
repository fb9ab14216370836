"""What can go wrong between a client and its centre. Each says the cause and the cure."""

from collections.abc import Mapping

BAD_INPUT = 400


class WeirClientError(Exception):
    """Base of all; `cure` says what to do."""

    def __init__(self, message: str, cure: str = "") -> None:
        super().__init__(message)
        self.message, self.cure = message, cure

    def __str__(self) -> str:
        return f"{self.message} {self.cure}".strip()


class NotSignedIn(WeirClientError):
    """No token is kept on this machine."""


class Unreachable(WeirClientError):
    """The centre did not answer."""


class ApiError(WeirClientError):
    """The centre refused: `code` is stable, `status` the HTTP status, `fields` messages by input field."""

    def __init__(self, status: int, code: str, message: str, cure: str, fields: Mapping[str, str]) -> None:
        super().__init__(message, cure)
        self.status, self.code, self.fields = status, code, dict(fields)

    def __str__(self) -> str:
        # Of a refusal that is not about the input the message says it all; its fields are figures for programs.
        told = self.fields if self.status == BAD_INPUT else {}
        named = "; ".join(f"{name}: {text}" for name, text in told.items())
        return " ".join(part for part in (self.message, f"({named})" if named else "", self.cure) if part)
