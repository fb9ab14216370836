"""Answers in S3's words: documents of XML, files, errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape

from apps.storage.file_answers import Passage
from apps.storage.types import Entry, OpenFile
from portal.s3.errors import S3Error

XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
_NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
_UNTOLD = {
    **{chr(code): "\ufffd" for code in range(32) if chr(code) not in "\t\n\r"},
    "\ufffe": "",
    "\uffff": "",
}
_UNTOLD_TABLE = str.maketrans(_UNTOLD)


@dataclass(slots=True)
class Answer:
    """What is answered: `body`, or a file's `passage`."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    passage: Passage | None = None


Value = str | int | bool | datetime | list["Node"]
Node = tuple[str, "Value"]


def document(name: str, *nodes: Node) -> Answer:
    """An answer that is a document."""
    body = f'{XML}<{name} xmlns="{_NAMESPACE}">{"".join(map(_node, nodes))}</{name}>'
    return Answer(headers={"content-type": "application/xml"}, body=body.encode())


def _node(node: Node) -> str:
    name, value = node
    return f"<{name}>{_text(value)}</{name}>"


def _text(value: Value) -> str:
    if isinstance(value, list):
        return "".join(map(_node, value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return instant(value)
    return escape(str(value).translate(_UNTOLD_TABLE)).replace("\r", "&#13;")


def instant(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"


def etag_of(seen: Entry | OpenFile) -> str:
    """No digest of the content: it changes with every change of the file, and clients that look for an MD5 see by the
    hyphen that it is none."""
    return f'"{seen.size_bytes:x}-{seen.changed_ns:x}"'


def coded(key: str, encoding: str) -> str:
    """A key in a list, as it was asked for."""
    return quote(key, safe="/-_.~") if encoding == "url" else key


def error_body(error: S3Error, resource: str, request_id: str) -> bytes:
    nodes: tuple[Node, ...] = (
        ("Code", error.code),
        ("Message", error.message),
        ("Resource", resource),
        ("RequestId", request_id),
    )
    return f"{XML}<Error>{''.join(map(_node, nodes))}</Error>".encode()


def error_answer(error: S3Error, resource: str, request_id: str) -> Answer:
    headers: dict[str, Any] = {"content-type": "application/xml"}
    if error.retry_after_s:
        headers["retry-after"] = str(error.retry_after_s)
    return Answer(error.status, headers, error_body(error, resource, request_id))
