"""The one error shape of the product: cause, cure and a stable code, alike in page, API and command line."""

import logging
from collections.abc import Mapping

import psycopg
from django.utils.translation import gettext_lazy as _

log = logging.getLogger(__name__)


class WeirError(Exception):
    """A refusal a person can act on.

    Args:
        message: the cause in one sentence, with the figures that matter.
        cure: what to do about it; empty when nothing can be done.
        fields: messages by form field, for input that can be corrected field by field.
        inputs: by a key of `fields` the name of the input that it is about, where that is another: a page's forms call
            their fields what people read.
    """

    code = "refused"
    status = 400
    default_message = _("The request was refused.")
    default_cure: object = ""

    def __init__(
        self,
        message: object = "",
        *,
        cure: object = "",
        fields: Mapping[str, object] | None = None,
        inputs: Mapping[str, str] | None = None,
    ) -> None:
        self.message = message or self.default_message
        self.cure = cure or self.default_cure
        self.fields = dict(fields or {})
        self.inputs = dict(inputs or {})
        super().__init__(str(self.message))

    @property
    def rows(self) -> list[tuple[str, object, str]]:
        """What is wrong with which field: what it is called, why, and the name of its input."""
        return [(name, text, self.inputs.get(name, name)) for name, text in self.fields.items()]

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


class ReadOnly(Forbidden):
    """A read-only role changes nothing (PLAT-TEN-32)."""

    code = "read_only"
    default_message = _("Your role is read-only: it changes nothing.")


class NotFound(WeirError):
    """What does not exist or is another tenant's, which is never told apart (PLAT-TEN-2)."""

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


class TimedOut(WeirError):
    """The request did not arrive whole in time: nothing of it has happened."""

    code = "request_timeout"
    status = 408
    default_message = _("The request did not arrive in time.")
    default_cure = _("Send it again over a better connection, or send less at once.")


class TooLarge(WeirError):
    code = "too_large"
    status = 413
    default_message = _("The request is too large.")
    default_cure = _("Send less at once.")


class Busy(WeirError):
    """The server cannot do this now, and can in a moment; nothing of it has happened.

    Attributes:
        retry_after_s: when to ask again, in whole seconds (the header Retry-After).
    """

    code = "busy"
    status = 503
    retry_after_s = 1
    default_message = _("The server is busy with what you asked for.")
    default_cure = _("Send it again in a moment.")


class Unavailable(Busy):
    """A server that everything needs does not answer: the database, Redis."""

    code = "unavailable"
    retry_after_s = 5
    default_message = _("The portal's database does not answer.")


# What PostgreSQL says of a transaction that it gave up for another's sake: deadlock, serialization failure.
_COLLISIONS = frozenset({"40P01", "40001"})
# What it says when it starts, ends, or has no room for one more: class 57P, 53300; no code at all: not reached.
_AWAY = frozenset({"57P01", "57P02", "57P03", "53300", "53100", "53200"})


def busy_of(error: BaseException) -> Busy | None:
    """Busy for an error that says that two transactions stood in each other's way, Unavailable for one that says that
    the database is not there; else None.

    Said at the faces, not tried again in the services: a service may have changed the rows in memory that it was
    given, and tasks and agents' messages are tried again by those who sent them.
    """
    cause = error.__cause__
    state = getattr(cause, "sqlstate", None) or ""
    if state in _COLLISIONS:
        found: Busy = Busy()
    elif (
        state in _AWAY
        or state.startswith("08")
        or (isinstance(cause, psycopg.OperationalError) and not state)
    ):
        found = Unavailable()
    else:
        return None
    # The caller is told to come again; who keeps the portal is told what the database said.
    log.warning("the database refused a request: %s (SQLSTATE %s)", str(cause).strip(), state or "none")
    return found
