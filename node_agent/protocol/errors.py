"""How the server says no: a code for programs, a cause and a cure for people."""

from __future__ import annotations

from node_agent.protocol.fields import Message, Sentence, Word


class ErrorDetail(Message):
    """`code` for programs, `message` for the cause, `cure` for what to do."""

    code: Word
    message: Sentence
    cure: Sentence = ""


class ErrorReply(Message):
    """The body of every refusal (400, 401, 426, ...)."""

    error: ErrorDetail
