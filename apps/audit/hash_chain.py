"""The arithmetic of the hash chain: the same bytes for the same record, today and in ten years."""

import hashlib
import json
from collections.abc import Iterable
from datetime import UTC

from apps.audit.models import Record


def record_bytes(record: Record) -> bytes:
    """A record as canonical JSON: every column that says something, keys sorted, times in UTC."""
    body = {
        "id": record.pk,
        "uid": str(record.uid),
        "name": record.name,
        "actor": [record.actor_kind, record.actor_name, record.user_id, record.role],
        "schema": record.schema,
        "request": record.request_id,
        "subject": [record.subject_kind, record.subject_id],
        "detail": record.detail,
        "at": record.at.astimezone(UTC).isoformat(),
        "txid": record.txid,
    }
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def chain_digest(previous: str, until_txid: int, records: Iterable[Record]) -> tuple[str, int]:
    """The digest of a link over `records` in (txid, id) order, and how many there were."""
    state = hashlib.sha256(f"{previous}:{until_txid}".encode())
    count = 0
    for record in records:
        state.update(hashlib.sha256(record_bytes(record)).digest())
        count += 1
    return state.hexdigest(), count
