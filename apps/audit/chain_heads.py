"""Heads of the hash chain, kept outside of the database.

Inside the database, records cut off at the end together with their seals leave a shorter chain that holds. A file
beside it remembers how long the chain was: a line for each head, with the digest of the line before it, signed with
the installation's key. A line is written about once a minute: what is cut off within the last minute may go unseen.
"""

import fcntl
import hashlib
import json
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.core.signing import BadSignature, Signer
from django.db.models import Sum

from apps.audit.models import Seal

log = logging.getLogger(__name__)
EVERY = timedelta(seconds=60)
_SIGNER = {"salt": "weir.audit.heads", "sep": "."}


@dataclass(frozen=True, slots=True)
class Head:
    """How far the chain went at a moment: its last seal, and how many seals and records lie under it."""

    at: datetime
    until_txid: int
    digest: str
    seals: int
    records: int
    previous: str

    def line(self) -> str:
        """The head as it is written, with its signature."""
        body = {
            "at": self.at.isoformat(),
            "until_txid": self.until_txid,
            "digest": self.digest,
            "seals": self.seals,
            "records": self.records,
            "previous": self.previous,
        }
        text = json.dumps(body, separators=(",", ":"))
        return json.dumps({**body, "signature": Signer(**_SIGNER).signature(text)}, separators=(",", ":"))


class HeadsBroken(Exception):
    """The file of heads was changed: the text says where."""


def head_keep(path: Path, every: timedelta = EVERY) -> Head | None:
    """Add the chain's head to the file, on disk before this returns; None when it is there or the last is young.

    Several workers may share the file. A line that a crash has left unfinished is taken away first: what stands
    before it is whole.
    """
    seal = Seal.objects.order_by("-until_txid").first()
    if seal is None:
        return None
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.open("a+b") as file:
        os.fchmod(file.fileno(), 0o600)
        fcntl.flock(file, fcntl.LOCK_EX)
        line = _last_line(file)
        last = json.loads(line) if line else {}
        if last and not _is_due(last, seal, every):
            return None
        since = Seal.objects.filter(until_txid__gt=last.get("until_txid", 0), until_txid__lte=seal.until_txid)
        head = Head(
            at=datetime.now(UTC),
            until_txid=seal.until_txid,
            digest=seal.digest,
            seals=last.get("seals", 0) + since.count(),
            records=last.get("records", 0) + (since.aggregate(sum=Sum("count"))["sum"] or 0),
            previous=hashlib.sha256(line).hexdigest() if line else "",
        )
        file.write(head.line().encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    log.info("audit head: %s seals, %s records, %s", head.seals, head.records, head.digest)
    return head


def _last_line(file: Any) -> bytes:
    """The last whole line; what a crash left behind it is cut off."""
    file.seek(0)
    text = file.read()
    whole = text[: text.rfind(b"\n") + 1]
    if len(whole) < len(text):
        file.truncate(len(whole))
    lines = whole.splitlines()
    return lines[-1] if lines else b""


def _is_due(last: dict[str, Any], seal: Seal, every: timedelta) -> bool:
    age = datetime.now(UTC) - datetime.fromisoformat(last["at"])
    # After a cut the chain's end lies before the last head: nothing is added that would cover it up.
    return bool(seal.until_txid > last["until_txid"] and age >= every)


def heads_read(path: Path) -> Iterator[Head]:
    """The heads of a file, oldest first, each signature and link checked.

    Raises:
        HeadsBroken: a line is not one, was changed, or does not follow the one before it.
    """
    previous = ""
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            body = json.loads(line)
            signature = body.pop("signature")
            Signer(**_SIGNER).unsign(f"{json.dumps(body, separators=(',', ':'))}.{signature}")
            head = Head(**{**body, "at": datetime.fromisoformat(body["at"])})
        except (ValueError, KeyError, TypeError, BadSignature) as error:
            raise HeadsBroken(f"line {number} of {path.name} was changed") from error
        if head.previous != previous:
            raise HeadsBroken(f"a line is missing before line {number} of {path.name}")
        previous = hashlib.sha256(line).hexdigest()
        yield head


def heads_verify(path: Path) -> tuple[int, str]:
    """How many heads the file holds, and why the database does not agree with them; "" when it does."""
    count = place = 0
    seals = Seal.objects.order_by("until_txid").values_list("until_txid", "digest").iterator()
    until_txid, digest = 0, ""
    try:
        for head in heads_read(path):
            count += 1
            while until_txid < head.until_txid and (seal := next(seals, None)):
                place, (until_txid, digest) = place + 1, seal
            if (until_txid, digest) != (head.until_txid, head.digest):
                return (
                    count,
                    f"the chain went to {head.digest[:12]} at {head.at.isoformat()}, and no longer does",
                )
            if place != head.seals:
                return count, f"{head.seals} seals were there at {head.at.isoformat()}, {place} are now"
    except HeadsBroken as error:
        return count, str(error)
    return count, ""
