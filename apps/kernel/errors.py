"""The one error shape of the product: cause, cure and a stable code, alike in page, API and command line."""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _


class WeirError(Exception):
    """A refusal a person can act on.

    Args:
        message: the cause in one sentence, with the figures that matter.
        cure: what to do about it; empty when nothing can be done.
        fields: messages by form field, for input that can be corrected field by field.
    """

    code = "refused"
    status = 400
    default_message = _("The request was refused.")
    default_cure = ""

    def __init__(
        self, message: object = "", *, cure: object = "", fields: Mapping[str, object] | None = None
    ) -> None:
        self.message = message or self.default_message
        self.cure = cure or self.default_cure
        self.fields = dict(fields or {})
        super().__init__(str(self.message))

    def as_json(self) -> dict[str, object]:
        """The body every API error has: `{"error": {"code", "message", "cure", "fields"}}`."""
        body: dict[str, object] = {"code": self.code, "message": str(self.message), "cure": str(self.cure)}
        if self.fields:
            body["fields"] = {name: str(text) for name, text in self.fields.items()}
        return {"error": body}


class InvalidInput(WeirError):
    code = "invalid_input"
    default_message = _("The input is not valid.")
    default_cure = _("Correct the fields named and send it again.")


class Unauthenticated(WeirError):
    code = "unauthenticated"
    status = 401
    default_message = _("You are not signed in.")
    default_cure = _("Sign in, or send a valid API token.")


class Forbidden(WeirError):
    code = "forbidden"
    status = 403
    default_message = _("Your role does not allow this.")
    default_cure = _("Switch to a role that does, or ask your administrator.")


class NotFound(WeirError):
    """Also what another tenant's id answers: existence is never leaked (PLAT-TEN-2)."""

    code = "not_found"
    status = 404
    default_message = _("There is no such thing here.")
    default_cure = _("Check the number, and that you are in the right tenant.")


class Conflict(WeirError):
    code = "conflict"
    status = 409
    default_message = _("Somebody else changed this first.")
    default_cure = _("Reload and look at its present state.")


class QuotaExceeded(WeirError):
    code = "quota_exceeded"
    status = 409
    default_cure = _("Ask for less, release something, or ask your administrator for more quota.")


class Throttled(WeirError):
    code = "throttled"
    status = 429
    default_message = _("Too many attempts.")


class TooLarge(WeirError):
    code = "too_large"
    status = 413
    default_message = _("The request is too large.")
    default_cure = _("Send less at once.")


class Busy(WeirError):
    """Two calls stood in each other's way and this one was given up: nothing of it has happened."""

    code = "busy"
    status = 503
    default_message = _("The server is busy with what you asked for.")
    default_cure = _("Send it again in a moment.")


# What PostgreSQL says of a transaction that it gave up for another's sake: deadlock, serialization failure.
_COLLISIONS = frozenset({"40P01", "40001"})


def busy_of(error: BaseException) -> Busy | None:
    """Busy for a database error that only says that two transactions stood in each other's way; else None.

    Said at the faces, not tried again in the services: a service may have changed the rows in memory that it was
    given, and tasks and agents' messages are tried again by those who sent them.
    """
    return Busy() if getattr(error.__cause__, "sqlstate", "") in _COLLISIONS else None
